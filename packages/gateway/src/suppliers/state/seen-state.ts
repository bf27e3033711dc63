/** What proves that a supplier works or fails: its test, a reading of its balance or catalogue, or a purchase. */
export const SEEN_BY = ['TEST', 'BALANCE', 'CATALOGUE', 'PURCHASE'] as const
export type SeenBy = (typeof SEEN_BY)[number]

/** One proof. `failure`: why it failed, such as `101003: signature error`; null: it worked. */
export interface Sighting {
  at: Date
  by: SeenBy
  failure: string | null
}

/*
 * A supplier's state is what was seen last, never what is hoped:
 *
 *   NOT_TESTED  nothing was seen since it was added, or since its settings changed
 *   WORKING     the last thing seen worked
 *   FAILING     the last thing seen failed; `since` is the first failure after the latest success
 */
export type SeenState =
  | { state: 'NOT_TESTED' }
  | { state: 'WORKING'; seenAt: Date; seenBy: SeenBy }
  | { state: 'FAILING'; seenAt: Date; seenBy: SeenBy; failure: string; since: Date }

export const NOT_TESTED: SeenState = { state: 'NOT_TESTED' }

/** The state after a sighting. Pure. One that is older than the last one changes nothing: they can be saved out of order. */
export function stateAfter(before: SeenState, { at, by, failure }: Sighting): SeenState {
  if (before.state !== 'NOT_TESTED' && at < before.seenAt) return before
  const seen = { seenAt: at, seenBy: by }
  if (failure === null) return { state: 'WORKING', ...seen }
  return { state: 'FAILING', ...seen, failure, since: before.state === 'FAILING' ? before.since : at }
}
