import { isTestAppKey } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { createBatcher } from '@dealer-esim/lib/batch.ts'
import type { Clock } from '@dealer-esim/lib/clock.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Tenant } from '../tenant.ts'

/** What admission does in addition for test twins. */
export interface TwinAdmission {
  /** A twin as its live dealer's standing makes it: suspended if either is. Reads the live dealer. */
  withStanding<Twin extends Pick<Tenant, 'tenantId' | 'status'>>(twin: Twin): Promise<Twin>
  /** The live dealer of a twin whose credentials or settings were read before. */
  liveIdOf(twinId: string): string
  /** The same of any twin. @throws ApiError 101004 if it was deleted */
  readLiveId(twinId: string): Promise<string>
  /** Takes one of the requests that all twins together may send on this node. @returns false if none is left */
  takeRequest(): boolean
  /** How many they may send per second. */
  readonly qpsLimit: number
}

/** 101004, which says what to do about a twin that is gone: backups contain no twins. */
export function unknownAppKey(appKey: string): ApiError {
  return isTestAppKey(appKey) ? unknownTwin() : new ApiError('101004')
}

function unknownTwin(): ApiError {
  const message =
    'No test twin has this AppKey. If it was deleted, or this gateway was restored from a backup, create a new one in the portal, with the switch Test mode, and use its AppKey and AppSecret.'
  return new ApiError('101004', { message })
}

/** More requests than this are never in progress. */
const QUEUE_MAX = 10_000
const BATCH_MAX = 256

interface TwinAdmissionDeps {
  /** The schema of the live dealers. */
  liveDb: Pick<Db, 'query'>
  twinsDb: Pick<Db, 'query'>
  clock: Pick<Clock, 'monotonic'>
  /** TWINS_QPS_LIMIT. */
  qpsLimit: number
}

export function createTwinAdmission({ liveDb, twinsDb, clock, qpsLimit }: TwinAdmissionDeps): TwinAdmission {
  /** Never changes for a twin, so it is read once. */
  const liveIds = new Map<string, string>()
  const takeRequest = createBucket(qpsLimit, clock)

  async function readLiveId(twinId: string): Promise<string> {
    const known = liveIds.get(twinId)
    if (known !== undefined) return known
    const [row] = await twinsDb.query<{ liveTenantId: string }>({
      name: 'twins-live-tenant',
      text: 'select live_tenant_id from twins where tenant_id = $1',
      values: [twinId],
    })
    if (row === undefined) throw unknownTwin() // deleted at this moment
    liveIds.set(twinId, row.liveTenantId)
    return row.liveTenantId
  }

  // One statement at a time for all twins, so that they take at most one connection from live dealers.
  const statuses = createBatcher<string, Tenant['status']>({
    limit: BATCH_MAX,
    concurrency: 1,
    queueLimit: QUEUE_MAX,
    queueFullError: () => new ApiError('000002'),
    async run(liveIds) {
      const rows = await liveDb.query<{ tenantId: string }>({
        name: 'twins-live-standing',
        text: `select tenant_id from tenants where tenant_id = any ($1::uuid[]) and status = 'ACTIVE'`,
        values: [liveIds],
      })
      const active = new Set(rows.map(({ tenantId }) => tenantId))
      return liveIds.map((id) => (active.has(id) ? 'ACTIVE' : 'SUSPENDED'))
    },
  })

  return {
    async withStanding(twin) {
      const status = await statuses.add(await readLiveId(twin.tenantId))
      return status === 'ACTIVE' ? twin : { ...twin, status }
    },
    liveIdOf(twinId) {
      const liveId = liveIds.get(twinId)
      if (liveId === undefined) throw new Error(`twin ${twinId} was not admitted`)
      return liveId
    },
    readLiveId,
    takeRequest,
    qpsLimit,
  }
}

/** A token bucket that holds one second's worth, in memory. */
function createBucket(perSecond: number, clock: Pick<Clock, 'monotonic'>): () => boolean {
  let tokens = perSecond
  let refilledAt = clock.monotonic()
  return () => {
    const now = clock.monotonic()
    tokens = Math.min(perSecond, tokens + ((now - refilledAt) / 1_000) * perSecond)
    refilledAt = now
    if (tokens < 1) return false
    tokens -= 1
    return true
  }
}
