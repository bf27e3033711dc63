import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, chownSync, existsSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { signalOnExit } from '@dealer-esim/embedded-postgres/processes.ts'
import { serverAccount } from '@dealer-esim/embedded-postgres/server-account.ts'
import pg from 'pg'
import { freePort } from '#test/harness/processes/free-port.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { dataFolder, removeFolder } from '#test/harness/temporary-folders.ts'
import { childrenOf } from '#test/orders/postgres-processes.ts'

/** Debian's package `postgresql`. */
const BIN = '/usr/lib/postgresql/15/bin'
export const hasPostgres15 = () => existsSync(join(BIN, 'postgres'))

const USER = 'gateway'
const NAME = 'dealer_esim'

interface Server {
  process: ChildProcess
  port: number
  dataDir: string
  url: string
}

/** A primary with a synchronous standby: whatever it has acknowledged survives its loss. */
export interface PostgresPair {
  /** Connects to the current primary. */
  readonly url: string
  /** Lists both servers. */
  readonly urlOfBoth: string
  /** Kills every process of the primary, as the loss of its machine would. */
  killPrimary(): Promise<void>
  /** Makes the standby the primary. A former primary that was not killed continues without a standby. */
  promote(): Promise<void>
  killFormerPrimary(): Promise<void>
  /** Gives the promoted primary a synchronous standby again. */
  replaceStandby(): Promise<void>
  stop(): Promise<void>
}

export async function startPostgresPair(): Promise<PostgresPair> {
  const folder = mkdtempSync(join(dataFolder(), 'dealer-esim-pair-'))
  // PostgreSQL refuses to run as root.
  const account = serverAccount(join(folder, 'none'))
  if (account) chownSync(folder, account.uid, account.gid)
  chmodSync(folder, 0o700)
  let made = 0
  const ports = [await freePort(), await freePort()] as const
  const running = new Set<Server>()
  const run = (program: string, ...args: string[]) =>
    promisify(execFile)(join(BIN, program), args, { ...account, cwd: '/', timeout: 60_000 })

  async function start(dataDir: string, port: number): Promise<Server> {
    const args = ['-D', dataDir, '-p', String(port), ...SETTINGS.flatMap((setting) => ['-c', setting])]
    const child = spawn(join(BIN, 'postgres'), args, { ...account, cwd: '/', stdio: 'ignore' })
    signalOnExit(child.pid!, 'KILL', account)
    const server = { process: child, port, dataDir, url: `postgres://${USER}@127.0.0.1:${port}/${NAME}` }
    running.add(server)
    child.once('exit', () => running.delete(server))
    await waitUntil(async () => {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}`)
      return run('pg_isready', '-q', '-h', '127.0.0.1', '-p', String(port)).then(
        () => true,
        () => false,
      )
    })
    return server
  }

  async function startPrimary(): Promise<Server> {
    const dataDir = join(folder, `data${made++}`)
    await run('initdb', '-D', dataDir, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync')
    const server = await start(dataDir, ports[0])
    await run('createdb', '-h', '127.0.0.1', '-p', String(server.port), '-U', USER, NAME)
    return server
  }

  async function startStandby(of: Server): Promise<Server> {
    const dataDir = join(folder, `data${made++}`)
    const from = ['-h', '127.0.0.1', '-p', String(of.port), '-U', USER]
    await run('pg_basebackup', ...from, '-D', dataDir, '-R', '-c', 'fast', '-X', 'stream', '--no-sync')
    // After its promotion it has no standby until it is given one.
    appendFileSync(join(dataDir, 'postgresql.auto.conf'), "\nsynchronous_standby_names = ''\n")
    // A new standby replaces the server that was killed.
    const server = await start(dataDir, of.port === ports[0] ? ports[1] : ports[0])
    await query(of.url, "alter system set synchronous_standby_names = '*'")
    await query(of.url, 'select pg_reload_conf()')
    await waitUntil(async () => {
      const [row] = await query(of.url, "select 1 from pg_stat_replication where sync_state = 'sync'")
      return row !== undefined
    })
    return server
  }

  let primary = await startPrimary()
  let standby = await startStandby(primary)
  let former: Server | undefined
  async function killServer({ process: postmaster }: Server): Promise<void> {
    const ended = once(postmaster, 'exit')
    for (const pid of [postmaster.pid!, ...childrenOf(postmaster.pid!)]) kill(pid)
    await ended
  }
  return {
    get url() {
      return primary.url
    },
    urlOfBoth: `postgres://${USER}@127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}/${NAME}?target_session_attrs=read-write`,
    killPrimary: () => killServer(primary),
    async promote() {
      await query(standby.url, 'select pg_promote(true, 30)')
      former = primary
      primary = standby
    },
    async killFormerPrimary() {
      if (former && running.has(former)) await killServer(former)
    },
    async replaceStandby() {
      standby = await startStandby(primary)
    },
    async stop() {
      for (const { process: postmaster } of [...running]) {
        const ended = once(postmaster, 'exit')
        postmaster.kill('SIGQUIT')
        await ended
      }
      removeFolder(folder)
    },
  }
}

/** Processes are killed, not machines, so nothing needs to wait for a disk. */
const SETTINGS = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'max_connections=200']

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
