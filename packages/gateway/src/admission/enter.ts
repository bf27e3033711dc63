import { CLOCK_WINDOW_MS, REQUEST_ID_KEPT_MS } from '@dealer-esim/contract'
import { ApiError } from '../lib/api-error.ts'
import { type Batcher, createBatcher } from '../lib/batch.ts'
import type { Clock, DatabaseClock } from '../lib/clock.ts'
import { NULL, plainArray, uuidArray } from '../lib/postgres/columns.ts'
import type { Db, Statement } from '../lib/postgres/db.ts'
import { sqlState } from '../lib/postgres/errors.ts'
import { ENTER_ONE, ENTER_REQUESTS } from './enter.sql.ts'

export interface Entry {
  tenantId: string
  requestId: string
  timestampMs: number
  /** Of the credentials and settings that the request was judged by. */
  version: bigint
}

export interface Entered {
  verdict: 'admitted' | 'stale' | 'used' | 'over-qps'
  /** Current when the request was admitted. */
  catalogueVersion: bigint
}

export interface EnterDeps {
  /** Commits here need not wait for the disk (DbOptions.asynchronousCommit). */
  db: Db
  clock: Clock
  databaseClock: DatabaseClock
  defaultQpsLimit: number
  /** Makes the partitions that are missing; called when a slot has none. */
  maintainPartitions(): Promise<unknown>
}

/** More in one statement gains nothing: at 64 a statement takes 1.8 ms (36 000 requests/s). */
const BATCH_MAX = 64
/** One statement runs while the next gathers. A second begins beside one that takes long. */
const LANES = 2
/** Longer than a statement takes on a busy machine: two halves cost more than a whole. */
const PATIENCE_MS = 10
/** After a crowd: begun at once, the next statement would be for one or two, and as dear as one for ten. */
const GATHER_MS = 2
/** Beyond this the queue is longer than a second's work: better to say so than to let everybody wait. */
const WAITING_MAX = 10_000

const HOUR_MS = 3_600_000
/** More than the clock window: how near the edge of a slot an id is entered on both sides. */
const EDGE_MS = CLOCK_WINDOW_MS + 60_000

/** Requests of all tenants, admitted by one statement for all that arrive together (enter.sql.ts). */
export function entrance(deps: EnterDeps): Batcher<Entry, Entered> {
  return createBatcher<Entry, Entered>({
    limit: BATCH_MAX,
    concurrency: LANES,
    pace: { clock: deps.clock, overlapAfterMs: PATIENCE_MS, gatherMs: GATHER_MS, splitsBursts: true },
    queueLimit: WAITING_MAX,
    queueFullError: () => new ApiError('000002'),
    // One id twice in one statement, in whatever case, could not be told apart: the second waits for the next one. The
    // tenant is left out: random ids of two do not meet, and joining the two texts cost time for each request.
    key: (entry) => entry.requestId.toLowerCase(),
    run: (entries) => enterBatch(deps, entries),
  })
}

async function enterBatch(deps: EnterDeps, entries: Entry[]): Promise<Entered[]> {
  try {
    return await runStatement(deps, entries)
  } catch (error) {
    if (sqlState(error) !== CHECK_VIOLATION) throw error
    await deps.maintainPartitions() // no partition for the slot: the loop that makes them ahead is late
    return runStatement(deps, entries)
  }
}

const CHECK_VIOLATION = '23514'

async function runStatement(deps: EnterDeps, entries: Entry[]): Promise<Entered[]> {
  const statement = entries.length === 1 ? enterOne(deps, entries[0]!) : enterAll(deps, entries)
  const sentAt = deps.clock.monotonic()
  const [answer] = await deps.db.query<{ nowMs: number; catalogueVersion: bigint; verdicts: string }>(statement)
  deps.databaseClock.observe(answer!.nowMs, sentAt, deps.clock.monotonic())
  return entries.map((_, index) => ({
    verdict: VERDICTS[answer!.verdicts[index] as keyof typeof VERDICTS],
    catalogueVersion: answer!.catalogueVersion,
  }))
}

function enterAll({ databaseClock, defaultQpsLimit }: EnterDeps, entries: Entry[]): Statement {
  const now = databaseClock.now()
  const slots = entries.map(slotOf)
  return {
    name: 'enter-requests',
    text: ENTER_REQUESTS,
    values: [
      uuidArray(entries.map((entry) => entry.tenantId)),
      uuidArray(entries.map((entry) => entry.requestId)),
      plainArray(slots),
      plainArray(slots.map((slot) => otherSlot(slot, now) ?? NULL)),
      plainArray(entries.map((entry) => entry.version)),
      defaultQpsLimit,
      ...earlierSlots(now),
    ],
  }
}

function enterOne({ databaseClock, defaultQpsLimit }: EnterDeps, entry: Entry): Statement {
  const now = databaseClock.now()
  const slot = slotOf(entry)
  const other = otherSlot(slot, now)
  const slots = other === null ? [slot] : [slot, other].sort((left, right) => left - right)
  const values = [entry.tenantId, entry.requestId, plainArray(slots), entry.version, defaultQpsLimit]
  return { name: 'enter-one', text: ENTER_ONE, values: [...values, ...earlierSlots(now)] }
}

function slotOf({ timestampMs }: Entry): number {
  return Math.floor(timestampMs / HOUR_MS)
}

/** The first of the slots that still count, and the last of those that nobody enters any more. */
function earlierSlots(nowMs: number): [number, number] {
  const first = Math.floor((nowMs - CLOCK_WINDOW_MS - REQUEST_ID_KEPT_MS) / HOUR_MS)
  return [first, Math.floor((nowMs - EDGE_MS) / HOUR_MS) - 1]
}

const VERDICTS = { A: 'admitted', S: 'stale', U: 'used', Q: 'over-qps' } as const

/** The slot on the other side of an edge that is near now; null where both clocks of a repeat share one slot. */
export function otherSlot(slot: number, nowMs: number): number | null {
  const before = Math.floor((nowMs - EDGE_MS) / HOUR_MS)
  const after = Math.floor((nowMs + EDGE_MS) / HOUR_MS)
  if (before === after) return null
  return slot === before ? after : before
}
