import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, chownSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { signalOnExit } from '@dealer-esim/embedded-postgres/processes.ts'
import { type Account, serverAccount } from '@dealer-esim/embedded-postgres/server-account.ts'
import pg from 'pg'
import { freePort } from '#test/harness/processes/free-port.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { dataFolder, removeFolder } from '#test/harness/temporary-folders.ts'
import { childrenOf } from '#test/orders/postgres-processes.ts'
import { MACHINES, type Network, openNetwork } from './network-namespaces.ts'

const BIN = '/usr/lib/postgresql/15/bin'
const USER = 'gateway'
const NAME = 'dealer_esim'
/** A server that joins again first has to rewind or copy. Shorter than the hook that starts the cluster may take. */
const RECOVERY_MAX_MS = 200_000
const POLL_MS = 250

/** A machine in the cluster. It runs pg_autoctl, with PostgreSQL as its child. */
interface Machine {
  name: string
  host: string
  port: number
  dataDir: string
  process: ChildProcess | undefined
}

/** A monitor and two servers under pg_auto_failover, each on its own machine if network namespaces are available. */
export interface AutoFailoverCluster {
  /** Lists both servers. */
  readonly urlOfBoth: string
  /** True if machines can be isolated from each other. */
  readonly canPartition: boolean
  /** The name of the primary, according to the monitor. */
  primary(): Promise<string>
  /** Resolves to the time (`performance.now`) at which the server other than `primary` was found to accept writes. */
  promoted(primary: string): Promise<number>
  /** Kills every process of a machine. */
  kill(name: string): void
  /** Freezes every process on a machine without ending it. */
  stall(name: string): void
  /** Cuts a machine off from the other machines. The gateways can still reach it. */
  partition(name: string): void
  /** Cuts a machine off from the other machines and from the gateways. */
  isolate(name: string): void
  /** Undoes what was done to the machine, and waits until the cluster has a primary and a synchronous standby. */
  recover(name: string): Promise<void>
  stop(): Promise<void>
}

export async function startAutoFailoverCluster(): Promise<AutoFailoverCluster> {
  const place = createPlace()
  const machines = new Map<string, Machine>()
  for (const [index, name] of MACHINES.entries()) {
    const host = place.network?.addressOf(name) ?? '127.0.0.1'
    // Different ports, because all sockets are in one folder.
    const port = place.network ? 5432 + index : await freePort()
    machines.set(name, { name, host, port, dataDir: join(place.folder, name), process: undefined })
  }
  const monitor = machines.get('monitor')!
  const servers = ['one', 'two'].map((name) => machines.get(name)!)
  const monitorUrl = `postgres://autoctl_node@${monitor.host}:${monitor.port}/pg_auto_failover`
  const hosts = servers.map(({ host, port }) => `${host}:${port}`).join()
  const stop = async () => {
    await Promise.all([...machines.values()].map(stopMachine))
    place.remove()
  }
  try {
    await startMonitor(place, monitor, monitorUrl)
    await startServer(place, servers[0]!, monitorUrl)
    await waitForStates(monitorUrl, 'single')
    await startServer(place, servers[1]!, monitorUrl)
    await waitForStates(monitorUrl, 'primary', 'secondary')
  } catch (error) {
    await stop()
    throw error
  }
  return {
    urlOfBoth: `postgres://${USER}@${hosts}/${NAME}?target_session_attrs=read-write`,
    canPartition: place.network !== undefined,
    async primary() {
      const found = [...(await statesOf(monitorUrl))].find(([, state]) => /^(primary|wait_primary)$/.test(state))
      return found?.[0] ?? ''
    },
    async promoted(primary) {
      const { host, port } = servers.find(({ name }) => name !== primary)!
      const url = `postgres://${USER}@${host}:${port}/${NAME}`
      const isWritable = async () => {
        const [row] = await query<{ transaction_read_only: string }>(url, 'show transaction_read_only').catch(() => [])
        return row?.transaction_read_only === 'off'
      }
      await waitUntil(isWritable, RECOVERY_MAX_MS, POLL_MS)
      return performance.now()
    },
    kill(name) {
      // Stopped first, so that none of them can start another.
      for (const pid of signalTree(machines.get(name)!, 'SIGSTOP')) signal(pid, 'SIGKILL')
    },
    stall: (name) => void signalTree(machines.get(name)!, 'SIGSTOP'),
    partition: (name) => place.network!.cutOff(name, { alsoFromUs: false }),
    isolate: (name) => place.network!.cutOff(name, { alsoFromUs: true }),
    async recover(name) {
      const machine = machines.get(name)!
      place.network?.reconnect(name)
      if (isRunning(machine)) signalTree(machine, 'SIGCONT')
      else startMachine(place, machine)
      await waitForStates(monitorUrl, 'primary', 'secondary')
    },
    stop,
  }
}

