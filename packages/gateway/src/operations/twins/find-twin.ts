import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'

export interface TwinView {
  tenantId: string
  liveTenantId: string
  appKey: string
  clientName: string
  currencyCode: string
  balance: bigint
  resets: number
  createdAt: Date
}

/** @param twins undefined: no dealer has a twin. @returns undefined if this dealer has none */
export async function findTwin(
  twins: { db: Pick<Db, 'query'> } | undefined,
  typedId: string,
): Promise<TwinView | undefined> {
  const liveTenantId = requireUuid(typedId, 'tenant')
  const rows = await twins?.db.query<TwinView>(sql`
    select t.tenant_id, live_tenant_id, t.app_key, t.tenant_name as client_name, t.currency_code, w.balance, resets,
           twins.created_at
    from twins join tenants t on t.tenant_id = twins.tenant_id join wallets w on w.tenant_id = twins.tenant_id
    where live_tenant_id = ${liveTenantId}`)
  return rows?.[0]
}

/** @throws Refusal if the live dealer has no twin */
export async function getTwin(...of: Parameters<typeof findTwin>): Promise<TwinView> {
  const twin = await findTwin(...of)
  if (twin) return twin
  throw new Refusal(409, 'NO_TWIN', 'The dealer has no test twin.')
}
