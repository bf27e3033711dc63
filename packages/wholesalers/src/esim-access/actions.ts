import type { EsimAction } from '@dealer-esim/contract'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import type { ActionOutcome, SuppliedEsim } from '#supplier.ts'
import type { Call } from './client.ts'
import { findEsim } from './find.ts'
import { NOT_IN_THIS_STATE, outcomeOfFailedAction } from './outcome.ts'

const OPERATIONS: Readonly<Record<EsimAction, string>> = {
  CANCEL: 'esim/cancel',
  SUSPEND: 'esim/suspend',
  UNSUSPEND: 'esim/unsuspend',
  REVOKE: 'esim/revoke',
}

/**
 * Carries out an action on the eSIM by its own number, because an ICCID may have been sold again. The interface does not
 * accept a key for actions, so the state of the eSIM shows whether an earlier call was executed.
 */
export async function act(call: Call, action: EsimAction, esim: SuppliedEsim): Promise<ActionOutcome> {
  const before = await findEsim(call, esim)
  if ('failure' in before) return { kind: 'unknown', message: before.failure.message }
  if (before.value === undefined) return { kind: 'refused', message: 'the wholesaler has no such eSIM' }
  const { esimTranNo, status } = before.value
  if (isDone(action, status)) return { kind: 'done' }
  if (esimTranNo === undefined) return { kind: 'unknown', message: 'the wholesaler names no esimTranNo' }
  const answer = await call(OPERATIONS[action], { esimTranNo })
  await failpoint('esim-access.acted')
  if (answer.kind === 'done') return { kind: 'done' }
  if (answer.kind === 'failed' && answer.code === NOT_IN_THIS_STATE) {
    // An earlier call whose answer was lost may have been executed in the meantime.
    const after = await findEsim(call, esim)
    if ('failure' in after) return { kind: 'unknown', message: answer.message }
    const status = after.value?.status
    if (isDone(action, status) || (action === 'UNSUSPEND' && IN_SERVICE.includes(status))) return { kind: 'done' }
  }
  return outcomeOfFailedAction(answer)
}

/** Sends an SMS to the eSIM, by its own number, too. */
export async function sendSms(call: Call, esim: SuppliedEsim, message: string): Promise<ActionOutcome> {
  const found = await findEsim(call, esim)
  // Nothing was sent yet, whatever the failure.
  if ('failure' in found) return { kind: 'refused', message: found.failure.message }
  const esimTranNo = found.value?.esimTranNo
  if (esimTranNo === undefined) return { kind: 'refused', message: 'the wholesaler has no such eSIM' }
  const answer = await call('esim/sendSms', { esimTranNo, message })
  if (answer.kind === 'done') return { kind: 'done' }
  if (answer.kind === 'none' && !answer.sent) return { kind: 'refused', message: answer.message }
  return outcomeOfFailedAction(answer)
}

/** An eSIM in one of these states is not suspended. */
const IN_SERVICE: readonly (string | undefined)[] = ['GOT_RESOURCE', 'IN_USE']

function isDone(action: EsimAction, status: string | undefined): boolean {
  switch (action) {
    case 'CANCEL':
      return status === 'CANCEL'
    case 'SUSPEND':
      return status === 'SUSPENDED'
    case 'UNSUSPEND':
      return false
    case 'REVOKE':
      return status === 'REVOKE' || status === 'REVOKED'
    default:
      return action satisfies never
  }
}
