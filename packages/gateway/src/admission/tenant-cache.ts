import type { Tenant } from '../tenants/tenant.ts'

/**
 * Credentials and settings, decrypted, as this node last read them. They may be outdated: every request names the version
 * that it was checked against, and admission refuses an outdated one (admit-batch.ts), so a reset or a suspension applies
 * at once.
 */
export interface TenantCache {
  get(appKey: string): Tenant | undefined
  /**
   * Reads the tenant again, by a read that begins after the call. One read per AppKey runs at a time, and all calls in the
   * meantime share the next one, so that a flood for one tenant costs two reads at any time.
   * @returns undefined where there is no such AppKey
   */
  reload(appKey: string): Promise<Tenant | undefined>
}

const TENANTS_MAX = 50_000

export function createTenantCache(load: (appKey: string) => Promise<Tenant | undefined>): TenantCache {
  const tenants = new Map<string, Tenant>()
  const running = new Map<string, Promise<void>>()
  const next = new Map<string, Promise<Tenant | undefined>>()

  async function read(appKey: string): Promise<Tenant | undefined> {
    // The running read may have missed the change that caused this call, so a new one begins when it has ended.
    await running.get(appKey)
    next.delete(appKey)
    const reading = load(appKey)
    const ended = reading.then(NOTHING, NOTHING)
    running.set(appKey, ended)
    void ended.then(() => running.get(appKey) === ended && running.delete(appKey))
    const tenant = await reading
    tenants.delete(appKey)
    if (tenant) tenants.set(appKey, tenant)
    if (tenants.size > TENANTS_MAX) tenants.delete(tenants.keys().next().value as string)
    return tenant
  }

  return {
    get: (appKey) => tenants.get(appKey),
    reload(appKey) {
      const reading = next.get(appKey) ?? read(appKey)
      next.set(appKey, reading) // it begins in a later turn
      return reading
    },
  }
}

const NOTHING = () => {}
