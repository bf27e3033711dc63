import { isDeepStrictEqual } from 'node:util'
import type { PackageDocument, PriceDocument, SupplierDocument } from './package-document.ts'

/** A package before and after a change. A new package has no `before`. */
export interface PackageChange {
  readonly before: PackageDocument | undefined
  readonly after: PackageDocument
}

export type Member = keyof PackageDocument

/** The members that differ: all of a new package, none if nothing changes. */
export function differingMembers({ before, after }: PackageChange): Member[] {
  const members = Object.keys(after) as Member[]
  return before ? members.filter((member) => !isDeepStrictEqual(before[member], after[member])) : members
}

/** The differing members with their values before and after, for the audit log and dry runs. */
export function pickDifferences(change: PackageChange): {
  before?: Partial<PackageDocument>
  after: Partial<PackageDocument>
} {
  const members = differingMembers(change)
  const pick = (document: PackageDocument) =>
    Object.fromEntries(members.map((member) => [member, document[member]])) as Partial<PackageDocument>
  return change.before ? { before: pick(change.before), after: pick(change.after) } : { after: change.after }
}

/** List prices that were set, changed or removed. */
export function differingPrices({ before, after }: PackageChange): (PriceDocument & { removed: boolean })[] {
  const old = new Map(before?.prices.map((price) => [price.currencyCode, price]))
  const set = after.prices.filter((price) => !isDeepStrictEqual(old.get(price.currencyCode), price))
  for (const price of after.prices) old.delete(price.currencyCode)
  return [
    ...set.map((price) => ({ ...price, removed: false })),
    ...[...old.values()].map((price) => ({ ...price, removed: true })),
  ]
}

/** Reasons why a person should check a change before it is written. */
export type DifferenceWarning = 'PRICE_FALLS' | 'PRICE_REMOVED' | 'BELOW_COST' | 'FEW_BYTES'

/** One difference, as data for the console's preview and the command line's dry run. */
export type DifferenceLine =
  | PriceLine
  | { kind: 'SUPPLIER'; place: number; before: SupplierDocument | null; after: SupplierDocument | null }
  /** Both empty: only the order differs. */
  | { kind: 'PLACES'; added: string[]; removed: string[] }
  /** A number of bytes that was probably meant in another unit. */
  | { kind: 'VOLUME'; before: number | null; after: number; warnings: DifferenceWarning[] }
  | { kind: 'MEMBER'; member: Member; before: unknown; after: unknown }

interface PriceLine {
  kind: 'PRICE' | 'RETAIL_PRICE'
  currencyCode: string
  /** In 1/10 000; null: no price. */
  before: number | null
  after: number | null
  /** 1 means twice as much, -0.5 half as much; null if one side has no price, or `before` is 0. */
  change: number | null
  /** The lowest cost of a supplier in this currency; null if unknown. */
  cost: number | null
  warnings: DifferenceWarning[]
}

/** A price that falls by more than this share is more often a misplaced decimal point than a sale. */
const FALL_MAX = 0.5

/** Lists the differences: prices first, because mistakes there cost money. A new package has lines for prices and suppliers. */
export function listDifferences(change: PackageChange): DifferenceLine[] {
  const { before, after } = change
  const volume = volumeLines(change)
  const own = new Set<Member>([...WITH_OWN_LINES, ...(volume.length > 0 ? (['volume'] as const) : [])])
  const others = before ? differingMembers(change).filter((member) => !own.has(member)) : []
  return [
    ...priceLines(change),
    ...volume,
    ...supplierLines(change),
    ...(before ? placeLines(before, after) : []),
    ...others.map((member) => ({ kind: 'MEMBER' as const, member, before: before?.[member], after: after[member] })),
  ]
}

export function warningsOf(lines: readonly DifferenceLine[]): DifferenceWarning[] {
  return lines.flatMap((line) => ('warnings' in line ? line.warnings : []))
}

const WITH_OWN_LINES: ReadonlySet<Member> = new Set(['prices', 'suppliers', 'locationCodes'])

/** Smaller than any real package: 3 bytes where 3 GB was meant. */
export function isFewBytes(volume: number): boolean {
  return volume < 1_024
}

function volumeLines({ before, after }: PackageChange): DifferenceLine[] {
  const [was, is] = [before?.volume ?? null, after.volume]
  return is === null || !isFewBytes(is) || was === is
    ? []
    : [{ kind: 'VOLUME', before: was, after: is, warnings: ['FEW_BYTES'] }]
}

function priceLines({ before, after }: PackageChange): PriceLine[] {
  const old = new Map(before?.prices.map((price) => [price.currencyCode, price]))
  const now = new Map(after.prices.map((price) => [price.currencyCode, price]))
  return [...new Set([...now.keys(), ...old.keys()])].flatMap((currencyCode) => {
    const [was, is] = [old.get(currencyCode), now.get(currencyCode)]
    const cost = costIn(currencyCode, after)
    const price = priceLine('PRICE', currencyCode, was?.price ?? null, is?.price ?? null, cost)
    const retail = priceLine('RETAIL_PRICE', currencyCode, was?.retailPrice ?? null, is?.retailPrice ?? null, null)
    const isNewlyBelow = price.warnings.includes('BELOW_COST') && !(before && isBelow(was?.price, currencyCode, before))
    return [
      ...(price.before !== price.after || isNewlyBelow ? [price] : []),
      ...(retail.before !== retail.after ? [{ ...retail, warnings: [] }] : []),
    ]
  })
}

function priceLine(
  kind: PriceLine['kind'],
  currencyCode: string,
  before: number | null,
  after: number | null,
  cost: number | null,
): PriceLine {
  const change = before === null || after === null || before === 0 ? null : after / before - 1
  const warnings: DifferenceWarning[] = []
  if (change !== null && change < -FALL_MAX) warnings.push('PRICE_FALLS')
  if (before !== null && after === null) warnings.push('PRICE_REMOVED')
  if (after !== null && cost !== null && after < cost) warnings.push('BELOW_COST')
  return { kind, currencyCode, before, after, change, cost, warnings }
}

function isBelow(price: number | undefined, currencyCode: string, document: PackageDocument): boolean {
  const cost = costIn(currencyCode, document)
  return price !== undefined && cost !== null && price < cost
}

/** The lowest cost, because orders skip a supplier that costs more than the price. */
function costIn(currencyCode: string, { suppliers }: PackageDocument): number | null {
  const costs = suppliers.flatMap(({ costPrice, costCurrency }) =>
    costPrice !== null && costCurrency === currencyCode ? [costPrice] : [],
  )
  return costs.length === 0 ? null : Math.min(...costs)
}

function supplierLines({ before, after }: PackageChange): DifferenceLine[] {
  const [old, now] = [before?.suppliers ?? [], after.suppliers]
  return Array.from({ length: Math.max(old.length, now.length) }, (_, index) => ({
    ...{ kind: 'SUPPLIER' as const, place: index + 1 },
    ...{ before: old[index] ?? null, after: now[index] ?? null },
  })).filter((line) => !isDeepStrictEqual(line.before, line.after))
}

function placeLines(before: PackageDocument, after: PackageDocument): DifferenceLine[] {
  const added = after.locationCodes.filter((code) => !before.locationCodes.includes(code))
  const removed = before.locationCodes.filter((code) => !after.locationCodes.includes(code))
  const isSame = isDeepStrictEqual(before.locationCodes, after.locationCodes)
  return isSame ? [] : [{ kind: 'PLACES', added, removed }]
}
