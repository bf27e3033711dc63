import {
  CHECK_HEALTH_PER_MINUTE_MAX,
  CHECK_HEALTH_TIMEOUT_MS,
  EVENT_TIMEOUT_MS,
  type EventFormat,
} from '@dealer-esim/contract'
import { ApiError, tooManyRequests } from '@dealer-esim/lib/api-error.ts'
import { isFree } from '@dealer-esim/lib/leases.ts'
import sql from 'sql-template-tag'
import { requireReleased } from '#platform/held-tenants.ts'
import { findTenant } from '#tenants/tenant.ts'
import { firstLineOf, logAttempts, loggedAttempt } from '../attempt-log.ts'
import { checkHealthBody } from '../notification-body.ts'
import { attemptDelivery, isAcknowledged } from '../sending/delivery-attempt.ts'
import type { WebhookDeps } from '../webhook-deps.ts'

export type CheckDeps = Pick<
  WebhookDeps,
  'db' | 'log' | 'ids' | 'linkKey' | 'cipher' | 'clock' | 'databaseClock' | 'outbound' | 'config'
>

/**
 * Runs `work` after the URL has answered a signed CHECK_HEALTH notification with 2xx within 5 s. A tenant has only one
 * check at a time, which lasts until `work` is done, so that two settings never interleave. The attempt is logged like any
 * other.
 * @throws ApiError 400101 if the URL is not allowed, 400102 if the check failed, 101007 if another check of this tenant is
 * running or ten have started within the last minute
 */
export async function withHealthCheck<Result>(
  deps: CheckDeps,
  tenantId: string,
  { url, eventFormat }: { url: string; eventFormat: EventFormat },
  work: () => Promise<Result>,
): Promise<Result> {
  checkForm(url, deps.config.deployment === 'local')
  return inTurn(deps, tenantId, async () => {
    await check(deps, tenantId, url, eventFormat)
    return work()
  })
}

/**
 * Allows one call of the tenant's receiver at a time and at most ten a minute, over all nodes: health checks and
 * `webhook/test` events combined.
 * @throws ApiError 101007; Refusal while the tenant is in recovery
 */
export async function inTurn<Result>(deps: CheckDeps, tenantId: string, work: () => Promise<Result>): Promise<Result> {
  await requireReleased(deps.db, tenantId, 'Nothing is sent to its receiver until then.')
  const token = deps.ids.uuid()
  await lockCheck(deps, tenantId, token)
  try {
    return await work()
  } finally {
    await unlockCheck(deps, tenantId, token)
  }
}

async function check(deps: CheckDeps, tenantId: string, url: string, format: EventFormat): Promise<void> {
  const signer = await findTenant(deps.db, deps.cipher, { tenantId })
  if (!signer) throw new Error(`no tenant ${tenantId}`)
  const createdAt = new Date(deps.databaseClock.now())
  const notification = { notifyId: deps.ids.uuid(), notifyType: 'CHECK_HEALTH', createdAt }
  const text = checkHealthBody(format, notification, deps.config.mode)
  const endpoint = { url, eventFormat: format }
  const attempt = await attemptDelivery(deps, endpoint, signer, notification, text, CHECK_HEALTH_TIMEOUT_MS)
  const logged = loggedAttempt(attempt, notification, 1, url, signer)
  await deps.db.tx(async (tx) => logAttempts(tx, tenantId, [logged]))
  const { outcome } = attempt
  if (isAcknowledged(outcome)) return
  if (outcome.kind === 'failed' && (outcome.phase === 'url' || outcome.phase === 'forbidden')) {
    throw notAllowed(outcome.message)
  }
  const line = firstLineOf(logged.answer)
  const response = line === undefined ? '' : ` It said: “${line}”`
  throw new ApiError('400102', {
    details: [{ field: 'callbackUrl', reason: `The health check failed: ${logged.message}.${response}` }],
  })
}

