import type { Tx } from '../../lib/postgres/db.ts'
import type { ConfiguredSupplier } from '../../suppliers/registry.ts'
import type { Outcome, PriceGuard } from '../../suppliers/supplier.ts'

/** A committed attempt at one item. Only the worker that committed it sends it to the supplier. */
export interface Attempt {
  attemptId: string
  orderId: string
  itemNo: number
  key: string
  supplied: ConfiguredSupplier
  productCode: string
  guard?: PriceGuard | undefined
  operation: 'ORDER' | 'QUERY'
  startedAt: Date
  /** Start of the latest earlier purchase that the supplier may still be processing; null: there is none. */
  doubtSince: Date | null
}

/** The outcome for one item. Without an attempt: no supplier could be asked, or an eSIM was found in another way. */
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
    text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
             started_at)
           select $1, a.*, $7, $8
           from unnest($2::uuid[], $3::uuid[], $4::smallint[], $5::text[], $6::text[]) as a`,
    values: [
      tenantId,
      attempts.map((attempt) => attempt.attemptId),
      attempts.map((attempt) => attempt.orderId),
      attempts.map((attempt) => attempt.itemNo),
      attempts.map((attempt) => attempt.supplied.supplier.name),
      attempts.map((attempt) => attempt.operation),
      leaseToken,
      attempts[0]!.startedAt,
    ],
  })
}

export function finishAttempts(tx: Tx, tenantId: string, results: readonly ItemResult[], now: Date): void {
  const finished = results.filter((result) => result.attempt !== undefined)
  if (finished.length === 0) return
  tx.send({
    name: 'fulfilment-finish-attempts',
    text: `update supplier_attempts a set finished_at = $5, outcome = f.outcome, message = f.message
           from unnest($2::uuid[], $3::text[], $4::text[]) as f(attempt_id, outcome, message)
           where a.tenant_id = $1 and a.attempt_id = f.attempt_id and a.outcome is null`,
    values: [
      tenantId,
      finished.map((result) => result.attempt!.attemptId),
      finished.map((result) => result.outcome.kind),
      finished.map((result) => ('message' in result.outcome ? result.outcome.message : null)),
      now,
    ],
  })
}

/** A supplier's message is stored with the eSIM, its attempt and its refund: nobody needs more of it than this. */
const MESSAGE_LENGTH_MAX = 300

/**
 * The answer with a message that PostgreSQL can store. It would refuse control characters and lone surrogates, and with
 * them the whole outcome, a refund included.
 */
export function withStorableMessage<Answer extends object>(answer: Answer): Answer {
  return 'message' in answer ? { ...answer, message: storable(String(answer.message)) } : answer
}

function storable(message: string): string {
  const kept = message.length > MESSAGE_LENGTH_MAX ? `${message.slice(0, MESSAGE_LENGTH_MAX)}…` : message
  return kept.replace(/[\p{Cc}\p{Cs}]/gu, ' ')
}
