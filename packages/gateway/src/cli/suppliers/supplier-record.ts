import { accessSync, constants, existsSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Command } from 'commander'
import {
  beginRecording,
  deleteRecording,
  EXCHANGES_MAX,
  findRecording,
  MINUTES_MAX,
  readRecording,
} from '#suppliers/recording/recording-state.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseWholeNumber } from '../kernel/parse-options.ts'
import { timeText } from '../kernel/text-table.ts'

interface RecordOptions {
  count: string
  minutes: string
  to: string
}

const POLL_MS = 500

/** Records requests to a supplier and its answers, for developers who fix the decoding. */
export function supplierRecordCommand(supplier: Command, context: AdminContext): void {
  supplier
    .command('record <name>')
    .description('Write the next requests to a supplier and its answers to a file, without secrets, codes and names.')
    .option('--count <number>', `end after this many requests, up to ${EXCHANGES_MAX}`, '50')
    .option('--minutes <number>', `end after this time, up to ${MINUTES_MAX}`, '15')
    .requiredOption('--to <file>', 'a new file, which only its owner can read')
    .action(async (name: string, options: RecordOptions) => {
      const count = parseWholeNumber(options.count, '--count', { max: EXCHANGES_MAX })
      const minutes = parseWholeNumber(options.minutes, '--minutes', { max: MINUTES_MAX })
      refuseTarget(options.to)
      await context.withDeps(async (deps) => {
        const { recording, isNew } = await beginRecording(deps, { name, count, minutes }, context.by)
        const { exchangesMax, startedAt, endsAt } = recording
        const begun = isNew ? 'Recording' : `Continuing the recording that began at ${timeText(startedAt)}:`
        const end = `up to ${exchangesMax} requests to ${name} until ${timeText(endsAt)}`
        context.progress(`${begun} ${end}. If this command is stopped, run it again: nothing is lost.`)
        await deps.wakeNow()
        let current = await findRecording(deps.db, name)
        while (current !== undefined && !current.isOver) {
          await delay(POLL_MS)
          current = await findRecording(deps.db, name)
        }
        const file = await readRecording(deps, name, context.by)
        if (file === undefined) {
          await deleteRecording(deps.db, name)
          throw new Refusal(
            422,
            'RECORDING_EMPTY',
            `No requests were sent to ${name} during the recording, so no file was written.`,
          )
        }
        writeFileSync(options.to, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
        await deleteRecording(deps.db, name)
        const { length } = file.exchanges
        const text = `Wrote ${length} requests to ${options.to}. Read it before you send it to anybody. Try it with: npm run recording ${options.to}`
        context.print(text, { name, exchanges: length, file: options.to })
      })
    })
}

/** Checked before the recording: it must not turn out a quarter of an hour later that the file cannot be written. */
function refuseTarget(file: string): void {
  if (existsSync(file)) throw new UsageError(`${file} already exists and will not be overwritten. Choose a new file.`)
  const folder = dirname(resolve(file))
  try {
    accessSync(folder, constants.W_OK)
  } catch {
    throw new UsageError(`The folder ${folder} does not exist, or you may not write to it. Choose another file.`)
  }
}
