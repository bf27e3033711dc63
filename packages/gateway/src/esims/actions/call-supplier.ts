import { setTimeout as delay } from 'node:timers/promises'
import type { EsimAction } from '@dealer-esim/contract'
import type { ActionOutcome, SuppliedEsim, Supplier } from '@dealer-esim/wholesalers/supplier.ts'

/**
 * Asks a supplier to carry out an action on an eSIM, outside any transaction. Never throws, and never takes longer than the
 * supplier's time-out: if there is no answer by then, the outcome is unknown.
 * @param actionKey undefined: for cancelling an eSIM that no dealer has
 */
export async function callForAction(
  supplier: Supplier,
  action: EsimAction,
  esim: SuppliedEsim,
  actionKey: string | undefined,
): Promise<ActionOutcome & { down?: true }> {
  const { timeoutMs } = supplier.traits
  const timer = new AbortController()
  try {
    const answer = await Promise.race([request(supplier, action, esim, actionKey), delay(timeoutMs, undefined, timer)])
    return answer ?? { kind: 'unknown', message: `no answer within ${timeoutMs / 1000} s`, down: true }
  } catch (error) {
    return { kind: 'unknown', message: error instanceof Error ? error.message : String(error) }
  } finally {
    timer.abort()
  }
}

async function request(
  supplier: Supplier,
  action: EsimAction,
  esim: SuppliedEsim,
  actionKey: string | undefined,
): Promise<ActionOutcome> {
  if (action === 'CANCEL') {
    const outcome = await supplier.cancel(esim, actionKey)
    return outcome.kind === 'cancelled' ? { kind: 'done' } : outcome
  }
  const method = ({ SUSPEND: 'suspend', UNSUSPEND: 'unsuspend', REVOKE: 'revoke' } as const)[action]
  return (await supplier[method]?.(esim, actionKey!)) ?? CANNOT
}

const CANNOT: ActionOutcome = { kind: 'refused', message: 'its supplier cannot do this' }
