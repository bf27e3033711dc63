import { groupBy } from '@dealer-esim/lib/batch.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { type Loop, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import type { Snapshot } from '#catalogue/catalogue.ts'
import type { FulfilmentDeps } from '#fulfilment/outcomes/outcome-deps.ts'
import { writeItems } from '#fulfilment/outcomes/outcome-items.ts'
import { readEsimsOfTopUps } from '#fulfilment/outcomes/top-up-orders.ts'
import { onlyFrom } from '#fulfilment/plan-step.ts'
import { compareSupplierList, isComparedAfterRestore } from '#fulfilment/reconciliation/compare-lists.ts'
import { changeOrders } from '#orders/change-order.ts'
import { type LockedItem, lockOrders } from '#orders/lock-orders.ts'
import { isOpen } from '#orders/order-item.ts'
import { BEING_PREPARED } from '#platform/held-tenants.ts'
import { holdUnsoldCodes } from '#stock/held-codes.ts'
import { findRecovery } from './recovery-state.ts'

const POLL_MS = 5_000
/** A list that could not be compared is compared again after this time. */
const COMPARE_AGAIN_MS = 60_000

/**
 * While the gateway is in recovery: holds what may have been sold since the backup, and compares the lists of all suppliers
 * that have one. Every node may run it.
 */
export function recoveryLoop(deps: FulfilmentDeps): Loop {
  const comparedAt = new Map<string, number>()
  return runLoop(deps, 'recovery', POLL_MS, async () => {
    if ((await findRecovery(deps.db)) === undefined) return false
    await prepareRecovery(deps)
    for (const name of await listNotCompared(deps)) {
      const now = deps.clock.monotonic()
      if (now - (comparedAt.get(name) ?? Number.NEGATIVE_INFINITY) < COMPARE_AGAIN_MS) continue
      comparedAt.set(name, now)
      const supplied = deps.suppliers.get(name)
      if (supplied) await compareSupplierList(deps, supplied, 0)
    }
    return false
  })
}

/** @returns the suppliers with a list that has not been read to its end since the restore */
export async function listNotCompared({ db, suppliers }: Pick<FulfilmentDeps, 'db' | 'suppliers'>): Promise<string[]> {
  const names = suppliers.all().flatMap(({ supplier }) => (supplier.list === undefined ? [] : [supplier.name]))
  const rows = await db.query<{ supplier: string }>({
    text: `select supplier from unnest($1::text[]) as listed (supplier)
           where exists (select from restores r where r.recovering and not ${isComparedAfterRestore('listed.supplier')})
           order by supplier`,
    values: [names],
  })
  return rows.map(({ supplier }) => supplier)
}

/**
 * Holds unsold codes and open orders, once. A preparation that is interrupted is repeated: each step changes what is left.
 * Each transaction requires that the recovery has not ended.
 */
export async function prepareRecovery(deps: FulfilmentDeps): Promise<void> {
  const [restore] = await deps.db.query({ text: 'select from restores where recovering and prepared_at is null' })
  if (restore === undefined) return
  await holdUnsoldCodes(deps)
  await deps.db.tx(async (tx) => {
    if ((await tx.query({ text: BEING_PREPARED })).length > 0) tx.send({ text: PAUSE_RANGES })
  })
  while (await reviewSomeOrders(deps)) {}
  await deps.db.query({ text: 'update restores set prepared_at = now() where recovering and prepared_at is null' })
}

/**
 * The next ICCID of a range is the one that was next at the backup, which a traveller may have by now: it would be ordered
 * again, and cancelled when that fails.
 */
const PAUSE_RANGES = `update suppliers set paused = true, updated_at = now()
  where not paused and supplier in (select supplier from es2plus_ranges)`

const ORDERS_PER_PASS = 200

/**
 * Puts orders that were open at the restore under review. At the moment of the backup they were not delivered; a supplier may
 * have delivered them since, perhaps another one than the order names, so nothing is bought for them any more: an operator
 * settles them, or a supplier's list delivers them.
 * @returns whether there may be more
 */
async function reviewSomeOrders(deps: FulfilmentDeps): Promise<boolean> {
  const due = await deps.db.query<{ tenantId: string; orderId: string }>({
    text: `select tenant_id, order_id from orders
           where due_at is not null
             and created_at <= (select max(restored_at) from restores where recovering and prepared_at is null)
           order by tenant_id, order_id limit $1`,
    values: [ORDERS_PER_PASS],
  })
  const catalogue = await deps.catalogue.latest()
  for (const [tenantId, orders] of groupBy(due, (order) => order.tenantId)) {
    const orderIds = orders.map(({ orderId }) => orderId)
    await deps.db.tx(async (tx) => {
      if ((await tx.query({ text: BEING_PREPARED })).length > 0)
        await reviewOrders(tx, deps, catalogue, tenantId, orderIds)
    })
  }
  return due.length === ORDERS_PER_PASS
}

async function reviewOrders(
  tx: Tx,
  deps: FulfilmentDeps,
  catalogue: Snapshot,
  tenantId: string,
  orderIds: readonly string[],
): Promise<void> {
  const { orders, now } = await lockOrders(tx, tenantId, orderIds)
  const topUps = await readEsimsOfTopUps(tx, deps.cipher, tenantId, orderIds)
  const changed: { orderId: string; item: LockedItem }[] = []
  for (const { orderId, items } of orders.values()) {
    const topUp = topUps.get(orderId)
    for (const item of items) {
      if (!isOpen(item.itemStatus) && item.itemStatus !== 'REVIEW') continue
      const bought = catalogue.find(item.packageCode)
      const [route] = (topUp ? onlyFrom(topUp.supplier, bought) : bought)?.routes ?? []
      // An operator can only record a delivery of an item that names a supplier.
      if (item.supplier === null && route !== undefined) Object.assign(item, route)
      const review = { itemStatus: 'REVIEW', retryAt: null, inDoubtAt: null, failureReason: WAS_OPEN } as const
      Object.assign(item, { ...review, requestedAt: item.requestedAt ?? now })
      changed.push({ orderId, item })
    }
  }
  writeItems(tx, tenantId, changed, now)
  const release = { dueAt: null }
  changeOrders(
    tx,
    deps,
    tenantId,
    [...orders.values()].map((order) => ({ order, profilesChanged: false, release })),
    now,
  )
}

const WAS_OPEN =
  'It was open when the backup was made, and may have been delivered since: ask the suppliers about its key.'
