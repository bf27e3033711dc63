import type { Clock } from '@dealer-esim/lib/clock.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Outcome } from '@dealer-esim/wholesalers/supplier.ts'
import { isBought } from '../balance/lack-of-money.ts'
import type { ConfiguredSupplier } from '../supplier-registry.ts'
import { seeSupplier } from './see-supplier.ts'

/** The same state is saved at most this often, so that most purchases save nothing. */
const SAVE_EVERY_MS = 60_000

/**
 * What the outcomes of one call prove about its supplier: a successful purchase proves that it works; an answer that
 * definitely bought nothing because the supplier as a whole cannot sell, e.g. because of wrong credentials, proves that it
 * fails. A refused product, a lack of money or a missing answer proves neither.
 */
export function provenBy(outcomes: readonly Outcome[]): { failure: string | null } | undefined {
  if (outcomes.some(isBought)) return { failure: null }
  const [first] = outcomes
  const isDown = outcomes.every((outcome) => outcome.kind === 'retry' && outcome.down === true)
  return isDown && first?.kind === 'retry' ? { failure: first.message } : undefined
}

/** Saves what a call that began at `beganAt` has shown about its supplier. */
export async function seePurchases(
  deps: { db: Db; databaseClock: Pick<Clock, 'now'> },
  { supplier, seen }: Pick<ConfiguredSupplier, 'supplier' | 'seen'>,
  outcomes: readonly Outcome[],
  beganAt: Date,
): Promise<void> {
  const proven = provenBy(outcomes)
  if (proven === undefined) return
  const last = seen?.last
  const known = last === undefined || last.state === 'NOT_TESTED' ? undefined : last
  const isKnown = known !== undefined && (known.state === 'FAILING' ? known.failure : null) === proven.failure
  if (isKnown && deps.databaseClock.now() - known.seenAt.getTime() < SAVE_EVERY_MS) return
  const after = await deps.db.tx((tx) => seeSupplier(tx, supplier.name, { by: 'PURCHASE', ...proven }, { beganAt }))
  if (after !== undefined && seen !== undefined) seen.last = after
}
