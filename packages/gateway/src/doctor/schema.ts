import { pendingMigrations } from '../lib/postgres/migrate.ts'
import type { Finding, Findings } from './finding.ts'
import type { OpenPatient } from './patient.ts'

export async function checkSchema({ db }: OpenPatient, say: Findings): Promise<Finding[]> {
  const pending = await pendingMigrations(db)
  if (pending.length === 0) return [say.ok("The tables are this release's.")]
  const [first, last] = [pending[0], pending.at(-1)]
  const which = pending.length === 1 ? String(first) : `${pending.length} migrations, ${first} to ${last}`
  return [
    say.warning(
      `This database lacks ${which}. The next start of a gateway of this release runs them, or: npm run -s admin -- migrate`,
    ),
  ]
}
