import { readDatabaseTime } from '../lib/clock.ts'
import type { Finding, Findings, OpenPatient } from './finding.ts'

const DIFFERENCE_MIN_MS = 1_000

/** The database's clock decides which timestamps are valid; this machine's clock is used in logs and outgoing signatures. */
export async function checkClock({ db }: OpenPatient, say: Findings): Promise<Finding[]> {
  const { databaseMs, sentAt, receivedAt } = await readDatabaseTime(db, Date.now)
  const differenceMs = databaseMs - (sentAt + receivedAt) / 2
  // The reading is wrong by at most half the round trip.
  const certainMs = Math.abs(differenceMs) - (receivedAt - sentAt) / 2
  if (certainMs < DIFFERENCE_MIN_MS) return [say.ok("This machine's clock and the database's agree.")]
  const [by, way] = [(Math.abs(differenceMs) / 1000).toFixed(1), differenceMs > 0 ? 'ahead of' : 'behind']
  return [
    say.warning(
      `The database's clock is ${by} s ${way} this machine's. Callers are judged by the database's, ±300 s. Let NTP keep both.`,
    ),
  ]
}
