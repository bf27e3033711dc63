import type { EventFormat } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql, { empty, type Sql } from 'sql-template-tag'
import { unsignedFault } from './allowlist.ts'
import type { SellsThrough } from './change-tenant.ts'

/** A tenant in a list. */
export interface TenantSummary {
  tenantId: string
  appKey: string
  clientName: string
  currencyCode: string
  status: 'ACTIVE' | 'SUSPENDED'
  balance: bigint
  createdAt: Date
}

/** A tenant with all its settings. Its valid secrets are listed without their values. */
export interface TenantView extends TenantSummary {
  ipAllowlist: string[]
  unsignedRequests: boolean
  /** The reason why requests without a signature cannot be accepted; null: they can, if the operator allows them. */
  unsignedFault: string | null
  qpsLimit: number | null
  sellsThrough: SellsThrough
  creditLimit: bigint
  dailySpendLimit: bigint | null
  lowBalanceThreshold: bigint | null
  legalName: string | null
  taxId: string | null
  billingAddress: string | null
  billingEmail: string | null
  callbackUrl: string | null
  eventFormat: EventFormat
  secrets: { secretId: string; createdAt: Date; validUntil: Date | null; provenAt: Date | null }[]
  updatedAt: Date
}

const PAGE_MAX = 500

export const SUMMARY = sql`
  t.tenant_id, t.app_key, t.tenant_name as client_name, t.currency_code,
  t.status, t.created_at, w.balance`

/**
 * Lists tenants, newest first. A keyword is part of a name, or a whole AppKey. The next page starts `after` the last tenant
 * of this one.
 */
export async function listTenants(
  db: Pick<Db, 'query'>,
  page: {
    limit?: number
    after?: string | undefined
    keyword?: string | undefined
    status?: 'ACTIVE' | 'SUSPENDED' | undefined
  } = {},
): Promise<TenantSummary[]> {
  const { after, keyword, status, limit = PAGE_MAX } = page
  return db.query<TenantSummary>(sql`
    select ${SUMMARY}
    from tenants t join wallets w using (tenant_id)
    where true
      ${after === undefined ? empty : sql`and t.tenant_id < ${requireUuid(after, 'tenant')}`}
      ${status === undefined ? empty : sql`and t.status = ${status}`}
      ${keyword === undefined ? empty : sql`and ${matches(keyword)}`}
    order by t.tenant_id desc
    limit ${Math.min(limit, PAGE_MAX)}`)
}

/** SQL: true if the keyword is part of the name, or the whole AppKey. */
export function matches(keyword: string): Sql {
  return sql`(strpos(lower(t.tenant_name), lower(${keyword})) > 0 or t.app_key = ${keyword})`
}

/** Lists all tenants that match the filter, newest first. */
export async function listAllTenants(
  db: Pick<Db, 'query'>,
  filter: { keyword?: string; status?: 'ACTIVE' | 'SUSPENDED' } = {},
): Promise<TenantSummary[]> {
  const tenants: TenantSummary[] = []
  for (;;) {
    const last = tenants.at(-1)
    const page = await listTenants(db, { ...filter, ...(last ? { after: last.tenantId } : {}) })
    tenants.push(...page)
    if (page.length < PAGE_MAX) return tenants
  }
}

/** @throws Refusal for a tenant that does not exist */
export async function getTenantView(
  { db, cipher }: { db: Pick<Db, 'query'>; cipher: Pick<Cipher, 'decrypt'> },
  tenantId: string,
): Promise<TenantView> {
  const id = requireUuid(tenantId, 'tenant')
  const [row] = await db.query<
    Omit<TenantView, 'callbackUrl' | 'secrets' | 'unsignedFault'> & { callbackUrl: Buffer | null }
  >(sql`
    select ${SUMMARY}, t.ip_allowlist, t.unsigned_requests, t.qps_limit, t.sells_through, t.legal_name,
           t.tax_id, t.billing_address, t.billing_email,
           t.updated_at, w.credit_limit, w.daily_spend_limit,
           w.low_balance_threshold, e.callback_url, coalesce(e.event_format, 'DEALER') as event_format
    from tenants t join wallets w using (tenant_id) left join webhook_endpoints e using (tenant_id)
    where t.tenant_id = ${id}`)
  if (!row) throw notFound('tenant')
  const secrets = await db.query<TenantView['secrets'][number]>(sql`
    select secret_id, created_at, valid_until, proven_at
    from tenant_secrets
    where tenant_id = ${id} and (valid_until is null or valid_until > clock_timestamp())
    order by valid_until desc nulls first`)
  const callbackUrl = row.callbackUrl && cipher.decrypt(row.callbackUrl, row.tenantId).toString()
  return { ...row, callbackUrl, secrets, unsignedFault: unsignedFault(row) ?? null }
}

/** The stored form of an existing tenant's id. @throws Refusal if the tenant does not exist */
export async function getTenantId(db: Pick<Db, 'query'>, tenantId: string): Promise<string> {
  const id = requireUuid(tenantId, 'tenant')
  const [found] = await db.query(sql`select from tenants where tenant_id = ${id}`)
  if (!found) throw notFound('tenant')
  return id
}
