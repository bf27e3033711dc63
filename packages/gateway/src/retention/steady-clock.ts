import type { Db } from '../lib/postgres/db.ts'

/*
 * Only the database's clock determines age. A machine that starts with a wrong date may be weeks ahead, and rows dropped
 * because of it are lost. So the loop stores the time of each pass. If the clock is later than the longest idle time of a
 * gateway explains, or earlier than the last pass, it has jumped, and nothing is dropped for a day. A day is enough: if the
 * clock is off by five minutes, all requests of all dealers are refused (101001). The newest rows cannot replace this check:
 * after one order they are as wrong as the clock, and a dealer who sells once in two months would look like a jump.
 */

/** A gateway that was stopped over a weekend has not seen a jump. The shortest retention of data is 30 days. */
const STOOD_STILL_MAX = `interval '3 days'`
/** A primary that takes over may be a little behind. */
const BEHIND_MAX = `interval '1 minute'`
const STEADY_FOR = `interval '1 day'`

export interface ClockSeen {
  /** Nothing is dropped otherwise. */
  isSteady: boolean
  /** It was so far on when it was last seen; undefined: it goes on from there, or was never seen. */
  jumpedFrom: Date | undefined
}

/** Looks at the database's clock, and remembers it. Locks its one row: nodes look one after the other. */
export async function watchClock(db: Db): Promise<ClockSeen> {
  const [seen] = await db.query<{ steady: boolean; jumped: boolean; before: Date | null }>({
    text: `
      with before as materialized (select seen_at from retention_clock)
      insert into retention_clock as c (seen_at, steady_since) values (now(), now())
      on conflict (singleton) do update set seen_at = now(), steady_since = case
        when now() between c.seen_at - ${BEHIND_MAX} and c.seen_at + ${STOOD_STILL_MAX} then c.steady_since else now() end
      returning steady_since <= now() - ${STEADY_FOR} as steady,
        steady_since = now() as jumped, (select seen_at from before) as before`,
  })
  return { isSteady: seen!.steady, jumpedFrom: seen!.jumped ? (seen!.before ?? undefined) : undefined }
}
