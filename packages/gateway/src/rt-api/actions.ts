import type { EsimAction } from '@dealer-esim/contract'
import { ensureAction } from '../actions/start.ts'
import type { Handler } from './call.ts'
import { RtFailure } from './failure.ts'
import { checkRequest } from './request.ts'

/**
 * Acts on an eSIM and waits for the end. The family sends no transactionId: a repeat meets the open action, and succeeds at
 * once where the eSIM is in the wanted state already.
 */
function actionHandler(operation: 'esim/cancel' | 'esim/suspend' | 'esim/unsuspend' | 'esim/revoke'): Handler {
  const action = operation.slice('esim/'.length).toUpperCase() as EsimAction
  return async (deps, { tenant, request, waitForEnd, traceWith, unsignedFrom }) => {
    const { tenantId } = tenant
    const { esimTranNo, iccid } = request
    const checked = checkRequest(operation, { transactionId: 'none', action, esimTranNo, iccid })
    const by = unsignedFrom === undefined ? undefined : { actor: 'unsigned' as const, address: unsignedFrom }
    const begun = await ensureAction(deps, tenantId, checked, by)
    if (begun === undefined) return {}
    const { actionId, orderId, isNew } = begun
    if (isNew) traceWith({ orderId, part: 'continues', actionId })
    const ended = await waitForEnd({ kind: 'ACTION', tenantId, id: actionId })
    if (ended !== 'DONE') throw new RtFailure('200002', 'The supplier of this eSIM refused it.')
    return {}
  }
}

export const actionHandlers = {
  'esim/cancel': actionHandler('esim/cancel'),
  'esim/suspend': actionHandler('esim/suspend'),
  'esim/unsuspend': actionHandler('esim/unsuspend'),
  'esim/revoke': actionHandler('esim/revoke'),
}
