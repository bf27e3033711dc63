import type { Config } from '#platform/config/config.ts'
import type { Tenant } from './tenant.ts'

/** Decides whether a tenant may use the operations that begin with `test/`: every tenant of a local or test deployment. */
export function mayUseTestOperations(deployment: Config['deployment'], _tenant: Tenant): boolean {
  return deployment !== 'production'
}
