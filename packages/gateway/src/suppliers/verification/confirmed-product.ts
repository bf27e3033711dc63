import { formatMoney } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Supplier, SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { needsVerification, type SupplierType } from '../create-supplier.ts'
import { findOpenVerification, findProduct, type Verification } from './verify-supplier.ts'

/**
 * Finds an open purchase, or else the product at the confirmed price.
 * @param buy the supplier's product code, or one of our packages that it supplies
 * @param confirm the price as stated before; undefined: state it
 * @throws Refusal that states the price, if no price or a different one was confirmed
 */
export async function findConfirmedProduct(
  db: Pick<Db, 'query'>,
  supplier: Supplier,
  { buy, confirm }: { buy: string; confirm?: string | undefined },
): Promise<SupplierProduct | Verification> {
  if (!needsVerification(supplier.type as SupplierType)) {
    throw new Refusal(409, 'NOT_VERIFIED', `${supplier.name} is not a wholesaler and does not need verification.`)
  }
  const open = await findOpenVerification(db, supplier.name)
  if (open !== undefined) return open
  const [ours] = await db.query<{ productCode: string }>(sql`
    select product_code from package_suppliers where package_code = ${buy} and supplier = ${supplier.name}`)
  const product = await findProduct(supplier, ours?.productCode ?? buy)
  const price = formatMoney(product.cost)
  if (confirm === price) return product
  const stated = `${product.name} (${product.productCode}) costs ${price} ${product.currencyCode} at ${supplier.name}`
  const message = `${stated}. This is a real purchase. To make it, confirm the price: ${price}`
  throw new Refusal(409, 'NOT_CONFIRMED', message, { price, currencyCode: product.currencyCode })
}
