import { setTimeout as delay } from 'node:timers/promises'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { rootSpanIdOf, type Span, traceIdOf } from '@dealer-esim/lib/telemetry/traces.ts'
import { withStorableMessage } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { Outcome, Supplier, SupplierRequest, TopUpRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { lacksMoney } from '#suppliers/balance/lack-of-money.ts'
import { SEND_WITHIN_MS } from './outcomes/item-transition.ts'
import type { FulfilmentDeps } from './outcomes/outcome-deps.ts'
import type { Attempt, ItemResult } from './outcomes/outcome-items.ts'
import { acceptLateEsims } from './outcomes/save-outcomes.ts'

/** The attempts in one call: same supplier, operation and group, at most the supplier's batch size. */
export type SupplierCall = [Attempt, ...Attempt[]]

export function groupIntoCalls(attempts: readonly Attempt[]): SupplierCall[] {
  const open = new Map<string, SupplierCall>()
  const calls: SupplierCall[] = []
  for (const attempt of attempts) {
    const { supplier } = attempt.supplied
    const group = supplier.traits.groupOf?.(attempt.productCode) ?? ''
    const key = `${supplier.name} ${attempt.operation} ${group}`
    const call = open.get(key)
    if (call && call.length < supplier.traits.batch) {
      call.push(attempt)
      continue
    }
    const next: SupplierCall = [attempt]
    open.set(key, next)
    calls.push(next)
  }
  return calls
}

/**
 * Sends one call, outside any transaction, and returns the outcome of each attempt. Never throws and never takes longer than
 * the supplier's time-out: an attempt that is not answered by then is unknown. An eSIM that arrives later is still saved.
 * @param claimStartedAt monotonic
 */
export async function callSupplier(
  deps: FulfilmentDeps,
  tenantId: string,
  call: SupplierCall,
  claimStartedAt: number,
): Promise<ItemResult[]> {
  const { supplied, operation } = call[0]
  const { supplier, gate } = supplied
  const startedAt = deps.clock.monotonic()
  if (startedAt - claimStartedAt > SEND_WITHIN_MS) {
    // Another worker may already assume that this call has ended, so it must no longer be sent.
    gate.release(tenantId, call.length)
    const message = 'not sent: too much time had passed since the claim'
    return resultsOf(call, [], operation !== 'QUERY' ? { kind: 'retry', message } : { kind: 'unknown', message })
  }
  await failpoint('fulfilment.before-call')
  const requests = call.map((attempt): SupplierRequest => {
    const { orderId, itemNo, key, productCode, reference, guard, periodNum, topUp } = attempt
    return { tenantId, orderId, itemNo, key, productCode, reference, guard, periodNum, topUp }
  })
  const answering = request(supplier, operation, requests)
  const answers = await inTime(answering, supplier.traits.timeoutMs)
  const late: Outcome = {
    kind: 'unknown',
    message: `no answer within ${supplier.traits.timeoutMs / 1000} s`,
    down: true,
  }
  const results = resultsOf(call, answers ?? [], late)
  const down = results.every(({ outcome }) => 'down' in outcome && outcome.down === true)
  const durationMs = deps.clock.monotonic() - startedAt
  gate.complete(tenantId, call.length, durationMs, down)
  // Set before the orders are saved, because they are claimed again immediately.
  if (lacksMoney(results.map(({ outcome }) => outcome)) !== undefined) gate.lacksMoney = true
  const outcomes = results.map(({ outcome }) => outcome.kind)
  deps.supplierMetrics?.called(supplier.name, operation, outcomes, durationMs)
  for (const [index, attempt] of call.entries()) {
    deps.traces?.add(spanOf(attempt, results[index]!.outcome, { tenantId, endedAt: deps.clock.now(), durationMs }))
  }
  if (answers === undefined) {
    answering.then(
      (outcomes) =>
        acceptLateEsims(deps, tenantId, resultsOf(call, outcomes, late)).catch((error) =>
          deps.log.error(
            { err: error, tenantId },
            'a late answer could not be saved: the supplier will be asked again',
          ),
        ),
      () => {}, // a failure this late proves nothing
    )
  }
  return results
}

/** One span for each eSIM: a call may contain eSIMs of several orders. */
function spanOf(
  { orderId, supplied, operation, key }: Attempt,
  outcome: Outcome,
  { tenantId, endedAt, durationMs }: { tenantId: string; endedAt: number; durationMs: number },
): Span {
  const { name, type } = supplied.supplier
  return {
    traceId: traceIdOf(orderId),
    parentSpanId: rootSpanIdOf(orderId),
    name: `${operation.toLowerCase()} ${name}`,
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
    ...('message' in outcome ? { error: outcome.message } : {}),
  }
}

const CANNOT_TOP_UP: Outcome = { kind: 'refused', message: 'the supplier cannot top up an eSIM' }

/** Calls the supplier. Async, so that a supplier that throws synchronously rejects in the same way. */
async function request(
  supplier: Supplier,
  operation: Attempt['operation'],
  requests: SupplierRequest[],
): Promise<Outcome[]> {
  switch (operation) {
    case 'ORDER':
      return supplier.order(requests)
    case 'TOPUP':
      if (supplier.topUp === undefined) return requests.map(() => CANNOT_TOP_UP)
      return supplier.topUp(requests as TopUpRequest[])
    case 'QUERY':
      return supplier.query(requests, 'RESUME')
    default:
      return operation satisfies never
  }
}

/** Pairs attempts with their outcomes. Attempts without an outcome get `otherwise`. */
function resultsOf(call: SupplierCall, outcomes: readonly Outcome[], otherwise: Outcome): ItemResult[] {
  return call.map((attempt, index) => ({
    orderId: attempt.orderId,
    itemNo: attempt.itemNo,
    attempt,
    outcome: withStorableMessage(outcomes[index] ?? otherwise),
  }))
}

/** @returns undefined after the time-out; no outcomes if the call throws */
async function inTime(answering: Promise<Outcome[]>, timeoutMs: number): Promise<Outcome[] | undefined> {
  const timer = new AbortController()
  try {
    return await Promise.race([answering, delay(timeoutMs, undefined, { signal: timer.signal })])
  } catch {
    return []
  } finally {
    timer.abort()
  }
}
