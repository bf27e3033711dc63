import { type Columns, NULL, plainArray, textArray, unnest, uuidArray } from '../../lib/postgres/columns.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import type { LockedItem, LockedOrder } from '../../orders/lock.ts'
import type { ConfiguredSupplier } from '../../suppliers/registry.ts'
import type { Outcome, PriceGuard, ToppedUpEsim } from '../../suppliers/supplier.ts'

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
  /** The amount that counts towards the supplier's daily spend limit, if it has one. */
  spend?: bigint | null
  /** The eSIM that a TOPUP order adds to. */
  topUp?: ToppedUpEsim | undefined
  /** The supplier's own name of the purchase that a QUERY is about, if it gave one. */
  reference?: string | undefined
  startedAt: Date
  /** When the item was first asked for. */
  requestedAt: Date
  /** Start of the latest earlier purchase that the supplier may still be processing, or null. */
  doubtSince: Date | null
  /** The item as this attempt left it, until its row is written (orders/lock.ts, readAskedItems). */
  unwritten?: LockedItem | undefined
}

/** Brings locked items into the state in which these attempts left them. @returns the items that were changed */
export function applyUnwritten(order: LockedOrder, attempts: readonly Attempt[]): LockedItem[] {
  return attempts.flatMap(({ itemNo, unwritten }) => {
    const item = order.items.find((one) => one.itemNo === itemNo)
    // The item may have been written since, for example because an eSIM arrived in another way.
    if (unwritten === undefined || item?.itemStatus !== 'WAITING') return []
    return [Object.assign(item, unwritten)]
  })
}

/** Marks attempts whose items' rows are written. */
export function markWritten(attempts: Iterable<Attempt>): void {
  for (const attempt of attempts) attempt.unwritten = undefined
}

/** The outcome for one item. It has no attempt if no supplier could be asked, or an eSIM was found in another way. */
export interface ItemResult {
  orderId: string
  itemNo: number
  outcome: Outcome
  attempt?: Attempt
  /** The supplier of an eSIM that was found without an attempt. */
  supplier?: string
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

// No index has these columns, so this is a HOT update. The ids appear twice: the array finds the rows by the primary key.
const FINISH_ATTEMPTS = `
  update supplier_attempts a set finished_at = coalesce(a.finished_at, $2),
    outcome = coalesce(a.outcome, f.outcome), message = case when a.outcome is null then f.message else a.message end,
    reference = coalesce(a.reference, f.reference)
  from ${unnest(3, FINISHED, 'f')}
  where a.tenant_id = $1 and a.attempt_id = any ($3::uuid[]) and a.attempt_id = f.attempt_id
    and (a.outcome is null or a.reference is null and f.reference is not null)`
