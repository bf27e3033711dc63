import { MONEY_MAX } from '@dealer-esim/contract'
import type { Supplier, SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'

/** Bounds memory: several times the largest catalogue of a wholesaler. */
export const PRODUCTS_MAX = 50_000
const CODE_LENGTH_MAX = 128
const NAME_LENGTH_MAX = 200
const DAYS_MAX = 3_650

/** The catalogue cannot be used; the message says why. */
export class UnreadableCatalogue extends Error {
  override readonly name = 'UnreadableCatalogue'
}

/**
 * Reads a supplier's catalogue to its end, in a canonical form: sorted by code, each product once.
 * @param onProgress called after each product with the number read so far
 * @throws UnreadableCatalogue, and whatever the supplier throws
 */
export async function readCatalogue(
  supplier: Pick<Supplier, 'catalogue'>,
  onProgress: (products: number) => void,
): Promise<SupplierProduct[]> {
  const products = new Map<string, SupplierProduct>()
  let read = 0
  for await (const product of supplier.catalogue?.() ?? []) {
    onProgress(++read)
    const usable = usableForm(product)
    if (usable === undefined) continue
    const same = products.get(usable.productCode)
    if (same !== undefined && !isSameProduct(same, usable)) {
      throw new UnreadableCatalogue(`it has two different products ${usable.productCode}`)
    }
    products.set(usable.productCode, usable)
    if (products.size > PRODUCTS_MAX) throw new UnreadableCatalogue(`it has more than ${PRODUCTS_MAX} products`)
  }
  return [...products.values()].sort((a, b) => (a.productCode < b.productCode ? -1 : 1))
}

/** @returns undefined if our tables cannot express it, so that it cannot be sold */
function usableForm(product: SupplierProduct): SupplierProduct | undefined {
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
  if (!isUsable) return undefined
  return { ...product, name: [...name].slice(0, NAME_LENGTH_MAX).join(''), countries: [...new Set(countries)].sort() }
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
    one.countries.join() === other.countries.join()
  )
}

export function isSameCost(
  one: Pick<SupplierProduct, 'cost' | 'currencyCode'>,
  other: Pick<SupplierProduct, 'cost' | 'currencyCode'>,
): boolean {
  return one.cost === other.cost && one.currencyCode === other.currencyCode
}