/** Checks the form of the URL. Its address is checked whenever a connection is made, here and for every attempt. */
function checkForm(text: string, local: boolean): void {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw notAllowed('it is not an https address')
  if (url.protocol === 'http:' && !local) throw notAllowed('it begins with http, and only https is allowed')
  if (url.username !== '' || url.password !== '') throw notAllowed('it contains a user name or password')
}

function notAllowed(why: string): ApiError {
  return new ApiError('400101', {
    details: [{ field: 'callbackUrl', reason: `This address is not allowed: ${why}.` }],
  })
}

const MINUTE_MS = 60_000
/** Covers a check with the change that follows, or the event of a test. */
const LOCK_MS = EVENT_TIMEOUT_MS + 5_000

/**
 * Takes the tenant's lock for a check. If no row is returned, another check is running, or ten have started within the last
 * minute. Locks the tenant's row of webhook_checks.
 */
async function lockCheck(deps: CheckDeps, tenantId: string, token: string): Promise<void> {
  const nowMs = deps.databaseClock.now()
  const taken = await deps.db.tx(async (tx) => {
    tx.send(sql`
      insert into webhook_checks (tenant_id, lease_token, lease_until, started_at)
      values (${tenantId}, ${token}, ${new Date(0)}, '{}')
      on conflict do nothing`)
    return tx.query({
      text: `
        update webhook_checks
        set lease_token = $2, lease_until = $4,
            started_at = array(select s from unnest(started_at) s where s > $5 and s <= $3 order by s) || $3::timestamptz
        where tenant_id = $1 and ${isFree('lease_until', LOCK_MS, '$3::timestamptz')}
          and (select count(*) from unnest(started_at) s where s > $5 and s <= $3) < $6
        returning 1`,
      values: [
        tenantId,
        token,
        new Date(nowMs),
        new Date(nowMs + LOCK_MS),
        new Date(nowMs - MINUTE_MS),
        CHECK_HEALTH_PER_MINUTE_MAX,
      ],
    })
  })
  if (taken.length === 0) throw await tooManyChecks(deps, tenantId, nowMs)
}

/** Releases the lock. Never rejects: a lock that is not released expires, and the setting is already saved. */
async function unlockCheck({ db, log }: CheckDeps, tenantId: string, token: string): Promise<void> {
  const ended = {
    text: 'update webhook_checks set lease_until = $3 where tenant_id = $1 and lease_token = $2',
    values: [tenantId, token, new Date(0)],
  }
  await db
    .query(ended)
    .catch((error) =>
      log.warn({ err: error, tenantId }, 'the lock of a health check could not be released; it will expire'),
    )
}

async function tooManyChecks(deps: CheckDeps, tenantId: string, nowMs: number): Promise<ApiError> {
  const [row] = await deps.db.query<{ leaseUntil: Date; startedAt: Date[] }>(sql`
    select lease_until, started_at from webhook_checks where tenant_id = ${tenantId}`)
  const recent = (row?.startedAt ?? [])
    .map(Number)
    .filter((startedMs) => startedMs > nowMs - MINUTE_MS && startedMs <= nowMs)
  const full = recent.length >= CHECK_HEALTH_PER_MINUTE_MAX
  const freeMs = full ? Math.min(...recent) + MINUTE_MS : (row?.leaseUntil.getTime() ?? nowMs)
  return tooManyRequests({
    limit: CHECK_HEALTH_PER_MINUTE_MAX,
    remaining: Math.max(0, CHECK_HEALTH_PER_MINUTE_MAX - recent.length),
    waitS: Math.max(1, Math.ceil((freeMs - nowMs) / 1000)),
    message: full
      ? `The callback URL has been checked or tested ${CHECK_HEALTH_PER_MINUTE_MAX} times in the last minute. Try again after the time in Retry-After.`
      : 'Another check or test of the callback URL is running. Try again when it has ended.',
  })
}
