import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { signalOnExit } from '@dealer-esim/embedded-postgres/processes.ts'
import { serverAccount } from '@dealer-esim/embedded-postgres/server-account.ts'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { packageRoot } from '#platform/package-root.ts'
import { adminJsonWith } from '#test/harness/processes/admin-in-process.ts'
import { codeBlocks } from '#test/harness/processes/docs-commands.ts'
import { freePort } from '#test/harness/processes/free-port.ts'
import {
  SHARED_MASTER_KEY,
  startGateway,
  stopGateways,
  temporaryFolder,
} from '#test/harness/processes/gateway-process.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { dataFolder, removeFolder } from '#test/harness/temporary-folders.ts'
import { hasPostgres15 } from './postgres-pair.ts'

/*
 * The drill of docs/point-in-time.md: its settings, its base backup, its restore and its start in recovery, run as they are on
 * the page, with other folders, another time and another port.
 */

const BIN = '/usr/lib/postgresql/15/bin'
const page = readFileSync(join(packageRoot(), '../../docs/point-in-time.md'), 'utf8')
const [settings, role, access, baseBackup, restore, start] = codeBlocks(page, 'text') as [
  ...[string, string, string],
  ...[string, string, string],
]
/** PostgreSQL cuts a longer archive_command. */
const COMMAND_LENGTH_MAX = 1_023

let folder: string
let account: ReturnType<typeof serverAccount>
let port: number
let server: ChildProcess | undefined
let dataDir: string

// Also before a second attempt, whose server begins with nothing.
beforeEach(async () => {
  if (!hasPostgres15()) return
  dataDir = temporaryFolder('point-in-time')
  folder = mkdtempSync(join(dataFolder(), 'wal-'))
  account = serverAccount(join(folder, 'none'))
  for (const name of ['archive', 'base']) mkdirSync(join(folder, name))
  for (const path of [folder, join(folder, 'archive'), join(folder, 'base')]) {
    if (account) chownSync(path, account.uid, account.gid)
    chmodSync(path, 0o700)
  }
  port = await freePort()
})
afterEach(async () => {
  await stopGateways()
  await stopServer('SIGQUIT')
  if (folder) removeFolder(folder)
})

const pgdata = () => join(folder, 'data')
const url = () => `postgres://gateway@127.0.0.1:${port}/postgres`

/** Runs commands of the page, as the account of the server. */
const run = (script: string) =>
  promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', here(script)], {
    ...account,
    cwd: '/',
    timeout: 60_000,
    env: { PATH: `${BIN}:${process.env.PATH}`, PGDATA: pgdata(), PGPASSWORD: '…' },
  })

/** What an operator changes on the page: folders and the server. */
const here = (script: string) =>
  script
    .replaceAll('/archive', join(folder, 'archive'))
    .replaceAll('/base/', `${join(folder, 'base')}/`)
    .replaceAll('base_backup@HOST', `base_backup@127.0.0.1:${port}/postgres`)
    .replaceAll('10.0.0.0/8', '127.0.0.1/32')

async function startServer(): Promise<void> {
  const options = ['-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=']
  const child = spawn(join(BIN, 'postgres'), ['-D', pgdata(), ...options], {
    ...account,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  server = child
  signalOnExit(child.pid!, 'KILL', account)
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  await waitUntil(async () => {
    if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}: ${log}`)
    return query('select pg_is_in_recovery() as waiting').then(
      ([row]) => row!.waiting === false,
      () => false,
    )
  }, 60_000)
}

async function stopServer(signal: 'SIGQUIT' | 'SIGINT'): Promise<void> {
  if (!server || server.exitCode !== null) return
  const ended = once(server, 'exit')
  server.kill(signal)
  await ended
}

async function query(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url() })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

describe.skipIf(!hasPostgres15())('the page about the archive of the write-ahead log', () => {
  test('restores the database as it was at a moment between two sales, and the gateway starts in recovery', async () => {
    expect(here(settings).length).toBeLessThan(COMMAND_LENGTH_MAX)
    await run(`initdb -U gateway -A trust -E UTF8 --locale=C.UTF-8 --no-sync`)
    appendFileSync(join(pgdata(), 'postgresql.conf'), here(settings))
    const hba = join(pgdata(), 'pg_hba.conf')
    writeFileSync(hba, `${here(access)}${readFileSync(hba, 'utf8')}`)
    await startServer()
    await query(role)
    const env = {
      ...{ DATABASE_URL: url(), DATABASE_SCHEMA: DEFAULT_SCHEMA, MASTER_KEY: SHARED_MASTER_KEY },
      ...{ DATA_DIR: dataDir, METRICS_PORT: '0' },
    }
    let gateway = await startGateway({ databaseUrl: url(), dataDir })
    const dealer = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))
    let esim = new DealerEsim({ ...dealer, baseUrl: gateway.baseUrl })
    const order = (transactionId: string) =>
      esim.order({ transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
    const sell = async (transactionId: string) => {
      await order(transactionId)
      await waitUntil(async () => (await esim.query({ transactionId })).orderStatus === 'DELIVERED')
    }
    await run(baseBackup)
    const [base] = readdirSync(join(folder, 'base'))
    await sell('BEFORE')
    const [row] = await query('select clock_timestamp() as at')
    const at = (row!.at as Date).toISOString()
    const target = `${at.slice(0, -1).replace('T', ' ')}+00`
    await sell('AFTER')
    await gateway.kill('SIGKILL')
    const [wal] = await query('select pg_walfile_name(pg_switch_wal()) as name')
    await waitUntil(async () => readdirSync(join(folder, 'archive')).includes(String(wal!.name)), 60_000)
    await stopServer('SIGQUIT')

    removeFolder(pgdata())
    mkdirSync(pgdata())
    if (account) chownSync(pgdata(), account.uid, account.gid)
    await run(restore.replace(/\/base\/\d{4}-\d\d-\d\d\//, `/base/${base}/`).replace(/'\d{4}-.*\+00'/, `'${target}'`))
    await startServer()
    expect(start).toMatch(/^dealer-esim-gateway --recovery [0-9TZ:-]+\n$/)
    gateway = await startGateway({ databaseUrl: url(), dataDir, recovery: at })
    esim = new DealerEsim({ ...dealer, baseUrl: gateway.baseUrl, retries: 0 })
    await expect(order('AFTER')).rejects.toMatchObject({ code: '000002' })
    const show = () => adminJsonWith<Shown>(['recovery', 'show'], env)
    await waitUntil(async () => (await show()).recovery.preparedAt !== null, 60_000)
    expect((await show()).transactions).toMatchObject([{ transactionId: 'AFTER', state: 'IN_DOUBT' }])
    await waitUntil(
      () =>
        adminJsonWith(['recovery', 'release', '--all', '--accept-doubt', 'for the drill'], env).then(
          () => true,
          () => false,
        ),
      60_000,
    )
    expect(await waitUntil(() => order('BEFORE').catch(() => false as const))).toMatchObject({ replayed: true })
    await expect(order('AFTER')).rejects.toMatchObject({ code: '000002' })
  }, 240_000)
})

interface Shown {
  recovery: { preparedAt: string | null }
  transactions: { transactionId: string; state: string }[]
}
