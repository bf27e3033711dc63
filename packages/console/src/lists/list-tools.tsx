import type { ListTotals } from '@dealer-esim/gateway/http/console/kernel/list-routes.ts'
import { Button, Group, Menu, Text } from '@mantine/core'
import { IconColumns3 } from '@tabler/icons-react'
import type { Query } from '#api/call-api.ts'
import { formatCount, formatMoney } from '#parts/format.ts'
import { useFilters } from '#parts/use-filters.ts'
import { TimeZone } from '#parts/values.tsx'
import { interpolate, plural, pluralForm, t } from '#strings/strings.ts'
import { ExportCsv } from './export-csv.tsx'
import { SavedViews } from './saved-view-menu.tsx'

type ShownTotals = Pick<ListTotals, 'count' | 'isComplete' | 'sums'>

interface ColumnName {
  accessor: string
  title: string
  hidden?: boolean
}

/** Above a list: how many rows match and their sums; saved views, the choice of columns, and the file. */
export default function ListTools(props: {
  /** undefined: not known. */
  totals: ShownTotals | undefined
  /** Keeps its saved views; absent: it has none. */
  name: string | undefined
  /** Where the file is, and its filters. */
  csv: { path: string; query?: Query } | undefined
  columns: ColumnName[]
  shown: ColumnName[]
  /** Says in which time zone its times are. */
  hasTimes: boolean
}) {
  const { totals, name, csv, columns, shown, hasTimes } = props
  return (
    <Group justify="space-between" gap="xs" className="list-tools">
      <Group gap="xs">
        <Totals totals={totals} />
        {hasTimes && <TimeZone />}
      </Group>
      <Group gap="xs">
        {name && <SavedViews list={name} />}
        {name && <ColumnChoice columns={columns} shown={shown} />}
        {csv && <ExportCsv {...csv} />}
      </Group>
    </Group>
  )
}

function Totals({ totals }: { totals: ShownTotals | undefined }) {
  if (!totals) return <span />
  const { count, isComplete, sums = [] } = totals
  const shown = isComplete
    ? plural(t.lists.rows, count)
    : interpolate(pluralForm(t.lists.rows, count), { count: `${formatCount(count)}+` })
  const money = sums.map(({ amount, currencyCode }) => formatMoney(amount, currencyCode))
  return (
    <Text size="sm" c="dimmed" data-totals aria-live="polite">
      {[shown, ...money].join(' · ')}
    </Text>
  )
}

function ColumnChoice({ columns, shown }: { columns: ColumnName[]; shown: ColumnName[] }) {
  const [, setFilters] = useFilters()
  const accessors = shown.map((column) => column.accessor)
  // The first column links to the row's page.
  const choosable = columns.filter((column, index) => index > 0 && !column.hidden)
  return (
    <Menu closeOnItemClick={false} position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="default" size="xs" leftSection={<IconColumns3 size={14} />}>
          {t.lists.columns}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {choosable.map(({ accessor, title }) => {
          const isShown = accessors.includes(accessor)
          const next = isShown ? accessors.filter((one) => one !== accessor) : [...accessors, accessor]
          return (
            <Menu.CheckboxItem
              key={accessor}
              checked={isShown}
              onChange={() => setFilters({ columns: next.join(',') })}
            >
              {title}
            </Menu.CheckboxItem>
          )
        })}
        <Menu.Divider />
        <Menu.Item onClick={() => setFilters({ columns: null })}>{t.lists.usualColumns}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
