import { setTimeout as delay } from 'node:timers/promises'
import type { EsimAction } from '@dealer-esim/contract'
import type { ActionOutcome, SuppliedEsim, Supplier } from '../suppliers/supplier.ts'

/**
 * Asks a supplier to carry out an action on an eSIM, outside any transaction. Never throws, and never takes longer than the
 * supplier's time-out: without an answer by then the outcome is unknown.
 */
export async function callForAction(
  supplier: Supplier,
  action: EsimAction,
  esim: SuppliedEsim,
): Promise<ActionOutcome & { down?: true }> {
  const { timeoutMs } = supplier.traits
  const timer = new AbortController()
  try {
    const answer = await Promise.race([request(supplier, action, esim), delay(timeoutMs, undefined, timer)])
    return answer ?? { kind: 'unknown', message: `no answer within ${timeoutMs / 1000} s`, down: true }
  } catch (error) {
    return { kind: 'unknown', message: error instanceof Error ? error.message : String(error) }
  } finally {
    timer.abort()
  }
}

async function request(supplier: Supplier, action: EsimAction, esim: SuppliedEsim): Promise<ActionOutcome> {
  switch (action) {
    case 'CANCEL': {
      const outcome = await supplier.cancel(esim)
      return outcome.kind === 'cancelled' ? { kind: 'done' } : outcome
    }
    case 'SUSPEND':
      return (await supplier.suspend?.(esim)) ?? CANNOT
    case 'UNSUSPEND':
      return (await supplier.unsuspend?.(esim)) ?? CANNOT
    case 'REVOKE':
      return (await supplier.revoke?.(esim)) ?? CANNOT
    default:
      return action satisfies never
  }
}

const CANNOT: ActionOutcome = { kind: 'refused', message: 'its supplier cannot do this' }
