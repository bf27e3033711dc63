import { failpoint } from '../../lib/process/failpoint.ts'
import type { CancelOutcome, SuppliedEsim } from '../supplier.ts'
import { isGone, isNotExecuted } from './outcome.ts'
import type { Progress } from './progress.ts'
import { type Es2plusContext, messageOf } from './purchase.ts'

/**
 * CancelOrder for an eSIM that was delivered, or is an orphan. A repeat is safe: it names our matching id, which is of no
 * other order. What it is answered when the first was executed, an SM-DP+ may also say of a profile that was installed;
 * so it is believed only where nobody ever saw the matching id to install it with.
 */
export async function cancel(desk: Es2plusContext, esim: SuppliedEsim): Promise<CancelOutcome> {
  const progress = await progressOf(desk, esim)
  if (progress.step === 'CANCELLED') return { kind: 'cancelled' }
  const repeated = progress.step === 'CANCELLING'
  const before: Progress = { ...progress }
  if (!repeated && !(await desk.progressStore.advance(progress, { step: 'CANCELLING' }))) return OTHER_WORKER
  await failpoint('es2plus.before-cancel-order')
  const result = await desk.client.cancelOrder({ iccid: esim.iccid, matchingId: esim.matchingId })
  await failpoint('es2plus.after-cancel-order')
  if (result.kind === 'done' || (repeated && !esim.shown && isGone(result))) {
    await desk.progressStore.advance(progress, { step: 'CANCELLED' })
    return { kind: 'cancelled' }
  }
  // A first CancelOrder that was not executed changed nothing; a repeated one may fail because the first was. One that
  // leads nowhere may fail because another was sent beside it: whoever comes second finds us CANCELLING, and sends as well.
  if (repeated || isGone(result) || !isNotExecuted(result)) return { kind: 'unknown', message: messageOf(result) }
  await desk.progressStore.advance(progress, { step: before.step })
  if (result.kind === 'retry') return { kind: 'unknown', message: result.message }
  return { kind: 'refused', message: messageOf(result) }
}

/** Of this eSIM. An operator may have told of another than we ordered under its key: what became of ours says nothing of it. */
async function progressOf(desk: Es2plusContext, esim: SuppliedEsim): Promise<Progress> {
  const ordered = await desk.progressStore.find(esim.key)
  if (ordered === undefined) return desk.progressStore.adopt(esim)
  return ordered.iccid === esim.iccid
    ? ordered
    : desk.progressStore.adopt({ ...esim, key: `${esim.key} ${esim.iccid}` })
}

const OTHER_WORKER: CancelOutcome = { kind: 'unknown', message: 'another worker is at this order' }
