import { failpoint } from '../../lib/process/failpoint.ts'
import type { CancelOutcome, SuppliedEsim } from '../supplier.ts'
import { isGone, isNotExecuted } from './outcome.ts'
import type { Progress } from './progress.ts'
import { type Es2plusContext, messageOf } from './purchase.ts'

/**
 * Sends CancelOrder for an eSIM that was delivered or is an orphan. A repeat is safe: its matching id belongs to no other
 * order. An SM-DP+ may answer a repeat after an executed cancellation as it answers for an installed profile, so that
 * answer is believed only if the matching id was never shown.
 */
export async function cancel(context: Es2plusContext, esim: SuppliedEsim): Promise<CancelOutcome> {
  const progress = await progressOf(context, esim)
  if (progress.step === 'CANCELLED') return { kind: 'cancelled' }
  const repeated = progress.step === 'CANCELLING'
  const before: Progress = { ...progress }
  if (!repeated && !(await context.store.advance(progress, { step: 'CANCELLING' }))) return OTHER_WORKER
  await failpoint('es2plus.before-cancel-order')
  const result = await context.client.cancelOrder({ iccid: esim.iccid, matchingId: esim.matchingId })
  await failpoint('es2plus.after-cancel-order')
  if (result.kind === 'done' || (repeated && !esim.shown && isGone(result))) {
    await context.store.advance(progress, { step: 'CANCELLED' })
    return { kind: 'cancelled' }
  }
  // A first CancelOrder that was not executed changed nothing; a repeat may fail because the first was executed. If the
  // matching id is gone, another worker may have cancelled at the same time: it found the step CANCELLING and sent, too.
  if (repeated || isGone(result) || !isNotExecuted(result)) return { kind: 'unknown', message: messageOf(result) }
  await context.store.advance(progress, { step: before.step })
  if (result.kind === 'retry') return { kind: 'unknown', message: result.message }
  return { kind: 'refused', message: messageOf(result) }
}

/** The progress of this eSIM. An operator may have recorded another eSIM under the key: it has a row of its own. */
async function progressOf(context: Es2plusContext, esim: SuppliedEsim): Promise<Progress> {
  const ordered = await context.store.find(esim.key)
  if (ordered === undefined) return context.store.adopt(esim)
  return ordered.iccid === esim.iccid ? ordered : context.store.adopt({ ...esim, key: `${esim.key} ${esim.iccid}` })
}

const OTHER_WORKER: CancelOutcome = { kind: 'unknown', message: 'another worker is processing this order' }
