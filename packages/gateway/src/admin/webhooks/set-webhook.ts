import type { WebhookSetAnswer, WebhookSetRequest } from '@dealer-esim/contract'
import type { By } from '../../audit/audit.ts'
import { setWebhook } from '../../webhooks/endpoint/set-webhook.ts'
import type { AdminDeps } from '../open.ts'

/** webhook/set from this machine: the health check goes out from here. */
export async function setWebhookHere(
  deps: AdminDeps,
  tenantId: string,
  request: WebhookSetRequest,
  by: By,
): Promise<WebhookSetAnswer> {
  // A megabyte, and most commands dial nobody.
  const { createOutbound } = await import('../../lib/outbound/outbound.ts')
  const outbound = createOutbound()
  try {
    return await setWebhook({ ...deps, outbound }, tenantId, request, by)
  } finally {
    await outbound.close()
  }
}
