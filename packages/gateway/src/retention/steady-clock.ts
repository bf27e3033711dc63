import type { Db } from '../lib/postgres/db.ts'

/*
 * Age is told by the database's clock alone. A machine that comes up with a wrong date may be weeks ahead, and what that
 * drops is gone when its clock is set. So the loop writes down when it passed; a clock that it finds further on than a
 * gateway stands still, or further back, has jumped, and nothing is dropped until it has run on from there for a day.
 * That is long enough: with a clock that is off by five minutes every request of every dealer is refused (101001).
 * The newest rows are no witness instead: they are as wrong as the clock as soon as one order is placed, and a dealer
 * who sells once in two months is no jump.
 */

/** A gateway that stood still over a weekend has not seen a jump. What is kept for shortest after data is kept for 30 days. */
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
