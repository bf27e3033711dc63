import {
  type Columns,
  NULL,
  plainArray,
  textArray,
  timeArray,
  unnest,
  uuidArray,
} from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Charge, Outcome, PriceGuard, ToppedUpEsim } from '@dealer-esim/wholesalers/supplier.ts'
import type { LockedItem, LockedOrder } from '#orders/lock-orders.ts'
import type { ConfiguredSupplier } from '#suppliers/supplier-registry.ts'

/** A committed attempt at one item. Only the worker that committed it sends it to the supplier. */
export interface Attempt {
  attemptId: string
  orderId: string
  itemNo: number
  key: string
  supplied: ConfiguredSupplier
  productCode: string
  guard?: PriceGuard | undefined
  operation: 'ORDER' | 'TOPUP' | 'QUERY'
  /** Days of a day pass. */
  periodNum?: number | undefined
  /** The amount that counts towards the supplier's daily spend limit, if there is one. */
  spend?: bigint | null
  /** The eSIM that a TOPUP order adds to. */
  topUp?: ToppedUpEsim | undefined
  /** The supplier's reference for the purchase that a QUERY is about, if it gave one. */
  reference?: string | undefined
  startedAt: Date
  /** When the item was first requested. */
  requestedAt: Date
  /** Start of the latest earlier purchase that the supplier may still be processing, or null. */
  doubtSince: Date | null
  /** The item as this attempt left it, until its row is written (orders/lock-orders.ts, readAskedItems). */
  unwritten?: LockedItem | undefined
}

/** Puts locked items into the state after these attempts. @returns the changed items */
export function applyUnwritten(order: LockedOrder, attempts: readonly Attempt[]): LockedItem[] {
  return attempts.flatMap(({ itemNo, unwritten }) => {
    const item = order.items.find((one) => one.itemNo === itemNo)
    // The item may have been written since, for example because an eSIM arrived in another way.
    if (unwritten === undefined || item?.itemStatus !== 'WAITING') return []
    return [Object.assign(item, unwritten)]
  })
}

/** Marks attempts whose items' rows have been written. */
export function markWritten(attempts: Iterable<Attempt>): void {
  for (const attempt of attempts) attempt.unwritten = undefined
}

/** The outcome for one item. It has no attempt if no supplier could be called, or if an eSIM was found in another way. */
export interface ItemResult {
  orderId: string
  itemNo: number
  outcome: Outcome
  attempt?: Attempt
  /** The supplier of an eSIM that was found without an attempt. */
  supplier?: string
  /**
   * The product that this supplier was, or would be, asked for, if it has decided for good: it answers calls in progress alike,
   * so a refusal counts in every state.
   */
  decidedProduct?: string
}

export function insertAttempts(tx: Tx, tenantId: string, leaseToken: string, attempts: readonly Attempt[]): void {
  if (attempts.length === 0) return
  tx.send({
    name: 'fulfilment-attempts',
    text: INSERT_ATTEMPTS,
    values: [
      tenantId,
      leaseToken,
      attempts[0]!.startedAt,
      uuidArray(attempts.map((attempt) => attempt.attemptId)),
      uuidArray(attempts.map((attempt) => attempt.orderId)),
      plainArray(attempts.map((attempt) => attempt.itemNo)),
      textArray(attempts.map((attempt) => attempt.supplied.supplier.name)),
      plainArray(attempts.map((attempt) => attempt.operation)),
      textArray(attempts.map(({ unwritten }) => unwritten?.productCode ?? null)),
      plainArray(attempts.map(({ unwritten }) => unwritten?.cost ?? NULL)),
      plainArray(attempts.map(({ unwritten }) => unwritten?.costCurrency ?? NULL)),
      plainArray(attempts.map(({ unwritten }) => unwritten?.routeNo ?? NULL)),
      plainArray(attempts.map((attempt) => attempt.spend ?? NULL)),
    ],
  })
}

const ATTEMPT: Columns = {
  attempt_id: 'uuid',
  order_id: 'uuid',
  item_no: 'smallint',
  supplier: 'text',
  operation: 'text',
  product_code: 'text',
  cost: 'bigint',
  cost_currency: 'text',
  route_no: 'smallint',
  spend: 'bigint',
}
const INSERT_ATTEMPTS = `
  insert into supplier_attempts (tenant_id, lease_token, started_at, ${Object.keys(ATTEMPT).join(', ')})
  select $1::uuid, $2::uuid, $3::timestamptz, a.* from ${unnest(4, ATTEMPT, 'a')}`

