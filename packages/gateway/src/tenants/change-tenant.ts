import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { notFound, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { type AuditEntry, audit, type By } from '#platform/audit/audit.ts'

export interface TenantDeps {
  db: Db
  ids: Ids
  wake: Pick<Wakeups<'settings'>, 'wake'>
}

/**
 * How a dealer sells: only in the portal, or also through the API. For PORTAL, the console hides the developer pages from the
 * dealer's people. It restricts nothing: API keys work either way.
 */
export const SELLS_THROUGH = ['PORTAL', 'API'] as const
export type SellsThrough = (typeof SELLS_THROUGH)[number]

/** The locked row of a tenant. */
export interface TenantRow {
  tenantId: string
  tenantName: string
  status: 'ACTIVE' | 'SUSPENDED'
  ipAllowlist: string[]
  unsignedRequests: boolean
  currencyCode: string
  qpsLimit: number | null
  sellsThrough: SellsThrough
  legalName: string | null
  taxId: string | null
  billingAddress: string | null
  billingEmail: string | null
}

export interface Change<Result> {
  /** The audit entry; undefined if nothing changed, so nothing is recorded. */
  entry: Pick<AuditEntry, 'action' | 'before' | 'after'> | undefined
  result: Result
}

/**
 * Changes one tenant. `work`, the increment of the tenant's version and the audit entry are one transaction; afterwards the
 * nodes are woken. Admission compares the version with every request, so the change applies to each request admitted after
 * the commit, even if the wakeup is lost. `work` receives the id in its stored form, because secrets are encrypted for that
 * form.
 * Locks: first the rows that `work` locks before it calls `lockTenant` (a wallet), then the tenant's row.
 */
export async function changeTenant<Result>(
  deps: TenantDeps,
  typedId: string,
  by: By,
  work: (tx: Tx, tenantId: string) => Promise<Change<Result>>,
): Promise<Result> {
  const tenantId = requireUuid(typedId, 'tenant')
  const change = await deps.db.tx(async (tx) => {
    const change = await work(tx, tenantId)
    if (!change.entry) return change
    tx.send(sql`
      update tenants set version = version + 1, updated_at = clock_timestamp() where tenant_id = ${tenantId}`)
    audit(tx, deps.ids, { tenantId, subject: tenantId, ...by, ...change.entry })
    return change
  })
  if (change.entry) deps.wake.wake('settings')
  return change.result
}

/**
 * Locks the tenant's row, so that changes to one tenant are serialized.
 * @throws Refusal if the tenant does not exist
 */
export async function lockTenant(tx: Tx, tenantId: string): Promise<TenantRow> {
  const [row] = await tx.query<TenantRow>(sql`
    select tenant_id, tenant_name, status, ip_allowlist, unsigned_requests, currency_code, qps_limit, sells_through,
           legal_name, tax_id, billing_address, billing_email
    from tenants where tenant_id = ${tenantId} for no key update`)
  if (!row) throw notFound('tenant')
  return row
}

/**
 * Suspends a tenant, so that its requests are refused, or resumes it. Paid orders are still delivered or refunded, and
 * their events are still sent. Suspending a suspended tenant, or resuming an active one, changes nothing.
 * @param reason for the audit log, which the dealer can read too
 * @throws Refusal if the tenant does not exist
 */
export async function suspendTenant(deps: TenantDeps, tenantId: string, by: By, reason?: string): Promise<void> {
  await setStatus(deps, tenantId, { status: 'SUSPENDED', reason }, by)
}

export async function resumeTenant(deps: TenantDeps, tenantId: string, by: By): Promise<void> {
  await setStatus(deps, tenantId, { status: 'ACTIVE' }, by)
}

async function setStatus(
  deps: TenantDeps,
  typedId: string,
  after: { status: 'ACTIVE' | 'SUSPENDED'; reason?: string | undefined },
  by: By,
): Promise<void> {
  const { status } = after
  await changeTenant(deps, typedId, by, async (tx, tenantId) => {
    const tenant = await lockTenant(tx, tenantId)
    if (tenant.status === status) return { entry: undefined, result: undefined }
    tx.send(sql`update tenants set status = ${status} where tenant_id = ${tenantId}`)
    const action = status === 'ACTIVE' ? 'tenant.resume' : 'tenant.suspend'
    return { entry: { action, before: { status: tenant.status }, after }, result: undefined }
  })
}
