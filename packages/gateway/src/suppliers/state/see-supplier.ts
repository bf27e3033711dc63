import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'

/** The columns of supplier_states that contain a state, all null if nothing has been seen. */
export interface SeenColumns {
  seenAt: Date | null
  seenBy: SeenBy | null
  failure: string | null
  failingSince: Date | null
}

export const SEEN_COLUMNS = 'seen_at, seen_by, failure, failing_since'

export function seenStateOf({ seenAt, seenBy, failure, failingSince }: SeenColumns): SeenState {
  if (seenAt === null || seenBy === null) return NOT_TESTED
  if (failure === null || failingSince === null) return { state: 'WORKING', seenAt, seenBy }
  return { state: 'FAILING', seenAt, seenBy, failure, since: failingSince }
}

/** Longer than all nodes need to notice changed settings. Anything that begins earlier may have used the old ones. */
const SETTLED_AFTER = '10 seconds'
/**
 * A supplier that failed its test is tested again after this time, because nothing else may show that a fault at the
 * supplier has ended.
 */
export const TEST_AGAIN_MS = '300000'
export const TEST_AGAIN = `${TEST_AGAIN_MS} milliseconds`

/**
 * Proves that a sighting was made with the current settings: `settledAt`, which a test has read before, or `beganAt`, the
 * database's time when a reading or purchase began.
 */
export type SeenWith = { settledAt: string } | { beganAt: Date }

/**
 * Saves an observation of a supplier, unless it was made with outdated settings. Locks the supplier's state until the
 * commit.
 * @returns the new state; undefined if the observation does not count
 */
export async function seeSupplier(
  tx: Tx,
  supplier: string,
  seen: Omit<Sighting, 'at'>,
  seenWith: SeenWith,
): Promise<SeenState | undefined> {
  await tx.query(sql`
    insert into supplier_states (supplier, settled_at, test_due_at)
    select supplier, created_at, null from suppliers where supplier = ${supplier} on conflict do nothing`)
  const [counts, value] =
    'settledAt' in seenWith
      ? ['settled_at::text = $2', seenWith.settledAt]
      : ['settled_at <= $2::timestamptz', seenWith.beganAt]
  const [row] = await tx.query<SeenColumns & { at: Date }>({
    text: `select ${SEEN_COLUMNS}, now() as at from supplier_states where supplier = $1 and ${counts} for no key update`,
    values: [supplier, value],
  })
  if (row === undefined) return undefined
  const after = stateAfter(seenStateOf(row), { ...seen, at: row.at })
  const { seenAt, seenBy, failure, failingSince } = columnsOf(after)
  tx.send({
    text: `update supplier_states set seen_at = $2, seen_by = $3, failure = $4, failing_since = $5 where supplier = $1`,
    values: [supplier, seenAt, seenBy, failure, failingSince],
  })
  if (seen.by === 'TEST') saveTest(tx, supplier, seen.failure)
  return after
}

function columnsOf(after: SeenState): SeenColumns {
  if (after.state === 'NOT_TESTED') return { seenAt: null, seenBy: null, failure: null, failingSince: null }
  const { seenAt, seenBy } = after
  if (after.state === 'WORKING') return { seenAt, seenBy, failure: null, failingSince: null }
  return { seenAt, seenBy, failure: after.failure, failingSince: after.since }
}

/** Creates the state of a newly added supplier: not tested. */
export function beginSeen(tx: Tx, supplier: string): void {
  tx.send({
    text: `insert into supplier_states (supplier, test_due_at) values ($1, now() + interval '${TEST_BY_WORKER}')`,
    values: [supplier],
  })
}

/**
 * Discards observations of a supplier made with other settings. Its balance and catalogue are read again with the new ones.
 */
export function forgetSeen(tx: Tx, supplier: string): void {
  const settledAt = `clock_timestamp() + interval '${SETTLED_AFTER}'`
  tx.send({
    text: `insert into supplier_states (supplier, settled_at, test_due_at)
           values ($1, ${settledAt}, now() + interval '${TEST_BY_WORKER}')
           on conflict (supplier) do update set settled_at = excluded.settled_at, test_due_at = excluded.test_due_at,
             seen_at = null, seen_by = null, failure = null, failing_since = null, tested_at = null, test_failure = null`,
    values: [supplier],
  })
  tx.send({ text: `update supplier_balances set due_at = ${settledAt} where supplier = $1`, values: [supplier] })
  tx.send({
    text: `update supplier_syncs set due_at = ${settledAt} where supplier = $1 and every_minutes is not null`,
    values: [supplier],
  })
}

/** The process that adds or changes a supplier also tests it. If it has not done so by this time, a worker does. */
const TEST_BY_WORKER = '1 minute'

function saveTest(tx: Tx, supplier: string, failure: string | null): void {
  tx.send({
    text: `update supplier_states set tested_at = now(), test_failure = $2,
             test_due_at = case when $2::text is not null then now() + interval '${TEST_AGAIN}' end
           where supplier = $1`,
    values: [supplier, failure],
  })
}

/** What proves that a supplier works or fails: its test, a reading of its balance or catalogue, or a purchase. */
export const SEEN_BY = ['TEST', 'BALANCE', 'CATALOGUE', 'PURCHASE'] as const
export type SeenBy = (typeof SEEN_BY)[number]

/** One observation. `failure`: the reason for a failure, such as `101003: signature error`; null: it worked. */
export interface Sighting {
  at: Date
  by: SeenBy
  failure: string | null
}

/*
 * A supplier's state is the last observation, never an assumption:
 *
 *   NOT_TESTED  nothing has been seen since it was added, or since its settings changed
 *   WORKING     the last thing seen worked
 *   FAILING     the last thing seen failed; `since` is the first failure after the latest success
 */
export type SeenState =
  | { state: 'NOT_TESTED' }
  | { state: 'WORKING'; seenAt: Date; seenBy: SeenBy }
  | { state: 'FAILING'; seenAt: Date; seenBy: SeenBy; failure: string; since: Date }

export const NOT_TESTED: SeenState = { state: 'NOT_TESTED' }

/**
 * The state after an observation. Pure. An observation older than the last one changes nothing: they can be saved out of
 * order.
 */
export function stateAfter(before: SeenState, { at, by, failure }: Sighting): SeenState {
  if (before.state !== 'NOT_TESTED' && at < before.seenAt) return before
  const seen = { seenAt: at, seenBy: by }
  if (failure === null) return { state: 'WORKING', ...seen }
  return { state: 'FAILING', ...seen, failure, since: before.state === 'FAILING' ? before.since : at }
}
