import type { DeliveredEsim } from '../suppliers/supplier.ts'
import type { Result } from './consequences.ts'
import type { FulfilmentDeps } from './deps.ts'
import { finishWork } from './finish.ts'

/*
 * That an eSIM exists is a fact, whoever brings it: it is delivered where the item still wants it, else kept as an orphan.
 */

/** Takes in an eSIM that a supplier was found to have delivered, by no attempt of ours that is still open. */
export async function takeInEsim(
  deps: FulfilmentDeps,
  tenantId: string,
  item: { orderId: string; itemNo: number; supplier: string },
  esim: DeliveredEsim,
): Promise<void> {
  await finishWork(deps, tenantId, { leaseToken: undefined }, [{ ...item, outcome: { kind: 'delivered', esim } }])
}

/**
 * Takes in the eSIMs among answers that arrived without a lease to write them under: after our time-out, or after
 * somebody took the order over. Refusals and retries that come this late say nothing.
 */
export async function takeInLateEsims(
  deps: FulfilmentDeps,
  tenantId: string,
  results: readonly Result[],
): Promise<void> {
  const arrived = results.filter((result) => result.outcome.kind === 'delivered')
  if (arrived.length === 0) return
  for (const { orderId, itemNo } of arrived) deps.log.warn({ tenantId, orderId, itemNo }, 'an eSIM arrived late')
  await finishWork(deps, tenantId, { leaseToken: undefined }, arrived)
}
