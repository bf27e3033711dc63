import { isDeepStrictEqual } from 'node:util'
import type { PackageDocument, PriceDocument } from './document.ts'

/** A package before and after; without a before it is new. */
export interface PackageChange {
  readonly before: PackageDocument | undefined
  readonly after: PackageDocument
}

export type Member = keyof PackageDocument

/** The members that differ; all of them in a new package, none when nothing is to be done. */
export function differingMembers({ before, after }: PackageChange): Member[] {
  const members = Object.keys(after) as Member[]
  return before ? members.filter((member) => !isDeepStrictEqual(before[member], after[member])) : members
}

/** The differing members with their values on either side, as audit log and dry run show them. */
export function differences(change: PackageChange): {
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
