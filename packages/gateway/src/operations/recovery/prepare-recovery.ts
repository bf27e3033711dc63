import { groupBy } from '@dealer-esim/lib/batch.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import type { Snapshot } from '#catalogue/catalogue.ts'
import type { FulfilmentDeps } from '#fulfilment/outcomes/outcome-deps.ts'
import { writeItems } from '#fulfilment/outcomes/outcome-items.ts'
import { readEsimsOfTopUps } from '#fulfilment/outcomes/top-up-orders.ts'
import { onlyFrom } from '#fulfilment/plan-step.ts'
import { changeAction, findOpenAction } from '#orders/change-action.ts'
import { changeOrders } from '#orders/change-order.ts'
import { type LockedItem, lockOrders } from '#orders/lock-orders.ts'
import { isOpen } from '#orders/order-item.ts'
import { BEING_PREPARED } from '#platform/held-tenants.ts'
import { holdUnsoldCodes } from '#stock/held-codes.ts'

/**
 * Holds unsold codes, open orders and open actions, once. A preparation that is interrupted is repeated: each step changes
 * what is left. Each transaction requires that the recovery has not ended.
 */
export async function prepareRecovery(deps: FulfilmentDeps): Promise<void> {
  const [restore] = await deps.db.query({ text: 'select from restores where recovering and prepared_at is null' })
  if (restore === undefined) return
  await holdUnsoldCodes(deps)
  await deps.db.tx(async (tx) => {
    if ((await tx.query({ text: BEING_PREPARED })).length > 0) tx.send({ text: PAUSE_RANGES })
  })
  while (await reviewSomeOrders(deps)) {}
  while (await holdSomeActions(deps)) {}
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
  const due = await deps.db.query<{ tenantId: string; orderId: string }>(sql`
    select tenant_id, order_id from orders
    where due_at is not null
      and created_at <= (select max(restored_at) from restores where recovering and prepared_at is null)
    order by tenant_id, order_id limit ${ORDERS_PER_PASS}`)
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

/**
 * Holds actions on eSIMs that were open at the restore. A supplier may have carried them out since the backup, and the dealer
 * may have reversed them: a SUSPEND that is repeated now would suspend a line that was resumed since. An operator ends them.
 * @returns whether there may be more
 */
async function holdSomeActions(deps: FulfilmentDeps): Promise<boolean> {
  const due = await deps.db.query<DueAction>(sql`
    select tenant_id, profile_id, order_id from esim_actions
    where due_at is not null
      and created_at <= (select max(restored_at) from restores where recovering and prepared_at is null)
    order by tenant_id, order_id limit ${ACTIONS_PER_PASS}`)
  for (const action of due) {
    await deps.db.tx(async (tx) => {
      if ((await tx.query({ text: BEING_PREPARED })).length > 0) await holdAction(tx, deps, action)
    })
  }
  return due.length === ACTIONS_PER_PASS
}

const ACTIONS_PER_PASS = 200

interface DueAction {
  tenantId: string
  profileId: string
  orderId: string
}

async function holdAction(tx: Tx, deps: FulfilmentDeps, { tenantId, profileId, orderId }: DueAction): Promise<void> {
  const { orders, now } = await lockOrders(tx, tenantId, [orderId])
  const action = await findOpenAction(tx, tenantId, profileId)
  const order = orders.get(orderId)
  if (action === undefined || order === undefined) return
  const change = { to: 'UNDER_REVIEW', message: ACTION_WAS_OPEN, dueAt: null } as const
  await changeAction(tx, deps, tenantId, { action, order, change }, now)
}

const ACTION_WAS_OPEN =
  'It was open when the backup was made, and may have been carried out since: ask the supplier about the eSIM.'
