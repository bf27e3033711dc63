import { readDatabaseTime } from '../lib/clock.ts'
import type { Finding, Findings, OpenPatient } from './finding.ts'

const TOLD_FROM_MS = 1_000

/** The database's clock decides which timestamps pass; this machine's stands in logs and signs what goes out. */
export async function checkClock({ db }: OpenPatient, say: Findings): Promise<Finding[]> {
  const { databaseMs, sentAt, receivedAt } = await readDatabaseTime(db, Date.now)
  const differenceMs = databaseMs - (sentAt + receivedAt) / 2
  // Half the round trip is what the reading may err by.
  const certainMs = Math.abs(differenceMs) - (receivedAt - sentAt) / 2
  if (certainMs < TOLD_FROM_MS) return [say.ok("This machine's clock and the database's agree.")]
  const [by, way] = [(Math.abs(differenceMs) / 1000).toFixed(1), differenceMs > 0 ? 'ahead of' : 'behind']
  return [
    say.warning(
      `The database's clock is ${by} s ${way} this machine's. Callers are judged by the database's, ±300 s. Let NTP keep both.`,
    ),
  ]
}
