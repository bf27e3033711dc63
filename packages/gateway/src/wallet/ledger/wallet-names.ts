import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'

/** The tenant's name and the currency of each wallet, for displaying amounts. */
export async function listWalletNames(
  db: Pick<Db, 'query'>,
  tenantIds: readonly string[],
): Promise<Map<string, { clientName: string; currencyCode: string }>> {
  const rows = await db.query<{ tenantId: string; clientName: string; currencyCode: string }>(sql`
    select t.tenant_id, t.tenant_name as client_name, w.currency_code
    from tenants t join wallets w using (tenant_id)
    where t.tenant_id = any (${[...new Set(tenantIds)]})`)
  return new Map(rows.map(({ tenantId, ...names }) => [tenantId, names]))
}
