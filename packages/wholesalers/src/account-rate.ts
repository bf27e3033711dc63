import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import { isAhead } from '@dealer-esim/lib/leases.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'

/**
 * The rate limit of a supplier account, shared by all nodes: each request reserves the next free moment in a database row.
 * A node that misses its moment because its machine is busy reserves another one: sending all its late requests together
 * would exceed the limit.
 */
export interface AccountRate {
  /** Waits for this request's moment. @returns false if the wait would be too long: the request must not be sent */
  turn(): Promise<boolean>
}

/** Requests are spaced this much wider than the limit requires, so that uneven network delays do not exceed it. */
const MARGIN = 16 / 15
/**
 * A request may be sent this late. Even if the network then delays it by as much again, no second has more requests than
 * allowed.
 */
const LATE_MAX_MS = (1000 * (MARGIN - 1)) / 2
/** The maximum time that a request waits: many times the queue of all nodes at their default concurrency. */
export const TURN_WAIT_MAX_MS = 10_000

/** The part of the account's rate that questions may take. */
const QUESTIONS_SHARE = 1 / 8
/** Questions per second if the account has no limit. */
const QUESTIONS_PER_SECOND = 2

interface Question {
  waitMaxMs: number
  isPostponed: boolean
}

const questions = new AsyncLocalStorage<Question>()

/**
 * Runs supplier calls that anybody may cause. Their requests get a small part of the account's rate, and are sent only
 * while no other request is waiting for its moment: a purchase never waits for more than one of them.
 * @returns `isPostponed`: a request was not sent, because others came first for longer than `waitMaxMs`
 */
export async function asQuestion<Result>(
  call: () => Promise<Result>,
  waitMaxMs = TURN_WAIT_MAX_MS,
): Promise<{ result: Result; isPostponed: boolean }> {
  const question: Question = { waitMaxMs, isPostponed: false }
  const result = await questions.run(question, call)
  return { result, isPostponed: question.isPostponed }
}

/**
 * @param perSecond of the account; undefined if it has no limit: then only questions wait
 * @param share the part of the account that this gateway may use, from 0 to 1
 */
export function accountRate(
  db: Pick<Db, 'query'>,
  supplier: string,
  { perSecond, share = 1 }: { perSecond: number | undefined; share?: number | undefined },
): AccountRate {
  const everyMs = perSecond === undefined ? undefined : (1000 / (perSecond * share)) * MARGIN
  const questionEveryMs = everyMs === undefined ? 1000 / QUESTIONS_PER_SECOND : everyMs / QUESTIONS_SHARE
  const take = everyMs === undefined ? async () => true : createTake(db, supplier, everyMs, LATE_MAX_MS)
  const takeQuestion = createTake(db, `${supplier}:questions`, questionEveryMs, Number.POSITIVE_INFINITY)

  /** Takes a moment that no other request is waiting for. */
  async function takeUnused(waitMaxMs: number): Promise<boolean> {
    const until = systemClock.monotonic() + waitMaxMs
    if (!(await takeQuestion(waitMaxMs))) return false
    while (!(await take(0))) {
      if (systemClock.monotonic() > until) return false
      await delay(everyMs)
    }
    return true
  }

  return {
    async turn() {
      const question = questions.getStore()
      if (question === undefined) return take(TURN_WAIT_MAX_MS)
      // After the first unsent request, the question's other requests are not sent either.
      if (!question.isPostponed && (await takeUnused(question.waitMaxMs))) return true
      question.isPostponed = true
      return false
    },
  }
}

/** @returns a function that reserves the next moment, if that is not further away than `waitMaxMs`, and waits for it */
function createTake(
  db: Pick<Db, 'query'>,
  row: string,
  everyMs: number,
  lateMaxMs: number,
): (waitMaxMs: number) => Promise<boolean> {
  /** The fastest round trip to the database so far. */
  let wayMs = Number.POSITIVE_INFINITY
  return async (waitMaxMs) => {
    const startedAt = systemClock.monotonic()
    do {
      const askedAt = systemClock.monotonic()
      const [taken] = await db.query<{ waitMs: number; tookMs: number }>({
        name: 'supplier-rate',
        text: TAKE,
        values: [row, everyMs, waitMaxMs],
      })
      if (taken === undefined) return false
      wayMs = Math.min(wayMs, systemClock.monotonic() - askedAt - taken.tookMs)
      if (taken.waitMs > 0) await delay(taken.waitMs)
      // Lateness is measured from the query, because this node may have been slow to read the answer.
      const lateMs = systemClock.monotonic() - askedAt - wayMs - taken.tookMs - taken.waitMs
      if (lateMs <= lateMaxMs) return true
    } while (systemClock.monotonic() - startedAt <= waitMaxMs)
    return false
  }
}

/**
 * Ignores a next_at more than two of the longest waits away: a fast clock wrote it. Questions of an
 * account without a limit are spaced wider than its requests, but by less than this.
 */
const AHEAD = isAhead('r.next_at', String(2 * TURN_WAIT_MAX_MS), 'clock_timestamp()')
/** Locks the supplier's row until its own commit. */
const TAKE = `
  insert into supplier_rates as r (supplier, next_at) values ($1, clock_timestamp() + $2 * interval '1 millisecond')
  on conflict (supplier) do update
    set next_at = case when ${AHEAD} then clock_timestamp() else greatest(r.next_at, clock_timestamp()) end
      + $2 * interval '1 millisecond'
    where ${AHEAD} or r.next_at <= clock_timestamp() + $3 * interval '1 millisecond'
  returning greatest(0, extract(epoch from next_at - clock_timestamp()) * 1000 - $2)::float8 as wait_ms,
    (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::float8 as took_ms`
