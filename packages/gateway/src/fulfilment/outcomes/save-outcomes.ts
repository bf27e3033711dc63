import { orderNoOf, stripIccidPadding } from '@dealer-esim/contract'
import { failUnless, NOT_AS_EXPECTED } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { sqlState } from '@dealer-esim/lib/postgres/errors.ts'
import { useGenericPlans } from '@dealer-esim/lib/postgres/session-settings.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import type { DeliveredEsim, Outcome } from '@dealer-esim/wholesalers/supplier.ts'
import type { Snapshot } from '#catalogue/catalogue.ts'
import { changeOrders } from '#orders/change-order.ts'
import { expectKeptOrders, type LockedOrders, lockOrders, lockWalletAndOrders } from '#orders/lock-orders.ts'
import { awaitResolving, fingerprint } from '#stock/taken-codes.ts'
import { type HeldLease, type LeaseState, OutcomeBatch } from './apply-outcome.ts'
import type { FulfilmentDeps } from './outcome-deps.ts'
import {
  type Attempt,
  applyUnwritten,
  finishAttempts,
  type ItemResult,
  markWritten,
  writeItems,
} from './outcome-items.ts'
import { listEsimOrders } from './top-up-orders.ts'

/**
 * Saves outcomes and all their consequences in one transaction: items, profiles, refunds, order statuses, events. With a
 * lease token, it saves only for orders still held under it. The attempts of the others stay open, and the worker that has
 * taken over those orders queries the suppliers. One round trip for orders that this worker has kept, otherwise two; two
 * more for top-ups, and three more for each order with a refund.
 * Locks: the resolution lock, shared, if an eSIM is delivered; the wallet if an item was refused; then the orders,
 * ascending.
 * @returns the results whose orders are no longer held, and when one of the held orders is due again.
 */
export async function saveOutcomes(
  deps: FulfilmentDeps,
  tenantId: string,
  lease: LeaseState,
  results: readonly ItemResult[],
): Promise<{ lost: ItemResult[]; nextDueAt: Date | undefined }> {
  await failpoint('fulfilment.after-call')
  // A claim has refreshed the catalogue. Without a claim this node may not know the package yet, and the eSIM would not get
  // a duration.
  const catalogue = await (lease.leaseToken === undefined ? deps.catalogue.latest() : deps.catalogue.current(0n))
  const saving: Saving = { deps, tenantId, lease, catalogue }
  const { lost, nextDueAt, eventsToSend } = (await saveKept(saving, results)) ?? (await saveLocked(saving, results))
  markWritten(results.flatMap(({ attempt }) => attempt ?? []))
  await failpoint('fulfilment.after-outcome')
  if (eventsToSend) deps.wake.wake('webhooks', [tenantId])
  return { lost, nextDueAt }
}

interface Saving {
  deps: FulfilmentDeps
  tenantId: string
  lease: LeaseState
  catalogue: Snapshot
}

interface Saved {
  lost: ItemResult[]
  nextDueAt: Date | undefined
  eventsToSend: boolean
}

/** Outcomes for which rows other than the order's must be locked. */
const NEEDS_LOCKS: ReadonlySet<Outcome['kind']> = new Set(['refused', 'toppedUp'])

/**
 * Saves outcomes of orders that this worker has kept since claiming them. The changes are sent together with checks that
 * nobody has changed the orders since. If a check fails, the transaction is rolled back.
 * @returns undefined if nothing was saved, and saveLocked has to read first
 */
async function saveKept(saving: Saving, results: readonly ItemResult[]): Promise<Saved | undefined> {
  const { deps, tenantId, lease } = saving
  if (lease.leaseToken === undefined || results.some(({ outcome }) => NEEDS_LOCKS.has(outcome.kind))) return undefined
  const kept = lease.takeKept(orderIdsOf(results))
  if (kept === undefined) return undefined
  const orders = new Map([...kept].map(([orderId, { order }]) => [orderId, order]))
  // Never before the start of the attempts: this node knows the database's time only approximately.
  const startedAt = results.map(({ attempt }) => attempt?.startedAt.getTime() ?? 0)
  const now = new Date(Math.max(deps.databaseClock.now(), ...startedAt))
  try {
    return await deps.db.tx(async (tx) => {
      useGenericPlans(tx)
      refuseEsimsResolvedElsewhere(tx, deps.linkKey, results)
      expectKeptOrders(tx, tenantId, kept, lease.leaseToken)
      return writeOutcomes(tx, saving, results, { orders, esimOrders: new Map(), now, databaseNow: now })
    })
  } catch (error) {
    if (sqlState(error) !== NOT_AS_EXPECTED) throw error
    return undefined
  }
}

