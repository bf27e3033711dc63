import { MONEY_MAX } from '@dealer-esim/contract'
import type { Supplier, SupplierProduct, UnreadableEntry } from '@dealer-esim/wholesalers/supplier.ts'
import { isUnreadable } from '@dealer-esim/wholesalers/unreadable-entry.ts'

/** Limits memory: several times the size of the largest wholesaler catalogue. */
export const PRODUCTS_MAX = 50_000
/** Including unreadable entries, and duplicates that are sold only once. */
const ENTRIES_MAX = 2 * PRODUCTS_MAX
const CODE_LENGTH_MAX = 128
const NAME_LENGTH_MAX = 200
/** The maximum length that a package allows (catalogue/packages/package-document.ts). */
const POLICY_LENGTH_MAX = 2_000
const DAYS_MAX = 3_650

/** The catalogue is unusable; the message says why. */
export class UnreadableCatalogue extends Error {
  override readonly name = 'UnreadableCatalogue'
}

/** A catalogue in a canonical form: sorted by code, each product once. */
export interface ReadCatalogue {
  products: SupplierProduct[]
  /** Entries that cannot be read, and products that our tables cannot represent. */
  unreadable: UnreadableEntry[]
}

/**
 * Reads a supplier's catalogue to its end. A faulty entry does not affect the others.
 * @param onProgress called after each entry with the number read so far
 * @throws UnreadableCatalogue, and whatever the supplier throws
 */
export async function readCatalogue(
  supplier: Pick<Supplier, 'catalogue'>,
  onProgress: (products: number) => void,
): Promise<ReadCatalogue> {
  const products = new Map<string, SupplierProduct>()
  const unreadable: UnreadableEntry[] = []
  const twice = new Set<string>()
  let read = 0
  for await (const entry of supplier.catalogue?.() ?? []) {
    onProgress(++read)
    if (read > ENTRIES_MAX) throw new UnreadableCatalogue(`it has more than ${ENTRIES_MAX} entries`)
    const usable = isUnreadable(entry) ? entry : usableForm(entry)
    if (isUnreadable(usable)) {
      unreadable.push(usable)
      continue
    }
    const { productCode } = usable
    const same = products.get(productCode)
    if (same !== undefined && !isSameProduct(same, usable)) twice.add(productCode)
    products.set(productCode, usable)
    if (products.size > PRODUCTS_MAX) throw new UnreadableCatalogue(`it has more than ${PRODUCTS_MAX} products`)
  }
  // It is unknown which of the two is sold, so neither is.
  for (const productCode of twice) {
    products.delete(productCode)
    unreadable.push({ productCode, entry: productCode, reason: 'two different products have this code' })
  }
  return { products: [...products.values()].sort((a, b) => (a.productCode < b.productCode ? -1 : 1)), unreadable }
}

/** @returns an unreadable entry if our tables cannot express it, so that it cannot be sold */
function usableForm(product: SupplierProduct): SupplierProduct | UnreadableEntry {
  const { productCode, name, durationDays, cost, volume, countries, currencyCode } = product
  const isUsable =
    productCode.length <= CODE_LENGTH_MAX &&
    Number.isSafeInteger(durationDays) &&
    durationDays >= 1 &&
    durationDays <= DAYS_MAX &&
    cost >= 0n &&
    cost <= BigInt(MONEY_MAX) &&
    (volume === null || (volume >= 1n && volume <= BigInt(Number.MAX_SAFE_INTEGER))) &&
    /^[A-Z]{3}$/.test(currencyCode)
  if (!isUsable) {
    const entry = [...productCode].slice(0, CODE_LENGTH_MAX).join('')
    return { productCode, entry, reason: 'its code, days, cost, volume or currency is out of range' }
  }
  const fupPolicy = product.fupPolicy ? [...product.fupPolicy].slice(0, POLICY_LENGTH_MAX).join('') : undefined
  return {
    ...product,
    ...(fupPolicy && { fupPolicy }),
    name: [...name].slice(0, NAME_LENGTH_MAX).join(''),
    countries: [...new Set(countries)].sort(),
  }
}

/** @returns whether the two have the same values in all members that are stored */
export function isSameProduct(one: SupplierProduct, other: SupplierProduct): boolean {
  return (
    one.name === other.name &&
    one.packageType === other.packageType &&
    one.volume === other.volume &&
    one.isDayPass === other.isDayPass &&
    one.durationDays === other.durationDays &&
    isSameCost(one, other) &&
    one.countries.join() === other.countries.join() &&
    (one.fupPolicy ?? null) === (other.fupPolicy ?? null) &&
    (one.included ?? null) === (other.included ?? null)
  )
}

export function isSameCost(
  one: Pick<SupplierProduct, 'cost' | 'currencyCode'>,
  other: Pick<SupplierProduct, 'cost' | 'currencyCode'>,
): boolean {
  return one.cost === other.cost && one.currencyCode === other.currencyCode
}

/**
 * The listed products that are missing from a catalogue only because their entry is unreadable. They stay unchanged. An
 * entry without a code may belong to any missing product, so all of these stay. Pure.
 */
export function keepKnown<Known extends SupplierProduct>(
  listed: ReadonlyMap<string, Known>,
  { products, unreadable }: ReadCatalogue,
): Known[] {
  if (unreadable.length === 0) return []
  const read = new Set(products.map(({ productCode }) => productCode))
  const codes = new Set(unreadable.map(({ productCode }) => productCode))
  const isKept = (code: string) => !read.has(code) && (codes.has(code) || codes.has(undefined))
  return [...listed.values()].filter(({ productCode }) => isKept(productCode))
}
