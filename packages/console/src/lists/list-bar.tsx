import type { ListTotals } from '@dealer-esim/gateway/http/console/kernel/list-routes.ts'
import { Group, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Query } from '#api/call-api.ts'
import { formatMoney } from '#parts/format.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { type Filter, FilterChips } from './filter-chips.tsx'
import { type ColumnName, ListMenu } from './list-menu.tsx'
import { type ListView, ListViews, SaveView, useSavedViews } from './list-views.tsx'

type ShownTotals = Pick<ListTotals, 'count' | 'isComplete' | 'sums'>

export interface ListBarProps {
  search: ReactNode
  filters: readonly Filter[]
  views: readonly ListView[]
  /** undefined: unknown. */
  totals: ShownTotals | undefined
  /** The name under which the list's views are saved; absent if it has none. */
  name: string | undefined
  /** The path of the CSV file, and its filters. */
  csv: { path: string; query?: Query } | undefined
  columns: ColumnName[]
  shown: ColumnName[]
  /** Shown instead while rows are selected. */
  bulk: ReactNode
}

/**
 * The head of a list: its views, then one line with the search, the filters, the number of matching rows, and a menu for
 * the rest.
 */
export default function ListBar(props: ListBarProps) {
  const { search, filters, views, totals, name, csv, columns, shown, bulk } = props
  const saved = useSavedViews(name)
  const [saving, setSaving] = useState(false)
  return (
    <>
      {(views.length > 0 || saved.length > 0) && <ListViews views={views} saved={saved} />}
      {bulk || (
        <Group className="list-bar" gap="xs" wrap="nowrap" data-bare={(!search && filters.length === 0) || undefined}>
          {search}
          {filters.length > 0 && <FilterChips filters={filters} />}
          <Totals totals={totals} />
          {(name || csv) && (
            <ListMenu
              csv={csv}
              saved={saved}
              columns={name ? columns : []}
              shown={shown}
              {...(name && { onSave: () => setSaving(true) })}
            />
          )}
        </Group>
      )}
      {saving && name && <SaveView list={name} onClose={() => setSaving(false)} />}
    </>
  )
}

function Totals({ totals }: { totals: ShownTotals | undefined }) {
  if (!totals) return <span className="list-totals" />
  const { count, isComplete, sums = [] } = totals
  const shown = isComplete ? formatMessage(t.lists.rows, { count }) : formatMessage(t.lists.rowsAtLeast, { count })
  const money = sums.map(({ amount, currencyCode }) => formatMoney(amount, currencyCode))
  return (
    <Text size="sm" c="dimmed" className="list-totals" data-totals aria-live="polite">
      {[shown, ...money].join(' · ')}
    </Text>
  )
}
