import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { type LoopDeps, type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import sql from 'sql-template-tag'
import { createAlert } from '#alerts/create-alert.ts'
import type { Config } from '#platform/config/config.ts'

export interface BackupAlertDeps extends LoopDeps {
  db: Db
  ids: Ids
  config: Pick<Config, 'backupAlert' | 'deployment'>
}

const POLL_MS = 10 * 60_000
/** A day, plus two hours for a backup that begins later than the previous one or takes longer. */
const STALE_HOURS = 26

/** Alerts operators once a day while the last backup of a production deployment is older than a day. */
export function backupAlertLoop(deps: BackupAlertDeps): Running {
  return runLoop(deps, 'backup alert', POLL_MS, () => alertOldBackup(deps))
}

/** @returns true if it alerted */
export async function alertOldBackup({ db, ids, config }: BackupAlertDeps): Promise<boolean> {
  if (config.backupAlert === 'off' || config.deployment !== 'production') return false
  return await db.tx(async (tx) => {
    // One node at a time.
    const [deployment] = await tx.query<{ createdAt: Date }>({ text: 'select created_at from deployment for update' })
    const last = await findLastBackup(tx)
    const [state] = await tx.query<{ isStale: boolean; isAlerted: boolean }>({
      text: `select $1::timestamptz < now() - $2 * interval '1 hour' as is_stale,
                    exists (select from alerts where kind = 'BACKUP_OLD' and created_at > now() - interval '1 day') as is_alerted`,
      values: [last?.startedAt ?? deployment!.createdAt, STALE_HOURS],
    })
    if (!state!.isStale || state!.isAlerted) return false
    createAlert(tx, ids, {
      kind: 'BACKUP_OLD',
      message: `${oldBackupText(last)} Find out why the scheduled backup fails (systemctl status dealer-esim-backup, or the jobs of the CronJob), or make one with the command backup. If you back up the database in another way, set BACKUP_ALERT=off.`,
      data: { file: last?.file ?? null },
    })
    return true
  })
}

export interface LastBackup {
  file: string
  startedAt: Date
  isStale: boolean
}

export async function findLastBackup(db: Pick<Db, 'query'>): Promise<LastBackup | undefined> {
  const [row] = await db.query<LastBackup>(sql`
    select file, started_at, started_at < now() - ${STALE_HOURS} * interval '1 hour' as is_stale from backups
    order by finished_at desc limit 1`)
  return row
}

export function oldBackupText(last: LastBackup | undefined): string {
  return last === undefined
    ? 'This database has never been backed up.'
    : `The last backup is from ${last.startedAt.toISOString()}: ${last.file}.`
}
