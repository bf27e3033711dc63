import type { DifferenceLine, DifferenceWarning } from '@dealer-esim/gateway/catalogue/difference-lines.ts'
import type { ImportChange } from '@dealer-esim/gateway/catalogue/files/check.ts'
import { Badge, Group, Stack, Text } from '@mantine/core'
import { bytes, money, percentOfChange } from '../parts/format.ts'
import { say, t } from '../strings/strings.ts'

/** What an import does to one package, a line for each member; what to look at twice stands out. */
export function ImportedChange({ of }: { of: ImportChange }) {
  return (
    <Stack gap={4} className="list-words">
      {of.change === 'ADDED' && (
        <Text size="sm">
          {t.catalogue.added}: {of.after.name}
        </Text>
      )}
      {of.lines.map((line) => (
        <Group key={nameOf(line)} gap="xs">
          <Text size="sm" className="break">
            {nameOf(line)}: {wordsOf(line)}
          </Text>
          {'warnings' in line && line.warnings.map((warning) => <Warning key={warning} of={warning} line={line} />)}
        </Group>
      ))}
    </Stack>
  )
}

type Line<Kind extends DifferenceLine['kind']> = Extract<DifferenceLine, { kind: Kind }>
type PriceLine = Line<'PRICE' | 'RETAIL_PRICE'>

function Warning({ of, line }: { of: DifferenceWarning; line: PriceLine }) {
  const cost = line.cost === null ? '' : money(line.cost, line.currencyCode)
  return (
    <Badge variant="light" color="red" tt="none" radius="sm" data-warning={of}>
      {say(t.catalogue.warnings[of], { cost })}
    </Badge>
  )
}

function nameOf(line: DifferenceLine): string {
  switch (line.kind) {
    case 'PRICE':
      return say(t.catalogue.priceIn, { currency: line.currencyCode })
    case 'RETAIL_PRICE':
      return say(t.catalogue.retailIn, { currency: line.currencyCode })
    case 'SUPPLIER':
      return say(t.catalogue.supplierAt, { place: line.place })
    case 'PLACES':
      return t.catalogue.places
    case 'MEMBER':
      return (t.catalogue.members as Record<string, string>)[line.member] ?? line.member
    default:
      return line satisfies never
  }
}

function wordsOf(line: DifferenceLine): string {
  switch (line.kind) {
    case 'PRICE':
    case 'RETAIL_PRICE':
      return priceWords(line)
    case 'SUPPLIER':
      return sides(line.before && supplierWords(line.before), line.after && supplierWords(line.after))
    case 'PLACES':
      return placeWords(line)
    case 'MEMBER':
      // Networks, place by place: more than a line can say.
      if (Array.isArray(line.after)) return t.catalogue.differs
      return sides(valueWords(line.member, line.before), valueWords(line.member, line.after))
    default:
      return line satisfies never
  }
}

function priceWords({ before, after, change, currencyCode }: PriceLine): string {
  const written = (amount: number | null) => (amount === null ? null : money(amount, currencyCode))
  if (before === after) return written(after) ?? t.catalogue.noValue
  return sides(written(before), written(after)) + (change === null ? '' : ` (${percentOfChange(change)})`)
}

function supplierWords({ supplier, productCode, costPrice, costCurrency }: NonNullable<Line<'SUPPLIER'>['after']>) {
  const cost = costPrice === null || costCurrency === null ? '' : ` (${money(costPrice, costCurrency)})`
  return `${supplier}/${productCode}${cost}`
}

function placeWords({ added, removed }: Line<'PLACES'>): string {
  const parts = [
    added.length > 0 && say(t.catalogue.placesAdded, { places: added.join(', ') }),
    removed.length > 0 && say(t.catalogue.placesRemoved, { places: removed.join(', ') }),
  ].filter(Boolean)
  return parts.join('; ') || t.catalogue.differs
}

function sides(before: string | null, after: string | null): string {
  return `${before ?? t.catalogue.noValue} → ${after ?? t.catalogue.noValue}`
}

function valueWords(member: string, value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (member === 'volume') return bytes(Number(value))
  if (typeof value === 'boolean') return value ? t.common.yes : t.common.no
  return (t.statuses as Record<string, string>)[String(value)] ?? String(value)
}
