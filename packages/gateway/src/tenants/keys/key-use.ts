import type { Clock } from '@dealer-esim/lib/clock.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { RestrictedKey, Tenant } from '../tenant.ts'

/** Each node writes the time of a key's last use at most this often. */
const WRITTEN_EVERY_MS = 60_000
/** The number of keys whose last write a node remembers. A forgotten key is written again. */
const KEYS_MAX = 50_000

/** Keeps when restricted keys were last used, without a write for each request: the time is at most a minute old. */
export function createKeyUse(deps: { db: Pick<Db, 'query'>; clock: Pick<Clock, 'monotonic'>; log: Pick<Log, 'warn'> }) {
  const writtenAt = new Map<string, number>()
  return ({ tenantId }: Pick<Tenant, 'tenantId'>, { keyId }: Pick<RestrictedKey, 'keyId'>): void => {
    const now = deps.clock.monotonic()
    const last = writtenAt.get(keyId)
    if (last !== undefined && now - last < WRITTEN_EVERY_MS) return
    writtenAt.delete(keyId)
    writtenAt.set(keyId, now)
    if (writtenAt.size > KEYS_MAX) writtenAt.delete(writtenAt.keys().next().value as string)
    const statement = {
      text: `update tenant_keys set last_used_at = greatest(last_used_at, date_trunc('milliseconds', clock_timestamp()))
             where tenant_id = $1 and key_id = $2`,
      values: [tenantId, keyId],
    }
    deps.db.query(statement).catch((err) => {
      writtenAt.delete(keyId)
      deps.log.warn({ err, tenantId }, 'the last use of a restricted key could not be saved')
    })
  }
}
