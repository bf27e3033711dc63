import { findLatestLedgerCheck } from '../wallet/verify/loop.ts'
import type { Finding, Findings, OpenPatient } from './finding.ts'

const HOUR_MS = 3_600_000
/** A check a day, and half a day for its own work. */
const STALE_MS = 36 * HOUR_MS

export async function checkLedger({ db }: OpenPatient, say: Findings): Promise<Finding[]> {
  const state = await findLatestLedgerCheck(db)
  if (!state) return [say.ok('The ledger was not checked yet: a worker does it once a day.')]
  if (state.faults > 0n) {
    const [first] = state.firstFaults
    const words = `The check of ${state.checkedOn} found faults in the ledger: ${state.faults}, the first: ${first}`
    return [say.fault(`${words} See all of them: npm run -s admin -- ledger verify`)]
  }
  if (Date.now() - state.finishedAt.getTime() > STALE_MS) {
    const words = `The ledger was checked on ${state.checkedOn} last, and should be daily.`
    return [say.warning(`${words} See that a worker runs (--role worker or all).`)]
  }
  return [say.ok(`The check of ${state.checkedOn} found the ledger right (transfers: ${state.transfers}).`)]
}
