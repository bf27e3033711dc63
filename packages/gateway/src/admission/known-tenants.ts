import type { Tenant } from '../tenants/load.ts'

/**
 * Credentials and settings, decrypted, as this node last read them. They may be old: every judgement carries the
 * version it used, and admission refuses an outdated one (enter.sql.ts), so a reset or a suspension holds at once.
 */
export interface KnownTenants {
  get(appKey: string): Tenant | undefined
  /**
   * Reads again, by a read that begins after the call. Of one AppKey one read runs at a time: all who ask meanwhile
   * share the next one, so that a flood for one tenant costs two reads at most at any time. Undefined: no such AppKey.
   */
  reload(appKey: string): Promise<Tenant | undefined>
}

const TENANTS_MAX = 50_000

export function knownTenants(load: (appKey: string) => Promise<Tenant | undefined>): KnownTenants {
  const known = new Map<string, Tenant>()
  const running = new Map<string, Promise<void>>()
  const next = new Map<string, Promise<Tenant | undefined>>()

  async function read(appKey: string): Promise<Tenant | undefined> {
    // Who asks while a read runs may know of a change that it has missed: theirs begins when that one has ended.
    await running.get(appKey)
    next.delete(appKey)
    const reading = load(appKey)
    const ended = reading.then(NOTHING, NOTHING)
    running.set(appKey, ended)
    void ended.then(() => running.get(appKey) === ended && running.delete(appKey))
    const tenant = await reading
    known.delete(appKey)
    if (tenant) known.set(appKey, tenant)
    if (known.size > TENANTS_MAX) known.delete(known.keys().next().value as string)
    return tenant
  }

  return {
    get: (appKey) => known.get(appKey),
    reload(appKey) {
      const reading = next.get(appKey) ?? read(appKey)
      next.set(appKey, reading) // it begins after this turn at the earliest
      return reading
    },
  }
}

const NOTHING = () => {}