/** Finishes attempts. An attempt that already has an outcome keeps it, but gets the reference of a late answer. */
export function finishAttempts(tx: Tx, tenantId: string, results: readonly ItemResult[], now: Date): void {
  const finished = results.filter((result) => result.attempt !== undefined)
  if (finished.length === 0) return
  tx.send({
    name: 'fulfilment-finish-attempts',
    text: FINISH_ATTEMPTS,
    values: [
      tenantId,
      now,
      uuidArray(finished.map(({ attempt }) => attempt!.attemptId)),
      plainArray(finished.map(({ outcome }) => outcome.kind)),
      textArray(finished.map(({ outcome }) => ('message' in outcome ? outcome.message : null))),
      textArray(finished.map(({ outcome }) => ('reference' in outcome ? (outcome.reference ?? null) : null))),
    ],
  })
}

const FINISHED: Columns = { attempt_id: 'uuid', outcome: 'text', message: 'text', reference: 'text' }

// None of these columns is indexed, so this is a HOT update. The ids appear twice: the array finds the rows by the primary
// key.
const FINISH_ATTEMPTS = `
  update supplier_attempts a set finished_at = coalesce(a.finished_at, $2),
    outcome = coalesce(a.outcome, f.outcome), message = case when a.outcome is null then f.message else a.message end,
    reference = coalesce(a.reference, f.reference)
  from ${unnest(3, FINISHED, 'f')}
  where a.tenant_id = $1 and a.attempt_id = any ($3::uuid[]) and a.attempt_id = f.attempt_id
    and (a.outcome is null or a.reference is null and f.reference is not null)`

/** Writes the changeable columns of items whose orders the caller has locked. Adds no round trip. */
export function writeItems(tx: Tx, tenantId: string, items: { orderId: string; item: LockedItem }[], now: Date): void {
  if (items.length === 0) return
  for (const { item } of items) item.updatedAt = now
  const values = [
    tenantId,
    uuidArray(items.map(({ orderId }) => orderId)),
    plainArray(items.map(({ item }) => item.itemNo)),
    plainArray(items.map(({ item }) => item.itemStatus)),
    plainArray(items.map(({ item }) => item.routeNo)),
    textArray(items.map(({ item }) => item.supplier)),
    textArray(items.map(({ item }) => item.productCode)),
    plainArray(items.map(({ item }) => item.cost ?? NULL)),
    plainArray(items.map(({ item }) => item.costCurrency ?? NULL)),
    plainArray(items.map(({ item }) => item.supplierCharge ?? NULL)),
    plainArray(items.map(({ item }) => item.supplierChargeCurrency ?? NULL)),
    plainArray(items.map(({ item }) => item.attempts)),
    timeArray(items.map(({ item }) => item.requestedAt?.getTime() ?? null)),
    timeArray(items.map(({ item }) => item.inDoubtAt?.getTime() ?? null)),
    textArray(items.map(({ item }) => item.failureReason)),
    timeArray(items.map(({ item }) => item.retryAt?.getTime() ?? null)),
    now,
  ]
  tx.send({ name: 'fulfilment-write-items', text: WRITE, values })
}

/** The key of an item in its tenant, and its changeable columns. */
const ITEM: Columns = {
  order_id: 'uuid',
  item_no: 'smallint',
  item_status: 'text',
  route_no: 'smallint',
  supplier: 'text',
  product_code: 'text',
  cost: 'bigint',
  cost_currency: 'text',
  supplier_charge: 'bigint',
  supplier_charge_currency: 'text',
  attempts: 'smallint',
  requested_at: 'timestamptz',
  in_doubt_at: 'timestamptz',
  failure_reason: 'text',
  retry_at: 'timestamptz',
}
const NOW = Object.keys(ITEM).length + 2

