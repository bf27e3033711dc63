import { Text, Tooltip, VisuallyHidden } from '@mantine/core'
import { formatCount, formatMoney, formatPercent, formatPercentChange, roundSum } from '#parts/format.ts'
import { Amount } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'

interface MarginProps {
  /** null if no cost is known. */
  margin: number | null
  unknownItems: number
  currency: string
  /** Only sums have it: the revenue of the items whose cost is known, for the percentage. */
  marginRevenue?: number
  /** In a row of a list: one line, where an asterisk stands for the items of unknown cost. */
  isCell?: boolean
}

/** A margin, and for how many items it is unknown. An unknown margin is never shown as zero. */
export function Margin({ margin, unknownItems, currency, marginRevenue, isCell = false }: MarginProps) {
  if (margin === null) return <span data-margin="unknown">{t.sales.unknown}</span>
  const without = unknownItems > 0 && formatMessage(t.sales.unknownItems, { count: unknownItems })
  return (
    <span data-margin={margin}>
      <Amount value={marginRevenue === undefined ? margin : roundSum(margin, currency)} currency={currency} />
      {isCell && without && (
        <Tooltip label={without}>
          <span>
            <span aria-hidden="true">*</span>
            <VisuallyHidden>{without}</VisuallyHidden>
          </span>
        </Tooltip>
      )}
      {marginRevenue !== undefined && marginRevenue > 0 && (
        <Text span size="xs" c="dimmed">
          {' '}
          {formatPercent(margin / marginRevenue)}
        </Text>
      )}
      {!isCell && without && (
        <Text span size="xs" c="dimmed" display="block">
          {without}
        </Text>
      )}
    </span>
  )
}

/** A sum of money, at the decimals of its currency. */
export function Sum({ value, currency }: { value: number; currency: string }) {
  return <Amount value={roundSum(value, currency)} currency={currency} />
}

/** The change in a figure since the previous period; a dash if it was zero then, or if one of the two is unknown. */
export function Change({ now, before }: { now: number | null; before: number | null }) {
  if (now === null || before === null || before <= 0) return <>–</>
  return <span {...(now < before && { className: 'negative' })}>{formatPercentChange((now - before) / before)}</span>
}

/** A short text that explains a bar. */
export function salesTooltip(row: { items: number; revenue: number; margin: number | null }, currency: string): string {
  return formatMessage(t.sales.tooltip, {
    items: formatCount(row.items),
    revenue: formatMoney(row.revenue, currency),
    margin: row.margin === null ? t.sales.unknown : formatMoney(row.margin, currency),
  })
}
