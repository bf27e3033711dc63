import { groupBy } from '../../lib/batch.ts'
import type { Clock } from '../../lib/clock.ts'

/** Whoever takes longer over one question is left alone for this pass: the others would only add up. */
const SLOW_MS = 10_000

/** What is taken at once is asked about before it comes due again, in a minute: not by two nodes at a time. */
const TAKEN_MAX = 200

/** Takes what is due of one tenant after the other, until it is enough for a pass. */
export async function takeFrom<Row>(
  tenants: readonly { tenantId: string }[],
  take: (tenantId: string) => Promise<Row[]>,
): Promise<Row[]> {
  const due: Row[] = []
  for (const { tenantId } of tenants) {
    if (due.length >= TAKEN_MAX) break
    due.push(...(await take(tenantId)))
  }
  return due
}

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