/** Locks the orders, reads them, then saves the outcomes. */
async function saveLocked(saving: Saving, results: readonly ItemResult[]): Promise<Saved> {
  const { deps, tenantId, lease } = saving
  return deps.db.tx(async (tx) => {
    useGenericPlans(tx)
    const orderIds = orderIdsOf(results)
    const refunds = results.some((result) => result.outcome.kind === 'refused')
    const toppedUp = results.filter((result) => result.outcome.kind === 'toppedUp').map((result) => result.orderId)
    const esimOrderIds = await listEsimOrders(tx, tenantId, toppedUp)
    const lock = refunds ? lockWalletAndOrders : lockOrders
    const [checked, locked] = await Promise.all([
      doubtEsimsResolvedElsewhere(tx, deps.linkKey, results),
      lock(tx, tenantId, orderIds, lease.leaseToken, esimOrderIds),
    ])
    if (checked !== results) {
      deps.log.warn(
        { tenantId, orderIds },
        'a supplier delivered an eSIM that an operator has recorded for another item',
      )
    }
    return writeOutcomes(tx, saving, checked, locked)
  })
}

function orderIdsOf(results: readonly ItemResult[]): string[] {
  return [...new Set(results.map((result) => result.orderId))].sort()
}

async function writeOutcomes(
  tx: Tx,
  { deps, tenantId, lease, catalogue }: Saving,
  results: readonly ItemResult[],
  { orders, esimOrders, now, databaseNow }: LockedOrders,
): Promise<Saved> {
  if (lease.leaseToken !== undefined) {
    for (const order of orders.values()) applyUnwritten(order, lease.unwritten(order.orderId))
  }
  const held = results.filter((result) => orders.has(result.orderId))
  const batch = new OutcomeBatch(deps, tenantId, { now, databaseNow }, (code) => catalogue.find(code))
  for (const result of held) batch.apply(orders.get(result.orderId)!, result)
  finishAttempts(tx, tenantId, held, databaseNow)
  await failpoint('fulfilment.outcome-half-written')
  const nextDueAt = batch.release(orders, lease)
  const { eventsToSend, isTopUpDue } = await batch.write(tx, orders, esimOrders)
  await failpoint('fulfilment.before-outcome-commit')
  const lost = results.filter((result) => !orders.has(result.orderId))
  return { lost, nextDueAt: isTopUpDue ? databaseNow : nextDueAt, eventsToSend }
}

/**
 * Writes the ASKED items of orders whose suppliers are slow, so that dealers see these orders as ALLOCATING. Otherwise items
 * are written with their outcome. Two round trips.
 *
 * Locks: the orders, ascending, as long as their lease is held.
 */
export async function saveAsked(
  deps: Pick<FulfilmentDeps, 'db' | 'ids' | 'wake' | 'orderMetrics'>,
  tenantId: string,
  lease: HeldLease,
  attempts: readonly Attempt[],
): Promise<void> {
  const orderIds = [...new Set(attempts.map(({ orderId }) => orderId))].sort()
  lease.takeKept(orderIds) // the rows are about to be written, which makes the kept orders stale
  await failpoint('fulfilment.before-asked')
  const eventsToSend = await deps.db.tx(async (tx) => {
    const { orders, now, databaseNow } = await lockOrders(tx, tenantId, orderIds, lease.leaseToken)
    const asked = [...orders.values()].map((order) => ({
      order,
      items: applyUnwritten(order, lease.unwritten(order.orderId)),
    }))
    writeItems(
      tx,
      tenantId,
      asked.flatMap(({ order: { orderId }, items }) => items.map((item) => ({ orderId, item }))),
      databaseNow,
    )
    const changes = asked.map(({ order }) => ({ order, profilesChanged: false }))
    await failpoint('fulfilment.asked-half-written')
    return changeOrders(tx, deps, tenantId, changes, now)
  })
  markWritten(attempts)
  await failpoint('fulfilment.after-asked')
  if (eventsToSend) deps.wake.wake('webhooks', [tenantId])
}

/**
 * Saves an eSIM or a top-up found at a supplier: delivers it if the item still needs it, otherwise keeps it as an orphan.
 * Ignores other outcomes, which prove nothing here.
 * @returns whether something was found
 */
export async function acceptFound(
  deps: FulfilmentDeps,
  tenantId: string,
  item: { orderId: string; itemNo: number; supplier: string },
  outcome: Outcome | undefined,
): Promise<boolean> {
  if (outcome === undefined || !isDelivery(outcome)) return false
  await saveOutcomes(deps, tenantId, { leaseToken: undefined }, [{ ...item, outcome }])
  return true
}

export async function acceptEsim(
  deps: FulfilmentDeps,
  tenantId: string,
  item: { orderId: string; itemNo: number; supplier: string },
  esim: DeliveredEsim,
): Promise<void> {
  await acceptFound(deps, tenantId, item, { kind: 'delivered', esim })
}

