import type { SavedView } from '@dealer-esim/gateway/http/console/people/saved-views.ts'
import { Group, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useApi } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { type Filters, useFilters } from '#parts/use-filters.ts'
import { t } from '#strings/strings.ts'

/** A list as somebody often wants it: its filters and, if it was saved, its order, columns and page size. */
export interface ListView {
  label: string
  search: Filters
}

/** The views of a list that the person has saved. */
export function useSavedViews(list: string | undefined): SavedView[] {
  const { data } = useApi<{ views: SavedView[] }>('/account/views', {}, { enabled: list !== undefined })
  return (data?.views ?? []).filter((view) => view.list === list)
}

/** A list's views as tabs: all rows, the shared views, and the person's own. */
export function ListViews({ views, saved }: { views: readonly ListView[]; saved: readonly SavedView[] }) {
  const [filters] = useFilters()
  const own = saved.map(({ name, search }) => ({
    label: name,
    search: Object.fromEntries(new URLSearchParams(search)),
  }))
  const all = [{ label: t.lists.all, search: {} }, ...views, ...own]
  const current = all.find(({ search }) => isSame(search, filters)) ?? all[0]
  return (
    <Group component="nav" aria-label={t.lists.views} gap={4} wrap="nowrap" className="list-views">
      {all.map((view) => (
        <Link
          key={view.label}
          to="."
          search={view.search as never}
          className="tab"
          data-current={view === current || undefined}
          activeOptions={{ exact: true }}
        >
          {view.label}
        </Link>
      ))}
    </Group>
  )
}

/** Another page of the same view is still the view. */
function isSame(view: Filters, { cursor: _, ...shown }: Filters): boolean {
  const names = new Set([...Object.keys(view), ...Object.keys(shown)])
  return [...names].every((name) => view[name] === shown[name])
}

export function SaveView({ list, onClose }: { list: string; onClose(): void }) {
  const [{ cursor: _, ...filters }] = useFilters()
  const search = new URLSearchParams(filters).toString()
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
