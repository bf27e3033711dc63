import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createIds } from '@dealer-esim/lib/ids.ts'
import { ensureLocalMasterKey } from '@dealer-esim/lib/local-master-key.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import type { Command } from 'commander'
import type { BackupHeader } from '#operations/backup/make-backup.ts'
import { checkBackup, type RestoredBackup, restoreBackup } from '#operations/backup/restore-backup.ts'
import { type Config, readConfig } from '#platform/config/config.ts'
import { borrowDatabase } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { getFileSize } from '../kernel/cli-files.ts'
import type { AdminContext } from '../kernel/context.ts'
import { fields } from '../kernel/text-table.ts'

export function restoreCommand(restore: Command, context: AdminContext): void {
  restore
    .argument('<file>', 'a file that the command backup made')
    .description(
      'Restore a backup into an empty database, which DATABASE_URL names. A backup that was cut or altered, or that MASTER_KEY does not open, is refused before anything is touched. Leaves the gateway in recovery: docs/recovery.md says what to do before you release its dealers.',
    )
    .option('--check', 'only read the file and check it; no database is needed')
    .addHelpText(
      'after',
      '\nExample:\n  npm run -s admin -- restore /var/backups/dealer-esim/dealer-esim-20261129T030000Z.backup --check',
    )
    .action(async (file: string, options: { check?: boolean }) => {
      getFileSize(file)
      const masterKeys = findMasterKeys(readConfig(process.env, []))
      if (options.check) {
        const header = await checkBackup(file, masterKeys)
        return context.print(
          `${factsOf(file, header)}\n\nThe file is complete and unaltered, and MASTER_KEY opens it.`,
          {
            ...summaryOf(file, header),
            ok: true,
          },
        )
      }
      const { config, url, stop } = await borrowDatabase()
      try {
        const restored = await restoreBackup({
          ...{ file, masterKeys, databaseUrl: url, schema: config.databaseSchema, kind: config.deployment },
          log: silentLog,
          ids: createIds(Date.now),
          onTable: (table, rows) => rows >= PROGRESS_ROWS && context.progress(`${table}: ${rows} rows`),
        })
        const { header, rows } = restored
        context.print(restoredText(file, restored), {
          ...summaryOf(file, header),
          rows,
          ...(rows !== null && { recovering: true }),
        })
      } finally {
        await stop()
      }
    })
}

const PROGRESS_ROWS = 100_000

/** Never creates a key, because a new one opens no backup. */
function findMasterKeys({ masterKeys, dataDir }: Config): readonly [Buffer, ...Buffer[]] {
  if (masterKeys !== undefined) return masterKeys
  if (existsSync(join(dataDir, 'master.key'))) return [ensureLocalMasterKey(dataDir)]
  throw new UsageError('Set MASTER_KEY to the key of the gateway that made the backup.')
}

function summaryOf(file: string, header: BackupHeader) {
  const { startedAt, release, label, kind, encrypted, masterKeyFingerprint } = header
  return { file, startedAt, release, label, deployment: kind, encrypted, masterKeyFingerprint }
}

function factsOf(file: string, { startedAt, release, label, kind, encrypted }: BackupHeader): string {
  return fields([
    ['backup', file],
    ['of', startedAt],
    ['made by', `release ${release}, ${label}`],
    ['deployment', `${kind}, ${encrypted ? 'encrypted' : 'not encrypted'}`],
  ])
}

function restoredText(file: string, { header, rows }: RestoredBackup): string {
  if (rows === null)
    return `${factsOf(file, header)}

The rows of this file were already restored, and the database is now migrated. To see what is left to do: npm run -s admin -- recovery show`
  return `${factsOf(file, header)}

${rows} rows are restored. Dealers, suppliers and travellers know what happened after ${header.startedAt}; this database does not:

The gateway is in recovery: nothing is bought, cancelled or sent, and dealers are answered 000002. Next, as in docs/recovery.md:

1. Ask all dealers for their orders and ICCIDs since an hour before the backup.
2. Revoke again what was revoked since: AppSecrets, keys, people. Only then start a worker and the API nodes.
3. Settle what is in doubt: npm run -s admin -- recovery show
4. Release dealers: npm run -s admin -- recovery release
5. Check the result: npm run -s admin -- doctor, npm run -s admin -- ledger verify`
}
