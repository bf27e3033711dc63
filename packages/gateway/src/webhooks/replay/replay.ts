import { EVENT_TYPES, type EventType } from '@dealer-esim/contract'
import { firstUuidAt, timeOfUuid } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql, { raw } from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { DELIVERY_OF_EVENT, type DeliveryState, STATE_OF_EVENT } from '../delivery-state.ts'
import { sendableSince } from '../sending/delivery-attempt.ts'
import type { WebhookDeps } from '../webhook-deps.ts'
import { SENDABLE_DAYS } from '../webhook-limits.ts'
import { requireEndpoint } from './resend-event.ts'

/** Final outcomes of a delivery. Events that are still being sent are not replayed. */
export const REPLAYABLE = ['DELIVERED', 'DEAD', 'UNSENT'] as const satisfies readonly DeliveryState[]
export type Replayable = (typeof REPLAYABLE)[number]
/** Events that were not received. */
export const REPLAYED_BY_DEFAULT: readonly Replayable[] = ['DEAD', 'UNSENT']
export const REPLAY_STATES = ['RUNNING', 'DONE', 'CANCELLED'] as const

export interface ReplayInput {
  /** When the events were recorded. Events too old to be sent (sending/attempt.ts) are left out. */
  from: Date
  /** If absent, all events until now. */
  to?: Date | undefined
  /** If absent, all types. */
  notifyTypes?: readonly EventType[] | undefined
  /** Absent: REPLAYED_BY_DEFAULT. */
  outcomes?: readonly Replayable[] | undefined
  /** Events per second. */
  ratePerS?: number | undefined
}

/** A job that sends recorded events again, oldest first, with their original notifyIds. */
export interface Replay {
  replayId: string
  tenantId: string
  replayState: (typeof REPLAY_STATES)[number]
  from: Date
  to: Date
  notifyTypes: EventType[]
  outcomes: Replayable[]
  ratePerS: number
  /** The number of events that matched when it was started. */
  matched: number
  replayed: number
  actor: string
  createdAt: Date
  finishedAt: Date | null
}

export interface StartedReplay extends Replay {
  /** Events that are left out because the endpoint is not subscribed to their types. Counted up to COUNTED_MAX together. */
  unsubscribed: { notifyType: EventType; count: number }[]
}

export const REPLAY_RATE_DEFAULT_PER_S = 50
export const REPLAY_RATE_MAX_PER_S = 1_000
/** Counting stops at this number, because the count only shows progress. */
const COUNTED_MAX = 1_000_000
/** Limits how many replays of a tenant run, so that a mistake cannot fill the queue. */
const RUNNING_MAX = 5

/**
 * Starts a replay. Any node runs its steps (replay-step.ts). It survives restarts, and pauses while the endpoint is
 * disabled. Events of types to which the endpoint is not subscribed now are left out. Locks the tenant's row and not the
 * endpoint's: counting may take seconds, and the sender locks the endpoint's row.
 * @throws Refusal for an invalid range or rate, if no endpoint accepts the events, or if RUNNING_MAX replays are already
 * running
 */
