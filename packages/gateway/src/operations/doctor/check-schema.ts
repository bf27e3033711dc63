import { compareSchema } from '@dealer-esim/lib/postgres/migrations.ts'
import { findMissingPartitions } from '@dealer-esim/lib/postgres/partitions.ts'
import { migrationsFolder } from '#platform/package-root.ts'
import { PARTITIONED } from '#platform/retention/retention-table.ts'
import { findLatestLedgerCheck } from '#wallet/verify/verify-loop.ts'
import { findLastBackup, oldBackupText } from '../backup/backup-alert.ts'
import { findRecovery } from '../recovery/recovery-state.ts'
import type { DatabaseCheckInput, Finding, Findings } from './finding.ts'

export async function checkSchema({ db }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const { pending, next } = await compareSchema(db, migrationsFolder())
  if (next !== undefined) {
    return [
      findings.ok(
        `The database was upgraded to the next release, ${next.label}. This release can use it too, alongside the next one or after a rollback.`,
      ),
    ]
  }
  if (pending.length === 0) return [findings.ok('The database has the tables of this release.')]
  const [fresh] = await db.query({ text: `select where to_regclass('deployment') is null` })
  if (fresh !== undefined) {
    return [
      findings.warning(
        'This database is empty. To restore a backup, run restore now: it refuses a database that was migrated or used. For a new gateway, start it: it creates its tables.',
        'npm run -s admin -- restore FILE',
      ),
    ]
  }
  const [first, last] = [pending[0], pending.at(-1)]
  const which = pending.length === 1 ? String(first) : `${pending.length} migrations, ${first} to ${last}`
  return [
    findings.warning(
      `This database lacks ${which}. The next gateway of this release that starts applies them. They can also be applied before.`,
      'npm run -s admin -- migrate',
    ),
  ]
}

export async function checkPartitions({ db }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const tables = (await findMissingPartitions(db, PARTITIONED)).filter(({ names }) => names.length > 0)
  if (tables.length === 0) return [findings.ok('The partitions for the current and the next period exist.')]
  const which = tables.map(({ table, names }) => `${table}: ${names.join(', ')}`).join('; ')
  return [
    findings.warning(
      `Partitions are missing (${which}). A worker creates them when it starts and every few minutes: start one (--role worker or all).`,
      'npm run -s admin -- migrate',
    ),
  ]
}

/** Says that the gateway answers dealers 000002 since a restore, and why. */
export async function checkRecovery({ db }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const recovery = await findRecovery(db)
  if (recovery === undefined) return [findings.ok('The gateway is not in recovery from a restore.')]
  return [
    findings.warning(
      `The gateway is in recovery since ${recovery.restoredAt.toISOString()}: nothing is bought, cancelled or sent, and dealers are answered 000002 until you release them. docs/recovery.md says what to do before.`,
      'npm run -s admin -- recovery show',
    ),
  ]
}

export async function checkBackups({ db, config }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  if (config.deployment !== 'production' || config.backupAlert === 'off') return []
  const last = await findLastBackup(db)
  if (last !== undefined && !last.isStale) return [findings.ok(oldBackupText(last))]
  return [
    findings.warning(
      `${oldBackupText(last)} Make one each day (docs/recovery.md), or set BACKUP_ALERT=off if you back up the database in another way.`,
      'npm run -s admin -- backup FOLDER --encrypt',
    ),
  ]
}

const HOUR_MS = 3_600_000
/** One check a day, plus half a day for the check itself. */
const STALE_MS = 36 * HOUR_MS

export async function checkLedger({ db }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const state = await findLatestLedgerCheck(db)
  if (!state) return [findings.ok('The ledger has not been checked yet: a worker checks it once a day.')]
  if (state.faults > 0n) {
    const [first] = state.firstFaults
    return [
      findings.fault(
        `The check on ${state.checkedOn} found faults in the ledger: ${state.faults}. The first one: ${first} List all of them on the server.`,
        'npm run -s admin -- ledger verify',
      ),
    ]
  }
  if (Date.now() - state.finishedAt.getTime() > STALE_MS) {
    return [
      findings.warning(
        `The ledger was last checked on ${state.checkedOn}, but should be checked daily. Make sure that a worker runs (--role worker or all).`,
      ),
    ]
  }
  return [findings.ok(`The check on ${state.checkedOn} found no faults in the ledger (transfers: ${state.transfers}).`)]
}
