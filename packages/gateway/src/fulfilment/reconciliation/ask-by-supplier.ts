import { groupBy } from '../../lib/batch.ts'
import type { Clock } from '../../lib/clock.ts'

/** Whoever takes longer over one question is left alone for this pass: the others would only add up. */
const SLOW_MS = 10_000

/** Jobs of one pass; the next pass begins at once. They are asked about before they come due again, in a minute. */
export const CLAIMED_MAX = 200

/**
 * Asks suppliers side by side, each one question after the other: one that hangs holds up what is its own, and the pass
 * for no longer than its time limit. `ask` does not reject; what is left out comes due again.
 */
export async function askBySupplier<Row extends { supplier: string }>(
  clock: Pick<Clock, 'monotonic'>,
  rows: readonly Row[],
  ask: (row: Row) => Promise<void>,
): Promise<void> {
  const askOne = async (ofOne: readonly Row[]) => {
    for (const row of ofOne) {
      const begunAt = clock.monotonic()
      await ask(row)
      if (clock.monotonic() - begunAt > SLOW_MS) return
    }
  }
  await Promise.all([...groupBy(rows, ({ supplier }) => supplier).values()].map(askOne))
}
