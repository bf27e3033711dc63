import sql, { empty, type Sql } from 'sql-template-tag'
import type { Db } from '../lib/db.ts'
import { absent, requireUuid } from '../lib/refusal.ts'

/** A line of the list of tenants. */
export interface TenantSummary {
  tenantId: string
  appKey: string
  clientName: string
  currencyCode: string
  status: 'ACTIVE' | 'SUSPENDED'
  balance: bigint
  createdAt: Date
}

/** A tenant whole, but for its secrets: of those only how many verify, and since and until when. */
export interface TenantView extends TenantSummary {
  ipAllowlist: string[]
  qpsLimit: number | null
  creditLimit: bigint
  dailySpendLimit: bigint | null
  lowBalanceThreshold: bigint | null
  legalName: string | null
  taxId: string | null
  billingAddress: string | null
  billingEmail: string | null
  callbackUrl: string | null
  secrets: { secretId: string; createdAt: Date; validUntil: Date | null; provenAt: Date | null }[]
  updatedAt: Date
}

const PAGE_MAX = 500

/** Tenants, newest first; a keyword is part of a name, or a whole AppKey. The next page starts `after` the last one of this. */
export async function listTenants(
  db: Pick<Db, 'query'>,
  page: { pageSize?: number; after?: string; keyword?: string; status?: 'ACTIVE' | 'SUSPENDED' } = {},
): Promise<TenantSummary[]> {
  const { after, keyword, status, pageSize = PAGE_MAX } = page
  const rows = await db.query<SummaryRow>(sql`
    select t.tenant_id, t.app_key, t.client_name, t.currency_code, t.status, t.created_at, w.balance
    from tenants t join wallets w using (tenant_id)
    where true
      ${after === undefined ? empty : sql`and t.tenant_id < ${requireUuid(after, 'tenant')}`}
      ${status === undefined ? empty : sql`and t.status = ${status}`}
      ${keyword === undefined ? empty : named(keyword)}
    order by t.tenant_id desc
    limit ${Math.min(pageSize, PAGE_MAX)}`)
  return rows.map(summaryOf)
}

function named(keyword: string): Sql {
  return sql`and (strpos(lower(t.client_name), lower(${keyword})) > 0 or t.app_key = ${keyword})`
}

/** Every tenant that the filter lets through, newest first. */
export async function allTenants(
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
export async function showTenant(db: Pick<Db, 'query'>, tenantId: string): Promise<TenantView> {
  const id = requireUuid(tenantId, 'tenant')
  const [row] = await db.query<ViewRow>(sql`
    select t.tenant_id, t.app_key, t.client_name, t.currency_code, t.status, t.ip_allowlist, t.qps_limit,
           t.legal_name, t.tax_id, t.billing_address, t.billing_email, t.created_at, t.updated_at,
           w.balance, w.credit_limit, w.daily_spend_limit, w.low_balance_threshold, e.callback_url
    from tenants t join wallets w using (tenant_id) left join webhook_endpoints e using (tenant_id)
    where t.tenant_id = ${id}`)
  if (!row) throw absent('tenant')
  const secrets = await db.query<SecretRow>(sql`
    select secret_id, created_at, valid_until, proven_at from tenant_secrets
    where tenant_id = ${id} and (valid_until is null or valid_until > clock_timestamp())
    order by valid_until desc nulls first`)
  return {
    ...summaryOf(row),
    ipAllowlist: row.ip_allowlist,
    qpsLimit: row.qps_limit,
    creditLimit: row.credit_limit,
    dailySpendLimit: row.daily_spend_limit,
    lowBalanceThreshold: row.low_balance_threshold,
    legalName: row.legal_name,
    taxId: row.tax_id,
    billingAddress: row.billing_address,
    billingEmail: row.billing_email,
    callbackUrl: row.callback_url,
    secrets: secrets.map((secret) => ({
      secretId: secret.secret_id,
      createdAt: secret.created_at,
      validUntil: secret.valid_until,
      provenAt: secret.proven_at,
    })),
    updatedAt: row.updated_at,
  }
}

/** The id, in the form that is stored, of a tenant that exists. @throws Refusal */
export async function requireTenant(db: Pick<Db, 'query'>, tenantId: string): Promise<string> {
  const id = requireUuid(tenantId, 'tenant')
  const [found] = await db.query(sql`select from tenants where tenant_id = ${id}`)
  if (!found) throw absent('tenant')
  return id
}

interface SummaryRow {
  tenant_id: string
  app_key: string
  client_name: string
  currency_code: string
  status: 'ACTIVE' | 'SUSPENDED'
  created_at: Date
  balance: bigint
}

interface ViewRow extends SummaryRow {
  ip_allowlist: string[]
  qps_limit: number | null
  legal_name: string | null
  tax_id: string | null
  billing_address: string | null
  billing_email: string | null
  updated_at: Date
  credit_limit: bigint
  daily_spend_limit: bigint | null
  low_balance_threshold: bigint | null
  callback_url: string | null
}

interface SecretRow {
  secret_id: string
  created_at: Date
  valid_until: Date | null
  proven_at: Date | null
}

function summaryOf(row: SummaryRow): TenantSummary {
  return {
    tenantId: row.tenant_id,
    appKey: row.app_key,
    clientName: row.client_name,
    currencyCode: row.currency_code,
    status: row.status,
    balance: row.balance,
    createdAt: row.created_at,
  }
}
