import { setTimeout as delay } from 'node:timers/promises'
import { failpoint } from '../lib/process/failpoint.ts'
import { rootSpanIdOf, type Span, traceIdOf } from '../lib/telemetry/traces.ts'
import type { Outcome, Supplier, SupplierRequest } from '../suppliers/supplier.ts'
import type { Attempt } from './claiming/claim.ts'
import type { ItemResult } from './outcomes/apply-outcome.ts'
import { withStorableMessage } from './outcomes/attempts.ts'
import type { FulfilmentDeps } from './outcomes/deps.ts'
import { SEND_WITHIN_MS } from './outcomes/outcome.ts'
import { acceptLateEsims } from './outcomes/save-outcomes.ts'

/** Attempts that go to a supplier in one call: one supplier, one operation, one group, no more than its batch. */
export type SupplierCall = [Attempt, ...Attempt[]]

export function groupIntoCalls(attempts: readonly Attempt[]): SupplierCall[] {
  const open = new Map<string, SupplierCall>()
  const parcels: SupplierCall[] = []
  for (const attempt of attempts) {
    const { supplier } = attempt.supplied
    const group = supplier.traits.groupOf?.(attempt.productCode) ?? ''
    const key = `${supplier.name} ${attempt.operation} ${group}`
    const parcel = open.get(key)
    if (parcel && parcel.length < supplier.traits.batch) {
      parcel.push(attempt)
      continue
    }
    const next: SupplierCall = [attempt]
    open.set(key, next)
    parcels.push(next)
  }
  return parcels
}

/**
 * Sends one parcel, outside any transaction, and says what became of each attempt. Never throws and never takes longer
 * than the supplier's time-out: what has not come by then is unknown. What comes later still counts if it is an eSIM.
 */
export async function callSupplier(
  deps: FulfilmentDeps,
  tenantId: string,
  parcel: SupplierCall,
  begunAt: number,
): Promise<ItemResult[]> {
  const { supplied, operation } = parcel[0]
  const { supplier, gate } = supplied
  const startedAt = deps.clock.monotonic()
  if (startedAt - begunAt > SEND_WITHIN_MS) {
    // Somebody may believe by now that this call is over. It was not made, and is not made any more.
    gate.giveBack(tenantId, parcel.length)
    const words = 'not sent: too much time had passed since it was decided'
    return resultsOf(parcel, [], operation === 'ORDER' ? { kind: 'retry', words } : { kind: 'unknown', words })
  }
  await failpoint('fulfilment.before-call')
  const requests = parcel.map((attempt): SupplierRequest => {
    const { orderId, itemNo, key, productCode, guard } = attempt
    return { tenantId, orderId, itemNo, key, productCode, guard }
  })
  const calling = ask(supplier, operation, requests)
  const answered = await inTime(calling, supplier.traits.timeoutMs)
  const late: Outcome = {
    kind: 'unknown',
    words: `no answer within ${supplier.traits.timeoutMs / 1000} s`,
    down: true,
  }
  const results = resultsOf(parcel, answered ?? [], late)
  const down = results.every(({ outcome }) => 'down' in outcome && outcome.down === true)
  const durationMs = deps.clock.monotonic() - startedAt
  gate.done(tenantId, parcel.length, durationMs, down)
  const outcomes = results.map(({ outcome }) => outcome.kind)
  deps.supplierMetrics?.called(supplier.name, operation, outcomes, durationMs)
  for (const [index, attempt] of parcel.entries()) {
    deps.traces?.add(spanOf(attempt, results[index]!.outcome, { tenantId, endedAt: deps.clock.now(), durationMs }))
  }
  if (answered === undefined) {
    calling.then(
      (outcomes) =>
        acceptLateEsims(deps, tenantId, resultsOf(parcel, outcomes, late)).catch((error) =>
          deps.log.error({ err: error, tenantId }, 'a late answer could not be written: its supplier is asked again'),
        ),
      () => {}, // a failure this late says nothing
    )
  }
  return results
}

/** One for each eSIM: a call may carry those of several orders. */
function spanOf(
  { orderId, supplied, operation, key }: Attempt,
  outcome: Outcome,
  { tenantId, endedAt, durationMs }: { tenantId: string; endedAt: number; durationMs: number },
): Span {
  const { name, type } = supplied.supplier
  return {
    traceId: traceIdOf(orderId),
    parentSpanId: rootSpanIdOf(orderId),
    name: `${operation === 'ORDER' ? 'order' : 'query'} ${name}`,
    kind: 'CLIENT',
    endedAt,
    durationMs,
    attributes: {
      'dealer_esim.tenant_id': tenantId,
      'dealer_esim.supplier': name,
      'dealer_esim.supplier_type': type,
      'dealer_esim.key': key,
      'dealer_esim.outcome': outcome.kind,
    },
    ...('words' in outcome ? { error: outcome.words } : {}),
  }
}

/** One that throws at once has answered as little as one that throws later. */
async function ask(
  supplier: Supplier,
  operation: Attempt['operation'],
  requests: SupplierRequest[],
): Promise<Outcome[]> {
  return operation === 'ORDER' ? supplier.order(requests) : supplier.query(requests, 'RESUME')
}

/** Fewer outcomes than requests: of the rest nothing is known. */
function resultsOf(parcel: SupplierCall, outcomes: readonly Outcome[], otherwise: Outcome): ItemResult[] {
  return parcel.map((attempt, index) => ({
    orderId: attempt.orderId,
    itemNo: attempt.itemNo,
    attempt,
    outcome: withStorableMessage(outcomes[index] ?? otherwise),
  }))
}

/** undefined when it took too long; a call that threw answered nothing that can be understood. */
async function inTime(calling: Promise<Outcome[]>, timeoutMs: number): Promise<Outcome[] | undefined> {
  const timer = new AbortController()
  try {
    return await Promise.race([calling, delay(timeoutMs, undefined, { signal: timer.signal })])
  } catch {
    return []
  } finally {
    timer.abort()
  }
}
