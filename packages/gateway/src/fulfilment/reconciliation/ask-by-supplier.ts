import { groupBy } from '@dealer-esim/lib/batch.ts'
import type { Clock } from '@dealer-esim/lib/clock.ts'

/** A supplier that takes longer than this for one answer is not queried again in this pass. */
const SLOW_MS = 10_000

/** Jobs per pass. The next pass begins immediately, so all of them are done before they come due again in a minute. */
export const CLAIMED_MAX = 200

/**
 * Queries all suppliers concurrently, and each of them about one row at a time. A supplier that hangs delays only its own
 * rows, and delays the pass by one time limit. `ask` must not reject. Skipped rows become due again.
 */
export async function askBySupplier<Row extends { supplier: string }>(
  clock: Pick<Clock, 'monotonic'>,
  rows: readonly Row[],
  ask: (row: Row) => Promise<void>,
): Promise<void> {
  const askOne = async (ownRows: readonly Row[]) => {
    for (const row of ownRows) {
      const startedAt = clock.monotonic()
      await ask(row)
      if (clock.monotonic() - startedAt > SLOW_MS) return
    }
  }
  await Promise.all([...groupBy(rows, ({ supplier }) => supplier).values()].map(askOne))
}
