import type { SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import type { ReadCatalogue } from './read-catalogue.ts'

/**
 * The listed products that are missing from a catalogue only because their entry is unreadable. They stay as they were. An
 * entry without a code may be that of any missing product, so all of them stay. Pure.
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
