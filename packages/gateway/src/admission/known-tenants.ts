import type { Tenant } from '../tenants/load.ts'

/**
 * Credentials and settings, decrypted, as this node last read them. They may be old: every judgement carries the
 * version it used, and admission refuses an outdated one (enter.sql.ts), so a reset or a suspension holds at once.
 */
export interface KnownTenants {
  get(appKey: string): Tenant | undefined
  /** Reads again; calls for one AppKey that wait for the same read share it. Undefined: no such AppKey. */
  reload(appKey: string): Promise<Tenant | undefined>
  forgetAll(): void
}

const MOST_TENANTS = 50_000

export function knownTenants(load: (appKey: string) => Promise<Tenant | undefined>): KnownTenants {
  const known = new Map<string, Tenant>()
  const next = new Map<string, Promise<Tenant | undefined>>()

  async function read(appKey: string): Promise<Tenant | undefined> {
    // Who asks while a read runs may know of a change that it has missed: the next read begins after this turn.
    await Promise.resolve()
    next.delete(appKey)
    const tenant = await load(appKey)
    known.delete(appKey)
    if (tenant) known.set(appKey, tenant)
    if (known.size > MOST_TENANTS) known.delete(known.keys().next().value as string)
    return tenant
  }

  return {
    get: (appKey) => known.get(appKey),
    reload(appKey) {
      const reading = next.get(appKey) ?? read(appKey)
      next.set(appKey, reading)
      return reading
    },
    forgetAll: () => known.clear(),
  }
}
