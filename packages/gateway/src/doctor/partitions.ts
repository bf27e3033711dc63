import { findMissingPartitions } from '../lib/postgres/partitions.ts'
import { PARTITIONED } from '../retention/table.ts'
import type { Finding, Findings } from './finding.ts'
import type { OpenPatient } from './patient.ts'

export async function checkPartitions({ db }: OpenPatient, say: Findings): Promise<Finding[]> {
  const tables = (await findMissingPartitions(db, PARTITIONED)).filter(({ names }) => names.length > 0)
  if (tables.length === 0) return [say.ok('The partitions of the present and the next span are there.')]
  const which = tables.map(({ table, names }) => `${table}: ${names.join(', ')}`).join('; ')
  return [
    say.warning(
      `Partitions are missing (${which}). A worker makes them at its start and every few minutes: see that one runs (--role worker or all), or: npm run -s admin -- migrate`,
    ),
  ]
}
