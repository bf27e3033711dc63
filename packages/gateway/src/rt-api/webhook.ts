import type { Deps } from '../deps.ts'
import { findEndpoint } from '../webhooks/endpoint/endpoint.ts'
import { setWebhook } from '../webhooks/endpoint/set-webhook.ts'
import type { RtCall } from './call.ts'
import { RtFailure } from './failure.ts'
import { checkRequest } from './request.ts'

/**
 * `webhook/set` of the dealer API with one difference: the program that saves a URL here expects events in the format of
 * the family, so this chooses it.
 * @throws RtFailure 000105; ApiError 000108, 400101, 400102, 101007
 */
export async function saveWebhook(deps: Deps, { tenant, request, headers, address }: RtCall): Promise<object> {
  const { webhook } = request
  if (webhook === undefined) throw new RtFailure('000105', 'Send webhook, an https address.')
  const checked = checkRequest('webhook/set', { callbackUrl: webhook })
  const { tenantId } = tenant
  const accepted = { tenantId, requestId: headers.requestId, timestampMs: Number(headers.timestamp) }
  const change = { ...checked, enabled: true, eventFormat: 'RT' } as const
  await setWebhook(deps, tenantId, change, { actor: 'tenant', address }, accepted)
  return {}
}

/** "" while no address is set. */
export async function queryWebhook(deps: Deps, { tenant }: RtCall): Promise<object> {
  const endpoint = await findEndpoint(deps.db, deps.cipher, tenant.tenantId)
  return { webhook: endpoint?.callbackUrl ?? '' }
}
