import type { SavedView } from '@dealer-esim/gateway/http/console/people/saved-views.ts'
import { Button, Menu, TextInput } from '@mantine/core'
import { IconBookmark, IconTrash } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { interpolate, t } from '#strings/strings.ts'

/** The views of this list that the person has saved: its filters, order, columns and page size, by name. */
export function SavedViews({ list }: { list: string }) {
  const navigate = useNavigate()
  const [filters] = useFilters()
  const { data } = useApi<{ views: SavedView[] }>('/account/views')
  const remove = useChange({ success: t.lists.viewDeleted })
  const [saving, setSaving] = useState(false)
  const views = (data?.views ?? []).filter((view) => view.list === list)
  const { cursor: _, ...current } = filters
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button variant="default" size="xs" leftSection={<IconBookmark size={14} />}>
            {t.lists.views}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.map(({ name, search }) => (
            <Menu.Item
              key={name}
              onClick={() =>
                void navigate({ to: '.', search: Object.fromEntries(new URLSearchParams(search)) as never })
              }
            >
              {name}
            </Menu.Item>
          ))}
          {views.length === 0 && <Menu.Label>{t.lists.noViews}</Menu.Label>}
          <Menu.Divider />
          <Menu.Item onClick={() => setSaving(true)}>{t.lists.saveView}</Menu.Item>
          {views.map(({ viewId, name }) => (
            <Menu.Item
              key={viewId}
              c="var(--console-negative)"
              leftSection={<IconTrash size={14} />}
              onClick={() => remove.mutate({ method: 'DELETE', path: `/account/views/${viewId}` })}
            >
              {interpolate(t.lists.deleteView, { name })}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {saving && (
        <SaveDialog list={list} search={new URLSearchParams(current).toString()} onClose={() => setSaving(false)} />
      )}
    </>
  )
}

function SaveDialog({ list, search, onClose }: { list: string; search: string; onClose(): void }) {
  return (
    <ChangeDialog
      title={t.lists.saveView}
      onClose={onClose}
      submit={t.common.save}
      success={t.common.saved}
      request={({ name }) => ({ method: 'POST', path: '/account/views', body: { list, name, search } })}
    >
      <TextInput
        name="name"
        label={t.lists.viewName}
        description={t.lists.viewHint}
        required
        maxLength={60}
        data-autofocus
      />
    </ChangeDialog>
  )
}
