import { isTestAppKey } from '@dealer-esim/contract'
import type { Deps } from '#deps.ts'
import { findTwin } from '#operations/twins/find-twin.ts'
import type { Tenant } from '#tenants/tenant.ts'

/**
 * The dependencies that serve a request: the test twins' for `ak_<cell>_test_…` and `rk_<cell>_test_…`, by the form of the AppKey
 * alone, before anything is looked up. So neither kind of AppKey is ever looked for among the other's.
 */
export async function depsOf(live: Deps, appKey: string): Promise<Deps> {
  if (!isTestAppKey(appKey)) return live
  // Without twins the AppKey is unknown to the live dealers, too.
  return (await live.twins.open()) ?? live
}

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