/** What the machines share: folders, PostgreSQL's account, and the network. */
interface Place {
  folder: string
  account: Account
  network: Network | undefined
  env: Record<string, string>
  remove(): void
}

function createPlace(): Place {
  const folder = mkdtempSync(join(dataFolder(), 'dealer-esim-auto-'))
  // A socket's path must be short.
  const sockets = mkdtempSync(join(tmpdir(), 'esim-'))
  const account = serverAccount(join(folder, 'none'))
  for (const each of [folder, sockets]) {
    if (account) chownSync(each, account.uid, account.gid)
    chmodSync(each, 0o700)
  }
  const network = openNetwork()
  const env = {
    PATH: `${BIN}:/usr/bin:/bin:/usr/sbin:/sbin`,
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, 'config'),
    XDG_DATA_HOME: join(folder, 'share'),
    XDG_RUNTIME_DIR: join(folder, 'run'),
    // The folder in which pg_autoctl lets PostgreSQL create its sockets.
    PG_REGRESS_SOCK_DIR: sockets,
    PGHOST: sockets,
    LC_ALL: 'C.UTF-8',
  }
  return {
    folder,
    account,
    network,
    env,
    remove() {
      for (const each of [folder, sockets]) removeFolder(each)
    },
  }
}

/** The command prefix that runs a program on a machine, under the servers' account. */
function commandOn({ account, network }: Place, machine: string, program: string, args: string[]): [string, string[]] {
  const as = account ? ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'] : []
  const [first, ...rest] = [...(network?.enter(machine) ?? []), ...as, program, ...args]
  return [first!, rest]
}

async function runOn(place: Place, { name }: Machine, ...args: string[]): Promise<void> {
  const options = { cwd: '/', env: place.env, timeout: 120_000 }
  await promisify(execFile)(...commandOn(place, name, 'pg_autoctl', args), options)
}

async function startMonitor(place: Place, monitor: Machine, monitorUrl: string): Promise<void> {
  await runOn(place, monitor, 'create', 'monitor', ...ownOptions(monitor))
  configure(monitor, [...SETTINGS, ...MONITOR_SETTINGS])
  startMachine(place, monitor)
  await waitUntil(async () => (await askMonitor(monitorUrl, 'select 1')).length === 1, RECOVERY_MAX_MS)
}

async function startServer(place: Place, server: Machine, monitorUrl: string): Promise<void> {
  const database = ['--username', USER, '--dbname', NAME, '--name', server.name, '--monitor', monitorUrl]
  await runOn(place, server, 'create', 'postgres', ...ownOptions(server), ...database)
  // After this long without a monitor and a standby, a primary stops itself.
  const setting = ['timeout.network_partition_timeout', '10']
  await runOn(place, server, 'config', 'set', '--pgdata', server.dataDir, ...setting)
  configure(server, SETTINGS)
  startMachine(place, server)
}

function ownOptions({ host, port, dataDir }: Machine): string[] {
  return ['--pgdata', dataDir, '--pgport', String(port), '--hostname', host, '--auth', 'trust', '--no-ssl']
}

