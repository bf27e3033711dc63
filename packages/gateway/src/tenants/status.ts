import sql from 'sql-template-tag'
import type { By } from '../audit/audit.ts'
import { changeTenant, lockTenant, type TenantDeps } from './change.ts'

/**
 * Suspension closes the API only: paid orders are still delivered or refunded, and their events sent.
 * Suspending twice, or resuming what is active, changes nothing.
 * @throws Refusal for a tenant that does not exist
 */
export async function suspendTenant(deps: TenantDeps, tenantId: string, by: By): Promise<void> {
  await setStatus(deps, tenantId, 'SUSPENDED', by)
}

export async function resumeTenant(deps: TenantDeps, tenantId: string, by: By): Promise<void> {
  await setStatus(deps, tenantId, 'ACTIVE', by)
}

async function setStatus(deps: TenantDeps, typedId: string, status: 'ACTIVE' | 'SUSPENDED', by: By): Promise<void> {
  await changeTenant(deps, typedId, by, async (tx, tenantId) => {
    const tenant = await lockTenant(tx, tenantId)
    if (tenant.status === status) return { entry: undefined, result: undefined }
    tx.send(sql`update tenants set status = ${status} where tenant_id = ${tenantId}`)
    const action = status === 'ACTIVE' ? 'tenant.resume' : 'tenant.suspend'
    return { entry: { action, before: { status: tenant.status }, after: { status } }, result: undefined }
  })
}
