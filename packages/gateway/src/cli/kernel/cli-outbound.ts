import type { WebhookSetAnswer } from '@dealer-esim/contract'
import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { By } from '#platform/audit/audit.ts'
import { loadSuppliers, type Suppliers } from '#suppliers/supplier-registry.ts'
import { type SetWebhookOptions, setWebhook, type WebhookChange } from '#webhooks/endpoint/set-webhook.ts'
import type { AdminDeps } from './cli-deps.ts'

/** Creates the suppliers for one command and closes their connections afterwards. */
export async function withSuppliers<Result>(
  deps: AdminDeps,
  work: (suppliers: Suppliers) => Promise<Result>,
): Promise<Result> {
  return withOutbound(deps, async (outbound) => work(await loadSuppliers({ ...deps, outbound })))
}

/** Sets a callback URL. The health check is sent from this process. */
export async function setWebhookHere(
  deps: AdminDeps,
  tenantId: string,
  request: WebhookChange,
  by: By,
  options: SetWebhookOptions = {},
): Promise<WebhookSetAnswer> {
  return withOutbound(deps, (outbound) => setWebhook({ ...deps, outbound }, tenantId, request, by, options))
}

/** Opens connections for one command and closes them afterwards. */
export async function withOutbound<Result>(
  { clock }: Pick<AdminDeps, 'clock'>,
  work: (outbound: Outbound) => Promise<Result>,
): Promise<Result> {
  // Loaded here because it takes a megabyte, and most commands open no outgoing connections.
  const { createOutbound } = await import('@dealer-esim/lib/outbound/outbound.ts')
  const outbound = createOutbound({ clock })
  try {
    return await work(outbound)
  } finally {
    await outbound.close()
  }
}
