import type { Deps } from '#deps.ts'
import type { Tenant } from '#tenants/tenant.ts'
import { findTwin } from './find-twin.ts'

/** A test twin as a request of its dealer's people finds it. */
export interface ServedTwin {
  deps: Deps
  tenantId: string
  /** Suspended while its live dealer is. */
  status: Tenant['status']
}

/** The twin of a dealer, with the dependencies that serve requests about it. @returns undefined if the dealer has none */
export async function findServedTwin(live: Pick<Deps, 'twins'>, liveTenantId: string): Promise<ServedTwin | undefined> {
  const deps = await live.twins.open()
  const twin = await findTwin(deps, liveTenantId)
  if (deps === undefined || twin === undefined) return undefined
  // The twins' catalogue then knows whose prices these are.
  return { deps, ...(await deps.admission.twins!.withStanding({ tenantId: twin.tenantId, status: 'ACTIVE' })) }
}