function configure({ dataDir }: Machine, settings: readonly string[]): void {
  appendFileSync(join(dataDir, 'postgresql.conf'), `\n${settings.join('\n')}\n`)
  appendFileSync(join(dataDir, 'pg_hba.conf'), '\nhost all all all trust\n')
}

function startMachine(place: Place, machine: Machine): void {
  const command = commandOn(place, machine.name, 'pg_autoctl', ['run', '--pgdata', machine.dataDir])
  const child = spawn(...command, { cwd: '/', env: place.env, stdio: 'ignore' })
  signalOnExit(child.pid!, 'INT', place.account)
  machine.process = child
}

function isRunning({ process: child }: Machine): boolean {
  return child !== undefined && child.exitCode === null && child.signalCode === null
}

async function askMonitor<Row>(monitorUrl: string, text: string): Promise<Row[]> {
  return query<Row>(monitorUrl, text).catch((): Row[] => [])
}

/** The state of each server; empty while it is changing. */
async function statesOf(monitorUrl: string): Promise<Map<string, string>> {
  const rows = await askMonitor<{ nodename: string; state: string }>(
    monitorUrl,
    `select nodename, case when reportedstate = goalstate then reportedstate::text else '' end as state
     from pgautofailover.node`,
  )
  return new Map(rows.map(({ nodename, state }) => [nodename, state]))
}

/** @throws with the states that the servers had last */
async function waitForStates(monitorUrl: string, ...wanted: string[]): Promise<void> {
  const states = async () => [...(await statesOf(monitorUrl)).values()].sort().join()
  await waitUntil(async () => (await states()) === wanted.join(), RECOVERY_MAX_MS, POLL_MS).catch(async (cause) => {
    const text = `select string_agg(concat_ws(' ', nodename, reportedstate, '→', goalstate, 'health', health), ', ') from pgautofailover.node`
    const [found] = await askMonitor<{ string_agg: string }>(monitorUrl, text)
    throw new Error(`the servers did not become ${wanted.join(' and ')}: ${found?.string_agg ?? 'no answer'}`, {
      cause,
    })
  })
}

/**
 * Processes are killed, not machines, so nothing needs to wait for a disk. pg_autoctl copies a server without asking for a
 * fast checkpoint: by default the server would spread it, at ten pages a second, over up to four and a half minutes.
 */
const SETTINGS = ['fsync = off', 'max_connections = 200', 'shared_buffers = 64MB', 'checkpoint_completion_target = 0']

/**
 * Notices a lost server within seconds: when it has reported nothing for five seconds, and three checks have failed. A primary
 * must have stopped itself before `primary_demote_timeout` ends.
 */
const MONITOR_SETTINGS = [
  'pgautofailover.health_check_period = 1000',
  'pgautofailover.health_check_timeout = 2000',
  'pgautofailover.health_check_max_retries = 2',
  'pgautofailover.health_check_retry_delay = 500',
  'pgautofailover.node_considered_unhealthy_timeout = 5000',
  'pgautofailover.primary_demote_timeout = 15000',
  'pgautofailover.startup_grace_period = 1000',
]

async function stopMachine(machine: Machine): Promise<void> {
  if (!isRunning(machine)) return
  const child = machine.process!
  const ended = once(child, 'exit')
  signalTree(machine, 'SIGCONT')
  signal(child.pid!, 'SIGQUIT')
  const timer = setTimeout(() => {
    for (const pid of signalTree(machine, 'SIGSTOP')) signal(pid, 'SIGKILL')
  }, 10_000)
  await ended
  clearTimeout(timer)
}

/** Signals a machine's processes, parents first, until there are no new ones. */
function signalTree(machine: Machine, name: NodeJS.Signals): Set<number> {
  const signalled = new Set<number>()
  const visit = (pid: number) => {
    if (!signalled.has(pid)) signal(pid, name)
    signalled.add(pid)
    for (const child of childrenOf(pid)) visit(child)
  }
  for (let before = -1; before !== signalled.size; ) {
    before = signalled.size
    visit(machine.process!.pid!)
  }
  return signalled
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

async function query<Row>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows as Row[]
  } finally {
    await client.end()
  }
}
