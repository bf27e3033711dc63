import type { ImportChange } from '@dealer-esim/gateway/catalogue/files/check-rows.ts'
import type { DifferenceLine, DifferenceWarning } from '@dealer-esim/gateway/catalogue/packages/package-difference.ts'
import { Badge, Group, Stack, Text } from '@mantine/core'
import { formatMoney, formatPercentChange, formatVolume } from '#parts/format.ts'
import { formatMessage, t } from '#strings/strings.ts'

/** An import's changes to one package, one line per member. Suspicious prices are highlighted. */
export function ChangeDetails({ change }: { change: ImportChange }) {
  return (
    <Stack gap={4} className="list-lines">
      {change.change === 'ADDED' && (
        <Text size="sm">
          {t.catalogue.added}: {change.after.name}
        </Text>
      )}
      {change.lines.map((line) => (
        <Group key={lineLabel(line)} gap="xs">
          <Text size="sm" className="break">
            {lineLabel(line)}: {lineText(line)}
          </Text>
          {'warnings' in line &&
            line.warnings.map((warning) => <Warning key={warning} warning={warning} line={line} />)}
        </Group>
      ))}
    </Stack>
  )
}

type Line<Kind extends DifferenceLine['kind']> = Extract<DifferenceLine, { kind: Kind }>
type PriceLine = Line<'PRICE' | 'RETAIL_PRICE'>

function Warning({ warning, line }: { warning: DifferenceWarning; line: PriceLine | Line<'VOLUME'> }) {
  const cost = line.kind === 'VOLUME' || line.cost === null ? '' : formatMoney(line.cost, line.currencyCode)
  return (
    <Badge variant="light" color="red" tt="none" radius="sm" data-warning={warning}>
      {formatMessage(t.catalogue.warnings[warning], { cost })}
    </Badge>
  )
}

function lineLabel(line: DifferenceLine): string {
  switch (line.kind) {
    case 'PRICE':
      return formatMessage(t.catalogue.priceIn, { currency: line.currencyCode })
    case 'RETAIL_PRICE':
      return formatMessage(t.catalogue.retailPriceIn, { currency: line.currencyCode })
    case 'SUPPLIER':
      return formatMessage(t.catalogue.supplierNumber, { place: line.place })
    case 'PLACES':
      return t.catalogue.coverage
    case 'VOLUME':
      return t.catalogue.members.volume
    case 'MEMBER':
      return (t.catalogue.members as Record<string, string>)[line.member] ?? line.member
    default:
      return line satisfies never
  }
}

function lineText(line: DifferenceLine): string {
  switch (line.kind) {
    case 'PRICE':
    case 'RETAIL_PRICE':
      return priceText(line)
    case 'SUPPLIER':
      return beforeAndAfter(line.before && supplierText(line.before), line.after && supplierText(line.after))
    case 'PLACES':
      return countriesText(line)
    case 'VOLUME':
      return beforeAndAfter(valueText('volume', line.before), valueText('volume', line.after))
    case 'MEMBER':
      // Networks by country are too long for a line.
      if (Array.isArray(line.after)) return t.catalogue.differs
      return beforeAndAfter(valueText(line.member, line.before), valueText(line.member, line.after))
    default:
      return line satisfies never
  }
}

function priceText({ before, after, change, currencyCode }: PriceLine): string {
  const written = (amount: number | null) => (amount === null ? null : formatMoney(amount, currencyCode))
  if (before === after) return written(after) ?? t.catalogue.noValue
  return beforeAndAfter(written(before), written(after)) + (change === null ? '' : ` (${formatPercentChange(change)})`)
}

function supplierText({ supplier, productCode, costPrice, costCurrency }: NonNullable<Line<'SUPPLIER'>['after']>) {
  const cost = costPrice === null || costCurrency === null ? '' : ` (${formatMoney(costPrice, costCurrency)})`
  return `${supplier}/${productCode}${cost}`
}

function countriesText({ added, removed }: Line<'PLACES'>): string {
  const parts = [
    added.length > 0 && formatMessage(t.catalogue.countriesAdded, { countries: added.join(', ') }),
    removed.length > 0 && formatMessage(t.catalogue.countriesRemoved, { countries: removed.join(', ') }),
  ].filter(Boolean)
  return parts.join('; ') || t.catalogue.differs
}

function beforeAndAfter(before: string | null, after: string | null): string {
  return `${before ?? t.catalogue.noValue} → ${after ?? t.catalogue.noValue}`
}

function valueText(member: string, value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (member === 'volume') return formatVolume(Number(value))
  if (typeof value === 'boolean') return value ? t.common.yes : t.common.no
  return (t.statuses as Record<string, string>)[String(value)] ?? String(value)
}
