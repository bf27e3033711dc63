import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { type MadeBackup, makeBackup } from '#operations/backup/make-backup.ts'
import type { AdminDeps } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import type { AdminContext } from '../kernel/context.ts'
import { fields } from '../kernel/text-table.ts'

interface BackupOptions {
  encrypt?: boolean
  keep?: number
  printKey?: boolean
}

export function backupCommand(backup: Command, context: AdminContext): void {
  backup
    .argument('<file-or-folder>', 'a new file, or a folder in which the file is named after its time')
    .description(
      'Write everything that is in the database, as it is now, to a file, while gateways go on selling. Proves that MASTER_KEY opens what is encrypted, reads the file again, and says what is not in it. docs/recovery.md explains backups and restores.',
    )
    .option('--encrypt', 'encrypt the file under the master key; it contains customers’ data otherwise')
    .option('--keep <count>', 'in a folder: delete the earliest backups, so that this many remain', parseCount)
    .option('--print-key', 'also print the master key, for a paper copy in a safe')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- backup /var/backups/dealer-esim --encrypt --keep 14')
    .action(async (target: string, options: BackupOptions) => {
      if (target === '-')
        throw new UsageError(
          'A backup is not written to standard output, because the finished file is read again to check it. Name a file or a folder.',
        )
      await context.withDeps(async (deps) => {
        const keys = options.printKey ? printedKeys(deps) : []
        const made = await makeBackup(
          { ...deps, schema: deps.config.databaseSchema, cellName: deps.config.cellName },
          {
            target,
            isEncrypted: options.encrypt === true,
            keep: options.keep,
            printedKeys: keys.map(({ keyId }) => keyId),
            onTable: (table, rows) => rows >= PROGRESS_ROWS && context.progress(`${table}: ${rows} rows`),
          },
          context.by,
        )
        context.print([madeText(made, options), ...keys.map(keyText)].join('\n\n'), {
          ...made,
          encrypted: options.encrypt === true,
          notIncluded: NOT_INCLUDED,
          ...(options.printKey && { keys }),
        })
      })
    })
}

const PROGRESS_ROWS = 100_000

const NOT_INCLUDED = [
  'the master key, without which nobody can use the backup: keep it in a safe, apart from the backups (--print-key prints it)',
  'test twins, which hold no money: dealers create new ones after a restore',
  'the configuration (/etc/dealer-esim/environment), certificates, and the files that variables name',
  'what is sold from this moment on: archive the write-ahead log to lose nothing (docs/recovery.md)',
]

function madeText({ file, bytes, startedAt, rows, deleted }: MadeBackup, { encrypt }: BackupOptions): string {
  const facts = fields([
    ['backup', file],
    ['of', startedAt.toISOString()],
    ['size', `${(bytes / 1_000_000).toFixed(1)} MB, ${rows} rows, ${encrypt ? 'encrypted' : 'not encrypted'}`],
    ['checked', 'MASTER_KEY opens the database; the file was read again, and its seal fits'],
    ...(deleted.length === 0 ? [] : [['deleted', deleted.join(', ')] as [string, string]]),
  ])
  return `${facts}\n\nNot in it:\n${NOT_INCLUDED.map((line) => `- ${line}`).join('\n')}`
}

interface PrintedKey {
  keyId: string
  /** As a restore with another key names it. */
  fingerprint: string
  masterKey: string
}

function printedKeys({ masterKeys, cipher }: AdminDeps): PrintedKey[] {
  return masterKeys.map((key, index) => ({
    keyId: cipher.keyIds[index]!,
    fingerprint: createCipher([key]).fingerprint,
    masterKey: key.toString('base64'),
  }))
}

function keyText({ keyId, fingerprint, masterKey }: PrintedKey): string {
  return `Master key ${keyId}, fingerprint ${fingerprint}, for a safe:\n\n    MASTER_KEY=${masterKey}`
}

function parseCount(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('Give a whole number of at least 1.')
  return count
}