// None of these columns is in an index, so this is a HOT update. Each item is found by the primary key and then updated by
// its ctid: when joined by its key, the plan compared each item with all items of the dealer until there were statistics.
// The caller holds the order's lock, so the ctid does not change.
const WRITE = `
  update order_items i set item_status = c.item_status, route_no = c.route_no, supplier = c.supplier,
    product_code = c.product_code, cost = c.cost, cost_currency = c.cost_currency, supplier_charge = c.supplier_charge,
    supplier_charge_currency = c.supplier_charge_currency, attempts = c.attempts, requested_at = c.requested_at,
    in_doubt_at = c.in_doubt_at, failure_reason = c.failure_reason, retry_at = c.retry_at, updated_at = $${NOW}
  from ${unnest(2, ITEM, 'c')}
  cross join lateral (
    select ctid from order_items where tenant_id = $1 and order_id = c.order_id and item_no = c.item_no limit 1) found
  where i.ctid = found.ctid`

/** The charge for an item that the supplier did not charge for, or refunded. */
export const NOT_CHARGED: Pick<LockedItem, 'supplierCharge' | 'supplierChargeCurrency'> = {
  supplierCharge: null,
  supplierChargeCurrency: null,
}

/** Sets the item's charge; keeps the earlier one if the supplier reports none now. */
export function setSupplierCharge(item: LockedItem, charged: Charge | undefined): void {
  if (charged === undefined) return
  item.supplierCharge = charged.amount
  item.supplierChargeCurrency = charged.currencyCode
}

/** An item in a closed order whose supplier must be queried again. */
export interface WatchedItemKey {
  orderId: string
  itemNo: number
  purpose: 'REFUNDED_IN_DOUBT' | 'DELIVERED_IN_DOUBT'
}

export interface WatchedItem extends WatchedItemKey {
  /** The supplier to query. The item itself may have moved to another supplier by now. */
  supplier: string
  /** The product that was ordered there. */
  productCode: string | null
  /** Others that may have delivered it too, with the product of each, e.g. `{"airalo": "jp-7"}`; null: none. */
  otherSuppliers?: Readonly<Record<string, string>> | null
}

const DAY_MS = 86_400_000
/** An eSIM that has not arrived a month after its item closed will not arrive. The supplier's list would still show it. */
const WATCHED_MS = 30 * DAY_MS
const FIRST_ASK_MS = 60_000

/** Makes reconciliation query the supplier about the item until it answers or the time is up. */
export function watchItem(tx: Tx, tenantId: string, watched: WatchedItem, now: Date): void {
  const { orderId, itemNo, purpose, supplier, productCode, otherSuppliers = null } = watched
  tx.send({
    text: `insert into watched_items (tenant_id, order_id, item_no, purpose, supplier, product_code, due_at, give_up_at,
             other_suppliers)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing`,
    values: [
      tenantId,
      orderId,
      itemNo,
      purpose,
      supplier,
      productCode,
      new Date(now.getTime() + FIRST_ASK_MS),
      new Date(now.getTime() + WATCHED_MS),
      otherSuppliers,
    ],
  })
}

/** Ends the watch at one supplier, which has delivered. The others are still queried: each may have delivered. */
export async function unwatchItem(
  tx: Tx,
  tenantId: string,
  { orderId, itemNo, purpose }: WatchedItemKey,
  supplier: string,
): Promise<void> {
  const key = 'tenant_id = $1 and order_id = $2 and item_no = $3 and purpose = $4'
  const values = [tenantId, orderId, itemNo, purpose]
  const [row] = await tx.query<{ supplier: string; otherSuppliers: Record<string, string> | null }>({
    text: `select supplier, other_suppliers from watched_items where ${key} for update`,
    values,
  })
  const others = Object.entries(row?.otherSuppliers ?? {}).filter(([name]) => name !== supplier)
  if (row?.supplier === supplier) {
    const [next, ...rest] = others
    if (next === undefined) tx.send({ text: `delete from watched_items where ${key}`, values })
    else {
      tx.send({
        text: `update watched_items set supplier = $5, product_code = $6, other_suppliers = $7 where ${key}`,
        values: [...values, ...next, Object.fromEntries(rest)],
      })
    }
  } else if (row !== undefined) {
    tx.send({
      text: `update watched_items set other_suppliers = $5 where ${key}`,
      values: [...values, Object.fromEntries(others)],
    })
  }
}
