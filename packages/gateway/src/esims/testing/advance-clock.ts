import {
  formatTime,
  parseTime,
  TEST_TIME_AHEAD_MAX_HOURS,
  type TestClockAnswer,
  type TestClockRequest,
} from '@dealer-esim/contract'
import { ApiError, tooManyRequests } from '@dealer-esim/lib/api-error.ts'
import { timeArray, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { type ChangedStatus, changeOrders } from '#orders/change-order.ts'
import type { LockedOrder } from '#orders/lock-orders.ts'
import { tenantTime } from '#platform/test-time.ts'
import { findNoticeSettings } from '#webhooks/endpoint/endpoint.ts'
import type { ProfileLife } from '../life/esim-lifecycle.ts'
import { recordNotices, writeLives } from '../life/lives.ts'
import { type AdvanceDeps, lockAffectedEsims } from './affected-esims.ts'
import { type LifeChange, passTime } from './pass-time.ts'

const HOUR_MS = 3_600_000

/**
 * Moves the test time of an account forward. What this time brings for its eSIMs happens in its order, in one transaction; attempts to
 * send events that it skips become due in their order, and are made after the answer.
 * Locks: the tenant's row, which other advances find locked; then the orders of the eSIMs that change, ascending; then deliveries.
 * @throws ApiError 101007 during another advance; 200005 if the clock is not at `fromTime`; 000108 beyond ten years ahead
 */
export async function advanceClock(
  deps: AdvanceDeps,
  tenantId: string,
  { hours, fromTime }: TestClockRequest,
): Promise<TestClockAnswer> {
  const byMs = hours * HOUR_MS
  const answer = await deps.db.tx(async (tx) => {
    const clock = await lockClock(tx, tenantId)
    if (clock === undefined) throw tooManyRequests({ limit: 1, waitS: 1, message: BEING_ADVANCED })
    checkFromTime(fromTime, clock)
    const offsetMs = clock.testOffsetMs + byMs
    if (offsetMs > TEST_TIME_AHEAD_MAX_HOURS * HOUR_MS) throw tooFar(clock)
    const from = tenantTime(clock.now, clock)
    const to = new Date(from.getTime() + byMs)
    const settings = await findNoticeSettings(tx, tenantId)
    const { orders, esims } = await lockAffectedEsims(tx, deps, tenantId, { to, settings })
    const changes = passTime(esims, { from, to, settings })
    writeChangedLives(tx, tenantId, changes)
    makeAttemptsDue(tx, tenantId, byMs)
    const events = recordChanges(tx, deps, tenantId, { orders, changes, isEachReported: settings.eventFormat === 'RT' })
    dateAttempts(tx, tenantId, events, offsetMs)
    tx.send({
      name: 'tenants-advance-clock',
      text: 'update tenants set test_offset_ms = $2, test_time = $3, version = version + 1 where tenant_id = $1',
      values: [tenantId, offsetMs, to],
    })
    const changedEsims = new Set(changes.map(({ profileId }) => profileId)).size
    return { testTime: formatTime(to), advancedHours: hours, changedEsims }
  })
  deps.wake.wake('webhooks')
  return answer
}

const BEING_ADVANCED = 'The test time of this account is being advanced. Try again when that call is answered.'

interface Clock {
  now: Date
  testOffsetMs: number
  /** The test time at the end of the last advance; null: never advanced. */
  testTime: Date | null
}

/** @returns undefined if the row is locked */
async function lockClock(tx: Tx, tenantId: string): Promise<Clock | undefined> {
  const [clock] = await tx.query<Clock>({
    name: 'tenants-lock-clock',
    text: `select date_trunc('milliseconds', clock_timestamp()) as now, test_offset_ms::float8 as test_offset_ms, test_time
           from tenants where tenant_id = $1 for no key update skip locked`,
    values: [tenantId],
  })
  return clock
}

/**
 * The caller knows the end of the last advance exactly. Before the first one it can only know the present, and an hour is near enough:
 * after an advance, which is of an hour at least, nothing but its own end is accepted. So a repeated call never moves twice.
 */
function checkFromTime(fromTime: string | undefined, { now, testTime }: Clock): void {
  if (fromTime === undefined) return
  const believedMs = parseTime(fromTime).getTime()
  const isRight = testTime === null ? Math.abs(believedMs - now.getTime()) < HOUR_MS : believedMs === testTime.getTime()
  if (isRight) return
  const current = formatTime(testTime ?? now)
  const reason = `The test time is not ${fromTime}: nothing was moved. Send ${current} to go on from there.`
  throw new ApiError('200005', { message: MOVED, details: [{ field: 'fromTime', reason }], data: { current } })
}

const MOVED = 'The test time is not the one that you sent, and nothing was moved. Compare data.current with fromTime.'

function tooFar({ testOffsetMs }: Clock): ApiError {
  const leftHours = TEST_TIME_AHEAD_MAX_HOURS - Math.round(testOffsetMs / HOUR_MS)
  const reason = `Test time may be ${TEST_TIME_AHEAD_MAX_HOURS} hours ahead in all: ${leftHours} are left.`
  return new ApiError('000108', { details: [{ field: 'hours', reason }] })
}

/** Writes each eSIM once, dated with the last moment that changed it. */
function writeChangedLives(tx: Tx, tenantId: string, changes: readonly LifeChange[]): void {
  const last = new Map(changes.map(({ profileId, at, after }) => [profileId, { at, after }]))
  const byMoment = new Map<number, Map<string, ProfileLife>>()
  for (const [profileId, { at, after }] of last) {
    const lives = byMoment.get(at.getTime()) ?? new Map<string, ProfileLife>()
    byMoment.set(at.getTime(), lives.set(profileId, after))
  }
  for (const [atMs, lives] of byMoment) writeLives(tx, tenantId, lives, new Date(atMs))
}

interface RecordedEvent {
  notifyId: string
  at: Date
}

/** Records the events of the changes, as applyReports does, one moment after another. */
function recordChanges(
  tx: Tx,
  deps: AdvanceDeps,
  tenantId: string,
  {
    orders,
    changes,
    isEachReported,
  }: { orders: ReadonlyMap<string, LockedOrder>; changes: readonly LifeChange[]; isEachReported: boolean },
): RecordedEvent[] {
  const events: RecordedEvent[] = []
  const orderOf = new Map([...orders.values()].flatMap((order) => order.profiles.map((one) => [one.profileId, order])))
  for (const { profileId, at, after, notices } of changes) {
    const order = orderOf.get(profileId)!
    const profile = order.profiles.find((one) => one.profileId === profileId)!
    const uuid = () => {
      const notifyId = deps.ids.uuid()
      events.push({ notifyId, at })
      return notifyId
    }
    const dated = { ...deps, ids: { ...deps.ids, uuid } }
    const changedStatuses = (['smdpStatus', 'esimStatus'] as const).flatMap((status): ChangedStatus[] =>
      after[status] === profile[status] ? [] : [{ status, profileId, eid: after.eid, usage: after }],
    )
    Object.assign(profile, { esimStatus: after.esimStatus, smdpStatus: after.smdpStatus })
    const change = { order, profilesChanged: true, changedStatuses, isEachReported }
    if (changedStatuses.length > 0) changeOrders(tx, dated, tenantId, [change], at)
    recordNotices(tx, dated.ids, tenantId, [{ order, profile, notices, totalDuration: after.totalDuration }], at)
  }
  return events
}

/** What is due in the time that passes becomes due earlier by it. */
function makeAttemptsDue(tx: Tx, tenantId: string, byMs: number): void {
  tx.send({
    name: 'deliveries-advance',
    text: `update deliveries set due_at = due_at - $2 * interval '1 millisecond'
           where tenant_id = $1 and notify_id = any (array(
             select notify_id from deliveries where tenant_id = $1 and due_at is not null order by notify_id for update))`,
    values: [tenantId, byMs],
  })
}

/** The events of the advance are due when they happened, so that their attempts, too, take the place that they have in time. */
function dateAttempts(tx: Tx, tenantId: string, events: readonly RecordedEvent[], offsetMs: number): void {
  if (events.length === 0) return
  tx.send({
    name: 'deliveries-date',
    text: `update deliveries d set due_at = e.due_at from unnest($2::uuid[], $3::timestamptz[]) as e (notify_id, due_at)
           where d.tenant_id = $1 and d.notify_id = e.notify_id and d.notify_id = any ($2::uuid[]) and d.due_at is not null`,
    values: [
      tenantId,
      uuidArray(events.map(({ notifyId }) => notifyId)),
      timeArray(events.map(({ at }) => at.getTime() - offsetMs)),
    ],
  })
}
