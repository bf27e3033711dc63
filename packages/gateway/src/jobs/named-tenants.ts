import type { Clock } from '../lib/clock.ts'

/** The tenants that wakeups have named, so that a pass can go to them without listing every tenant with due work. */
export interface NamedTenants {
  /** @param tenantIds undefined: the work may be anywhere */
  add(tenantIds?: readonly string[]): void
  /** The tenants named since the last call; undefined: the pass has to list the tenants itself. */
  take(): string[] | undefined
}

/**
 * @param listEveryMs a pass lists the tenants at least this often, to find work whose wakeup was lost or came from another
 * node
 */
export function createNamedTenants(clock: Pick<Clock, 'monotonic'>, listEveryMs: number): NamedTenants {
  let named = new Set<string>()
  let isAnywhere = true
  let listedAt = Number.NEGATIVE_INFINITY
  return {
    add(tenantIds) {
      if (tenantIds === undefined) isAnywhere = true
      else for (const tenantId of tenantIds) named.add(tenantId)
    },
    take() {
      const taken = [...named]
      named = new Set()
      const now = clock.monotonic()
      if (!isAnywhere && taken.length > 0 && now - listedAt < listEveryMs) return taken
      isAnywhere = false
      listedAt = now
      return undefined
    },
  }
}
