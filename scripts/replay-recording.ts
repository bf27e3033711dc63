// npm run recording FILE: runs a recording of a supplier (supplier record) through the adapter of its type, and prints what the
// adapter made of each answer. Nothing is sent: the requests are answered from the file.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { migrationsFolder } from '../packages/gateway/src/platform/package-root.ts'
import {
  parseRecording,
  type ReplayedCall,
  replayRecording,
} from '../packages/gateway/src/suppliers/recording/replay-recording.ts'
import { systemIds } from '../packages/lib/src/ids.ts'
import { createDb } from '../packages/lib/src/postgres/db.ts'
import { migrate } from '../packages/lib/src/postgres/migrations.ts'
import { silentLog } from '../packages/lib/src/telemetry/log.ts'

const ROWS_SHOWN = 3

const [file, ...others] = process.argv.slice(2)
if (file === undefined || others.length > 0) {
  console.error('Name one file: npm run recording FILE.')
  process.exit(2)
}
try {
  // Before a database is started: a file that cannot be read is refused immediately.
  await replay(parseRecording(readFileSync(file, 'utf8')))
} catch (error) {
  console.error(`${file}: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}

async function replay(recording: ReturnType<typeof parseRecording>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-recording-'))
  const server = await startEmbeddedPostgres({ dataDir, log: silentLog, purpose: 'command', fsync: false })
  try {
    await migrate({ databaseUrl: server.url, log: silentLog, directory: migrationsFolder() })
    const db = createDb({ url: server.url, poolSize: 4, applicationName: 'recording' })
    try {
      for await (const call of replayRecording({ db, ids: systemIds }, recording)) console.log(describe(call))
    } finally {
      await db.close()
    }
  } finally {
    await server.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

function describe({ operation, exchanges, result, error, unsent, unanswered }: ReplayedCall): string {
  const requests = exchanges.map(
    ({ request, answer, failure }) => `  ${request.method} ${request.path} → ${answer?.status ?? failure?.phase}`,
  )
  const rows = Array.isArray(result) ? result : [result]
  const shown = rows.slice(0, ROWS_SHOWN).map((row) => `  ${json(row)}`)
  const more = rows.length > ROWS_SHOWN ? [`  … ${rows.length} in all`] : []
  const timedOut = unanswered.map((request) => `  ${request} → no answer is recorded`)
  const missed = unsent > 0 ? [`  ${unsent} recorded requests were not sent this time`] : []
  return [
    operation,
    ...requests,
    ...timedOut,
    ...(error === undefined ? [...shown, ...more] : [`  failed: ${error}`]),
    ...missed,
  ].join('\n')
}

function json(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? Number(inner) : inner)) ?? 'nothing'
}
