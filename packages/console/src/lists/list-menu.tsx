import type { SavedView } from '@dealer-esim/gateway/http/console/people/saved-views.ts'
import { ActionIcon, Menu } from '@mantine/core'
import { IconBookmark, IconDots, IconDownload, IconTrash } from '@tabler/icons-react'
import { apiUrl, isPrivate, type Query } from '#api/call-api.ts'
import { getPrivateFile } from '#api/download.ts'
import { useSwitch } from '#api/use-switch.tsx'
import { notifyError } from '#parts/notify.ts'
import { useFilters } from '#parts/use-filters.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { timeZone } from '#strings/zone.ts'
import { useDensity } from './density.ts'

export interface ColumnName {
  accessor: string
  title: string
  hidden?: boolean
}

/** Rarely needed functions of a list: its file, views, columns and row height. */
export function ListMenu(props: {
  csv: { path: string; query?: Query } | undefined
  saved: readonly SavedView[]
  columns: ColumnName[]
  shown: ColumnName[]
  /** Absent if the list does not keep views. */
  onSave?: () => void
}) {
  const { csv, saved, columns, shown, onSave } = props
  const [density, setDensity] = useDensity()
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t.lists.options}>
          <IconDots size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown className="list-menu">
        {csv && <ExportItem path={`${csv.path}.csv`} query={csv.query ?? {}} />}
        {onSave && (
          <Menu.Item leftSection={<IconBookmark size={16} />} onClick={onSave}>
            {t.lists.saveView}
          </Menu.Item>
        )}
        {saved.map((view) => (
          <DeleteView key={view.viewId} view={view} />
        ))}
        <Menu.Divider />
        <Menu.CheckboxItem
          closeMenuOnClick={false}
          checked={density === 'compact'}
          onChange={(isCompact) => setDensity(isCompact ? 'compact' : 'usual')}
        >
          {t.lists.compact}
        </Menu.CheckboxItem>
        <Columns columns={columns} shown={shown} />
        <Menu.Divider />
        <Menu.Label data-zone>{formatMessage(t.lists.timesIn, { zone: timeZone })}</Menu.Label>
      </Menu.Dropdown>
    </Menu>
  )
}

function DeleteView({ view }: { view: SavedView }) {
  const { viewId, ...kept } = view
  const keep = useSwitch<{ views: SavedView[] }>({
    shownIn: '/account/views',
    show: ({ views }, isKept) => ({
      views: [...views.filter((one) => one.viewId !== viewId), ...(isKept ? [view] : [])],
    }),
    change: (isKept) =>
      isKept
        ? { method: 'POST', path: '/account/views', body: kept }
        : { method: 'DELETE', path: `/account/views/${viewId}` },
    success: (isKept) => (isKept ? t.lists.viewRestored : t.lists.viewDeleted),
  })
  return (
    <Menu.Item c="var(--bad)" leftSection={<IconTrash size={16} />} onClick={() => keep(false)}>
      {formatMessage(t.lists.deleteView, { name: view.name })}
    </Menu.Item>
  )
}

function ExportItem({ path, query }: { path: string; query: Query }) {
  const isLink = !Object.values(query).some((value) => isPrivate(String(value)))
  const name = path.slice(path.lastIndexOf('/') + 1)
  const target = isLink
    ? ({ component: 'a', href: apiUrl(path, query).href, download: true } as const)
    : { onClick: () => void getPrivateFile(path, query, name).catch(notifyError) }
  return (
    <Menu.Item leftSection={<IconDownload size={16} />} {...target}>
      {t.common.export}
    </Menu.Item>
  )
}

function Columns({ columns, shown }: { columns: ColumnName[]; shown: ColumnName[] }) {
  const [, setFilters] = useFilters()
  const accessors = shown.map((column) => column.accessor)
  // The first column links to the row's page.
  const choosable = columns.filter((column, index) => index > 0 && !column.hidden)
  if (choosable.length === 0) return null
  return (
    <>
      <Menu.Divider />
      <Menu.Label>{t.lists.columns}</Menu.Label>
      {choosable.map(({ accessor, title }) => {
        const isShown = accessors.includes(accessor)
        const next = isShown ? accessors.filter((one) => one !== accessor) : [...accessors, accessor]
        return (
          <Menu.CheckboxItem
            key={accessor}
            closeMenuOnClick={false}
            checked={isShown}
            onChange={() => setFilters({ columns: next.join(',') })}
          >
            {title}
          </Menu.CheckboxItem>
        )
      })}
      <Menu.Item onClick={() => setFilters({ columns: null })}>{t.lists.usualColumns}</Menu.Item>
    </>
  )
}
