import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import type { SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import type { CostsFollowed } from '../rules/follow-costs.ts'
import { finishDone, followChanges, type SyncDeps } from './run-sync.ts'
import { type ProductChanges, readProducts, saveProducts } from './save-products.ts'

/**
 * Accepts a catalogue that was held, as read at `heldAt`, without querying the supplier again.
 * @throws Refusal if that catalogue is no longer held
 */
export async function acceptCatalogue(
  deps: SyncDeps,
  supplier: string,
  heldAt: Date,
  by: By,
): Promise<ProductChanges & { listed: number; followed: CostsFollowed }> {
  const accepted = await deps.db.tx(async (tx) => {
    const [row] = await tx.query<{ held: HeldProduct[] | null; heldAt: Date | null; message: string | null }>(sql`
      select held, held_at, message from supplier_syncs where supplier = ${supplier} for no key update`)
    if (row === undefined) throw notFound('catalogue of a supplier', supplier)
    if (row.held === null || row.heldAt?.getTime() !== heldAt.getTime()) throw notHeld(supplier, row.heldAt)
    const products = row.held.map(productOf)
    const changes = await saveProducts(tx, supplier, await readProducts(tx, supplier), products)
    finishDone(tx, supplier, products.length, changes)
    audit(tx, deps.ids, {
      tenantId: null,
      ...by,
      action: 'supplier.accept_catalogue',
      subject: supplier,
      after: { ...changes, listed: products.length, heldAt: heldAt.toISOString(), doubt: row.message },
    })
    return { ...changes, listed: products.length }
  })
  return { ...accepted, followed: await followChanges(deps) }
}

type HeldProduct = Omit<SupplierProduct, 'volume' | 'cost'> & { volume: number | null; cost: number }

function productOf({ volume, cost, ...rest }: HeldProduct): SupplierProduct {
  return { ...rest, volume: volume === null ? null : BigInt(volume), cost: BigInt(cost) }
}

function notHeld(supplier: string, heldAt: Date | null): Refusal {
  const present =
    heldAt === null
      ? 'None of its catalogues is waiting to be accepted.'
      : `A later one, of ${heldAt.toISOString()}, is waiting instead: check it, then accept it with that time.`
  return new Refusal(409, 'NOT_HELD', `That catalogue of ${supplier} is no longer held. ${present}`)
}
