import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { within } from '../process/lifecycle.ts'
import type { Log } from '../telemetry/log.ts'
import type { Binaries } from './binaries.ts'
import { type Cluster, dataArgument } from './cluster.ts'
import { endWithUs } from './end-with-us.ts'
import { isPostgresIn, pidIsTaken } from './process-identity.ts'

/** A running server process that we started. */
export interface Postmaster {
  pid: number
  /** Settles when the process has ended, however it ended. */
  exited: Promise<string>
  /** Ends its sessions and the process; harder when it does not obey in time. Harmless when it has ended. */
  stop(): Promise<void>
}

export class PortTaken extends Error {
  override name = 'PortTaken'
}

/** Sessions are ended at once by a fast shutdown; what takes time is the last checkpoint. */
const FAST_SHUTDOWN_MS = 30_000
const IMMEDIATE_SHUTDOWN_MS = 5_000

/** Resolves when the server accepts connections: after a crash that is when its recovery is through. @throws PortTaken */
export async function launch(binaries: Binaries, cluster: Cluster, log: Log): Promise<Postmaster> {
  const child = spawn(binaries.postgres, ['-D', dataArgument(cluster.directory, cluster.account)], {
    ...cluster.account,
    cwd: cluster.directory,
    env: { TZ: 'UTC' },
    stdio: ['ignore', 'ignore', 'pipe'],
    // A process group of its own: Ctrl-C in a terminal is for the gateway, which drains before it stops its database.
    detached: true,
  })
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ? `killed by ${signal}` : `exit code ${code}`))
  })
  await readiness(child, exited, log)
  const pid = child.pid!
  const watchdog = endWithUs(pid, 'INT', cluster.account)
  void exited.then(() => watchdog.callOff())
  return { pid, exited, stop: () => stopChild(child, exited) }
}

/**
 * Stops a server that an earlier gateway left behind, and takes away a postmaster.pid whose number belongs to somebody
 * else by now, on which PostgreSQL would refuse to start. Only for the holder of the DATA_DIR's lock.
 */
export async function clearOrphan(directory: string, log: Log): Promise<void> {
  const pid = readPostmasterPid(directory)?.pid
  if (pid === undefined) return
  if (isPostgresIn(pid, directory)) {
    log.warn({ pid }, 'stopping a PostgreSQL that an earlier gateway left behind')
    await stopPid(pid, () => isPostgresIn(pid, directory))
  }
  if (pidIsTaken(pid)) rmSync(join(directory, 'postmaster.pid'), { force: true })
}

/** What the server says of itself: process, port, and whether it accepts connections. */
export function readPostmasterPid(directory: string): { pid: number; port: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(join(directory, 'postmaster.pid'), 'utf8').split('\n')
    return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
  } catch {
    return undefined
  }
}

/**
 * Said to each session that a stop ends, to each that asks while the server starts or stops, and of an order that repeats
 * an earlier one (docs/decisions/0003), whose transaction has ended when it is rolled back.
 */
const ROUTINE = new RegExp(
  [
    'terminating connection due to administrator command',
    'the database system is (starting up|shutting down)',
    'unique constraint "orders_tenant_id_transaction_id_key"',
    'there is no transaction in progress',
  ].join('|'),
)

function readiness(child: ChildProcess, exited: Promise<string>, log: Log): Promise<void> {
  const lastLines: string[] = []
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stderr! }).on('line', (line) => {
      if (line.includes('database system is ready to accept connections')) return resolve()
      lastLines.push(line)
      if (lastLines.length > 10) lastLines.shift()
      if (/^(WARNING|ERROR|FATAL|PANIC):/.test(line) && !ROUTINE.test(line)) log.warn({ postgres: line }, 'postgres')
      else log.debug({ postgres: line }, 'postgres')
    })
    void exited.then((how) => {
      const said = lastLines.join(' | ')
      const Kind = /could not create any TCP\/IP sockets/.test(said) ? PortTaken : Error
      reject(new Kind(`The embedded PostgreSQL did not start (${how}): ${said}`))
    })
  })
}

async function stopChild(child: ChildProcess, exited: Promise<string>): Promise<void> {
  for (const [signal, patienceMs] of [
    ['SIGINT', FAST_SHUTDOWN_MS],
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS],
    ['SIGKILL', IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    child.kill(signal)
    if (await within(exited, patienceMs)) return
  }
}

async function stopPid(pid: number, runs: () => boolean): Promise<void> {
  for (const [signal, patienceMs] of [
    ['SIGINT', FAST_SHUTDOWN_MS],
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS],
    ['SIGKILL', IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    if (!runs()) return
    process.kill(pid, signal)
    const deadline = Date.now() + patienceMs
    while (runs() && Date.now() < deadline) await delay(10)
  }
}
