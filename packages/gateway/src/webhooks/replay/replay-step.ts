import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import { type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { isHeld } from '#platform/held-tenants.ts'
import { runJob } from '#platform/jobs.ts'
import { usePlanHints } from '../sending/claim-deliveries.ts'
import { sendableSince } from '../sending/delivery-attempt.ts'
import type { WebhookDeps } from '../webhook-deps.ts'
import { STEP_MAX } from '../webhook-limits.ts'

type StepDeps = Pick<WebhookDeps, 'db' | 'databaseClock' | 'wake' | 'log' | 'loops'>

const POLL_MS = 1_000
/** The number of replays that one pass advances, across tenants. The next pass advances others. */
const REPLAYS_PER_PASS = 100
/** How many events one step reads, matching or not. Limits a step if few events match. */
const LOOKED_AT_MAX = 20_000
/** A replay pauses while the tenant has this many due events, so that new events do not wait behind old ones. */
const BACKLOG_MAX = 1_000

/**
 * Makes replayed events due again, each replay at its own rate. Any node may advance any replay; a row lock prevents two
 * from doing so at the same time.
 */
export function replayLoop(deps: StepDeps): Running {
  return runLoop(deps, 'webhook replays', POLL_MS, async () => {
    const running = await deps.db.query<RunningReplay>({ text: NEXT, values: [REPLAYS_PER_PASS] })
    let more = false
    for (const replay of running) {
      const step = await runJob(deps.log, 'replay', replay, () => stepReplay(deps, replay.tenantId, replay.replayId))
      if (step === undefined) continue
      if (step.replayed > 0) deps.wake.wake('webhooks')
      more ||= step.more
    }
    return more
  })
}

interface RunningReplay {
  tenantId: string
  replayId: string
}

// The replays that were advanced least recently come first. Those without an enabled endpoint are excluded, because they
// would otherwise always come first.
const NEXT = `
  select r.tenant_id, r.replay_id from webhook_replays r
  join webhook_endpoints w on w.tenant_id = r.tenant_id and w.enabled and w.callback_url is not null
  where r.replay_state = 'RUNNING' and not ${isHeld('r.tenant_id')} order by r.stepped_at limit $1`

interface Step {
  replayed: number
  /** The window contained fewer events than the rate allows: take the next step immediately. */
  more: boolean
}

const NOTHING: Step = { replayed: 0, more: false }

/** Runs one step of a replay in one transaction: its position advances together with the events that it makes due. */
export async function stepReplay({ db, databaseClock }: StepDeps, tenantId: string, replayId: string): Promise<Step> {
  const now = new Date(databaseClock.now())
  return db.tx(async (tx) => {
    usePlanHints(tx)
    const [replay] = await tx.query<LockedReplay>({ text: LOCK, values: [tenantId, replayId, now, BACKLOG_MAX] })
    if (!replay?.able) return NOTHING
    const elapsedMs = now.getTime() - replay.steppedAt.getTime()
    if (elapsedMs < 0) {
      tx.send({ text: PAUSE, values: [tenantId, replayId, now] }) // the clock was set back: continue from now
      return NOTHING
    }
    const due = Math.min(Math.floor((elapsedMs * replay.ratePerS) / 1000), STEP_MAX)
    if (due <= 0) return NOTHING
    if (replay.backlog >= BACKLOG_MAX) {
      tx.send({ text: PAUSE, values: [tenantId, replayId, now] }) // time lost in a pause is not made up for
      return NOTHING
    }
    const oldest = firstUuidAt(sendableSince(now.getTime()).getTime())
    const [moved] = await tx.query<Moved>({
      text: MOVE,
      values: [tenantId, replayId, due, now, LOOKED_AT_MAX, oldest],
    })
    const { replayed, full, windowEnd, position } = moved!
    const done = windowEnd === null && !full
    tx.send({ text: ADVANCE, values: [tenantId, replayId, position, replayed, now, done] })
    return { replayed, more: !done && !full }
  })
}

interface LockedReplay {
  ratePerS: number
  steppedAt: Date
  able: boolean
  backlog: number
}

// Locks the replay, or skips it if another node is advancing it.
const LOCK = `
  select r.rate_per_s, r.stepped_at,
         exists (select from webhook_endpoints w
                 where w.tenant_id = $1 and w.enabled and w.callback_url is not null) as able,
         (select count(*)::integer from (select from deliveries where tenant_id = $1 and due_at <= $3 limit $4) due) as backlog
  from webhook_replays r
  where r.tenant_id = $1 and r.replay_id = $2 and r.replay_state = 'RUNNING'
  for update of r skip locked`

const PAUSE = 'update webhook_replays set stepped_at = $3 where tenant_id = $1 and replay_id = $2'

interface Moved {
  replayed: number
  /** The step found as many events as it looked for, so the window may contain more. */
  full: boolean
  /** null: the window reached the end of the range. */
  windowEnd: string | null
  position: string
}

// Reads a window of the range after the latest position. PENDING events are never replayed, nor are events that became too
// old while the replay was paused. A full step ends at its last event, any other step at the end of its window. The state
// is a subquery, because the planner would otherwise join by reading all the tenant's deliveries for each event.
const MOVE = `
  with replay as (
    select greatest(cursor_id, $6::uuid) as cursor_id, to_id, notify_types, delivery_states
    from webhook_replays where tenant_id = $1 and replay_id = $2),
  bound as (
    select (select e.notify_id from events e, replay r
            where e.tenant_id = $1 and e.notify_id > r.cursor_id and e.notify_id < r.to_id
            order by e.notify_id offset $5 limit 1) as window_end),
  found as materialized (
    select e.notify_id from events e, replay r, bound b
    where e.tenant_id = $1 and e.notify_id > r.cursor_id and e.notify_id < r.to_id
      and e.notify_id <= coalesce(b.window_end, r.to_id)
      and e.notify_type = any (r.notify_types)
      and coalesce((select d.delivery_state from deliveries d
                    where d.tenant_id = e.tenant_id and d.notify_id = e.notify_id), 'DELIVERED') = any (r.delivery_states)
    order by e.notify_id limit $3),
  moved as (
    insert into deliveries as d (tenant_id, notify_id, delivery_state, due_at, generation)
    select $1, notify_id, 'PENDING', $4, date_part('epoch', $4::timestamptz) * 1000 from found
    on conflict (tenant_id, notify_id) do update
    set delivery_state = 'PENDING', due_at = excluded.due_at, attempts = 0,
        generation = greatest(excluded.generation, d.generation + 1)
    where d.delivery_state <> 'PENDING'
    returning 1),
  looked as (select count(*) = $3 as full, max(notify_id::text)::uuid as last from found)
  select (select count(*)::integer from moved) as replayed, l.full, b.window_end,
         case when l.full then l.last else coalesce(b.window_end, r.to_id) end as position
  from bound b, replay r, looked l`

const ADVANCE = `
  update webhook_replays
  set cursor_id = $3, replayed = replayed + $4, stepped_at = $5::timestamptz,
      replay_state = case when $6 then 'DONE' else 'RUNNING' end, finished_at = case when $6 then $5::timestamptz end
  where tenant_id = $1 and replay_id = $2`