function isDelivery({ kind }: Outcome): boolean {
  return kind === 'delivered' || kind === 'toppedUp'
}

/**
 * Saves the eSIMs among answers that came too late to be saved under a lease: after our time-out, or after another worker
 * took over the order. A refusal or a retry that arrives so late proves nothing and is ignored.
 */
export async function acceptLateEsims(
  deps: FulfilmentDeps,
  tenantId: string,
  results: readonly ItemResult[],
): Promise<void> {
  const delivered = results.filter((result) => isDelivery(result.outcome))
  if (delivered.length === 0) return
  for (const { orderId, itemNo } of delivered)
    deps.log.warn({ tenantId, orderId, itemNo }, 'an eSIM or top-up arrived late')
  await saveOutcomes(deps, tenantId, { leaseToken: undefined }, delivered)
}

/**
 * Turns a delivered outcome into an unknown one if an operator has recorded the same eSIM for another item. One of the two
 * is wrong, so the eSIM is neither delivered twice nor cancelled while a traveller may hold it. The item goes to review
 * with a message that says which order has its eSIM.
 * Two more statements, sent with those that lock the orders: two index probes for each eSIM. Locks: the resolution lock,
 * shared, until the commit. The wallet and the orders are locked after it.
 */
async function doubtEsimsResolvedElsewhere(
  tx: Tx,
  linkKey: Buffer,
  results: readonly ItemResult[],
): Promise<readonly ItemResult[]> {
  const delivered = deliveredOf(results)
  if (delivered.length === 0) return results
  awaitResolving(tx)
  const rows = await tx.query<{ place: bigint; orderId: string }>({
    name: 'fulfilment-resolved-elsewhere',
    text: RECORDED,
    values: recordedValues(linkKey, delivered),
  })
  if (rows.length === 0) return results
  const doubts = new Map<ItemResult, Outcome>()
  for (const { place, orderId } of rows) {
    const { result, esim } = delivered[Number(place) - 1]!
    const message = `the supplier delivered eSIM ${esim.iccid}, which an operator recorded for an item of order ${orderNoOf(orderId)}`
    doubts.set(result, { kind: 'unknown', message })
  }
  return results.map((result) => ({ ...result, outcome: doubts.get(result) ?? result.outcome }))
}

/** Makes the same check without a round trip: fails the transaction with NOT_AS_EXPECTED if there is such an eSIM. */
function refuseEsimsResolvedElsewhere(tx: Tx, linkKey: Buffer, results: readonly ItemResult[]): void {
  const delivered = deliveredOf(results)
  if (delivered.length === 0) return
  awaitResolving(tx)
  tx.send({
    name: 'fulfilment-none-resolved-elsewhere',
    text: `select ${failUnless(`(select count(*) from (${RECORDED}) recorded) = 0`)}`,
    values: recordedValues(linkKey, delivered),
  })
}

interface Delivered {
  result: ItemResult
  esim: DeliveredEsim
}

function deliveredOf(results: readonly ItemResult[]): Delivered[] {
  return results.flatMap((result) =>
    result.outcome.kind === 'delivered' ? [{ result, esim: result.outcome.esim }] : [],
  )
}

function recordedValues(linkKey: Buffer, delivered: readonly Delivered[]): unknown[] {
  return [
    delivered.map(({ esim }) => stripIccidPadding(esim.iccid)),
    delivered.map(({ esim }) => `\\x${fingerprint(linkKey, esim.smdpAddress, esim.matchingId)}`),
    delivered.map(({ result }) => result.orderId),
    delivered.map(({ result }) => result.itemNo),
  ]
}

const RECORDED = `
  with given as (
    select * from unnest($1::text[], $2::bytea[], $3::uuid[], $4::smallint[]) with ordinality
      as g(iccid, fingerprint, order_id, item_no, place)
  )
  select g.place, p.order_id
  from given g join resolved_codes s on s.fingerprint = g.fingerprint
  join profiles p on p.tenant_id = s.tenant_id and p.order_id = s.order_id and p.iccid = s.iccid
  where p.esim_status <> 'CANCEL' and (p.order_id, p.item_no) <> (g.order_id, g.item_no)
    and exists (select from resolved_codes)
  union all
  select g.place, p.order_id
  from given g join profiles p on p.iccid = g.iccid
  where p.esim_status in ('GOT_RESOURCE', 'IN_USE') and (p.order_id, p.item_no) <> (g.order_id, g.item_no)
    and exists (select from resolved_codes) -- false for most operators, who then need no look-up
    and exists (select from resolved_codes s
                where s.tenant_id = p.tenant_id and s.order_id = p.order_id and s.iccid = p.iccid)`
