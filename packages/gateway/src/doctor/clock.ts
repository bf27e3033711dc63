import { readDatabaseTime } from '../lib/database-time.ts'
import type { Finding, Findings } from './finding.ts'
import type { OpenPatient } from './patient.ts'

const TOLD_FROM_MS = 1_000

/** The database's clock decides which timestamps pass; this machine's stands in logs and signs what goes out. */
export async function checkClock({ db }: OpenPatient, say: Findings): Promise<Finding[]> {
  const { database_ms, sent_at, received_at } = await readDatabaseTime(db, Date.now)
  const difference_ms = database_ms - (sent_at + received_at) / 2
  // Half the round trip is what the reading may err by.
  const certain_ms = Math.abs(difference_ms) - (received_at - sent_at) / 2
  if (certain_ms < TOLD_FROM_MS) return [say.ok("This machine's clock and the database's agree.")]
  const [by, way] = [(Math.abs(difference_ms) / 1000).toFixed(1), difference_ms > 0 ? 'ahead of' : 'behind']
  return [
    say.warning(
      `The database's clock is ${by} s ${way} this machine's. Callers are judged by the database's, ±300 s. Let NTP keep both.`,
    ),
  ]
}