export async function startReplay(
  deps: Pick<WebhookDeps, 'db' | 'ids' | 'databaseClock'>,
  tenantId: string,
  input: ReplayInput,
  by: By,
): Promise<StartedReplay> {
  const now = new Date(deps.databaseClock.now())
  const { to = now, notifyTypes = EVENT_TYPES, outcomes = REPLAYED_BY_DEFAULT } = input
  const { ratePerS = REPLAY_RATE_DEFAULT_PER_S } = input
  if (input.from >= to) throw new Refusal(422, 'EMPTY_RANGE', 'The replay ends before it starts. Use an earlier start.')
  const since = sendableSince(now.getTime())
  if (to <= since) {
    const message = `Events older than ${SENDABLE_DAYS} days cannot be sent again. Use a later end.`
    throw new Refusal(422, 'EVENTS_TOO_OLD', message)
  }
  const from = new Date(Math.max(input.from.getTime(), since.getTime()))
  if (!Number.isInteger(ratePerS) || ratePerS < 1 || ratePerS > REPLAY_RATE_MAX_PER_S) {
    throw new Refusal(422, 'RATE', `Use a rate from 1 to ${REPLAY_RATE_MAX_PER_S} events per second.`)
  }
  const replayId = deps.ids.uuid()
  const [fromId, toId] = [firstUuidAt(from.getTime()), firstUuidAt(to.getTime())]
  const matching = (types: readonly EventType[]) => sql`
    (select e.notify_type from events e ${raw(DELIVERY_OF_EVENT)}
     where e.tenant_id = ${tenantId} and e.notify_id >= ${fromId} and e.notify_id < ${toId}
       and e.notify_type = any (${types}) and ${raw(STATE_OF_EVENT)} = any (${outcomes})
     limit ${COUNTED_MAX}) matching`
  const unsubscribed = await deps.db.tx(async (tx) => {
    const sentTypes = await requireEndpoint(tx, tenantId, notifyTypes)
    // Concurrent starts for one tenant wait for each other, so that each counts earlier ones.
    await tx.query(sql`select from tenants where tenant_id = ${tenantId} for no key update`)
    const [running] = await tx.query<{ count: number }>(sql`
      select count(*)::integer as count from webhook_replays where tenant_id = ${tenantId} and replay_state = 'RUNNING'`)
    if ((running?.count ?? 0) >= RUNNING_MAX) {
      throw new Refusal(
        409,
        'TOO_MANY_REPLAYS',
        `${RUNNING_MAX} replays of this tenant are running. Wait, or cancel one.`,
      )
    }
    tx.send(sql`
      insert into webhook_replays (tenant_id, replay_id, notify_types, delivery_states, from_id, to_id, cursor_id,
                                   rate_per_s, matched, stepped_at, actor, created_at)
      select ${tenantId}, ${replayId}, ${sentTypes}, ${outcomes}, ${fromId}, ${toId}, ${fromId}, ${ratePerS},
             count(*), ${now}, ${by.actor}, ${now}
      from ${matching(sentTypes)}`)
    audit(tx, deps.ids, {
      tenantId,
      ...by,
      action: 'webhook.replay',
      subject: replayId,
      after: { from, to, notifyTypes: sentTypes, outcomes, ratePerS },
    })
    const otherTypes = notifyTypes.filter((type) => !sentTypes.includes(type))
    if (otherTypes.length === 0) return []
    return tx.query<StartedReplay['unsubscribed'][number]>(sql`
      select notify_type, count(*)::integer as count from ${matching(otherTypes)} group by 1 order by 1`)
  })
  return { ...(await getReplay(deps.db, tenantId, replayId)), unsubscribed }
}

/** Cancels a replay. Events that it has already made due are still sent. @throws Refusal if no such replay is running */
export async function cancelReplay(
  deps: Pick<WebhookDeps, 'db' | 'ids' | 'databaseClock'>,
  tenantId: string,
  id: string,
  by: By,
): Promise<Replay> {
  const replayId = requireUuid(id, 'replay')
  await deps.db.tx(async (tx) => {
    const cancelled = await tx.query(sql`
      update webhook_replays set replay_state = 'CANCELLED', finished_at = ${new Date(deps.databaseClock.now())}
      where tenant_id = ${tenantId} and replay_id = ${replayId} and replay_state = 'RUNNING' returning 1`)
    if (cancelled.length === 0) throw notFound('running replay')
    audit(tx, deps.ids, { tenantId, ...by, action: 'webhook.cancel_replay', subject: replayId })
  })
  return getReplay(deps.db, tenantId, replayId)
}

/** @throws Refusal when it does not exist */
export async function getReplay(db: Db, tenantId: string, replayId: string): Promise<Replay> {
  const [row] = await db.query<ReplayRow>(sql`
    select ${COLUMNS} from webhook_replays where tenant_id = ${tenantId} and replay_id = ${requireUuid(replayId, 'replay')}`)
  if (!row) throw notFound('replay')
  return replayOf(row)
}

/** Newest first. */
export async function listReplays(db: Db, tenantId: string, limit: number): Promise<Replay[]> {
  const rows = await db.query<ReplayRow>(sql`
    select ${COLUMNS} from webhook_replays where tenant_id = ${tenantId} order by replay_id desc limit ${limit}`)
  return rows.map(replayOf)
}

type ReplayRow = Omit<Replay, 'from' | 'to'> & { fromId: string; toId: string }

const COLUMNS = sql`
  replay_id, tenant_id, replay_state, from_id, to_id,
  notify_types, delivery_states as outcomes, rate_per_s, matched, replayed, actor,
  created_at, finished_at`

function replayOf({ fromId, toId, ...row }: ReplayRow): Replay {
  return { ...row, from: new Date(timeOfUuid(fromId)), to: new Date(timeOfUuid(toId)) }
}
