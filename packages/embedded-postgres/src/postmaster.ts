import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { Binaries } from './binaries.ts'
import { type Cluster, dataArgument } from './cluster.ts'
import { isPostgresIn, pidIsTaken, startWatchdog, watchedProgram } from './processes.ts'
import { type Logger, StartError } from './start-error.ts'

/** A server process that we started. */
export interface Postmaster {
  pid: number
  /** Resolves with the exit code or signal when the process has ended. */
  exited: Promise<string>
  /** Ends its sessions and the process, with stronger signals if it does not end in time. Does nothing if it has ended. */
  stop(): Promise<void>
}

export class PortTaken extends Error {
  override name = 'PortTaken'
}

/**
 * The signal that a stop sends, and how long it waits each time. A fast shutdown ends sessions immediately; most of the
 * time goes into a last checkpoint.
 */
const STOP_SIGNALS: readonly [signal: NodeJS.Signals, timeoutMs: number][] = [
  ['SIGINT', 30_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
]

/** Resolves when the server accepts connections, which after a crash is when its recovery is complete. @throws PortTaken */
export async function launch(
  binaries: Binaries,
  cluster: Cluster,
  logLine: (line: string) => void,
): Promise<Postmaster> {
  // The watchdog starts first, because this process may be killed while the server starts.
  const watchdog = startWatchdog('INT', cluster.account)
  const server = watchedProgram(binaries.postgres, ['-D', dataArgument(cluster.directory, cluster.account)])
  const child = spawn('/bin/sh', server, {
    ...cluster.account,
    cwd: cluster.directory,
    env: { TZ: 'UTC' },
    stdio: ['ignore', 'ignore', 'pipe', watchdog.input],
    // A separate process group: Ctrl-C in a terminal must reach only the gateway, which drains before it stops its database.
    detached: true,
  })
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ? `killed by ${signal}` : `exit code ${code}`))
  })
  void exited.then(() => watchdog.cancel())
  await waitUntilReady(child, exited, logLine, cluster)
  return { pid: child.pid!, exited, stop: () => stopChild(child, exited) }
}

/**
 * Stops a server left running by an earlier gateway, and removes a postmaster.pid whose pid now belongs to another
 * process, because PostgreSQL would refuse to start. The caller must hold the DATA_DIR's lock.
 */
export async function stopOrphan(directory: string, log: Logger): Promise<void> {
  const pid = readPostmasterPid(directory)?.pid
  if (pid === undefined) return
  if (isPostgresIn(pid, directory)) {
    log.warn({ pid }, 'stopping a PostgreSQL server left running by an earlier gateway')
    await stopPid(pid, () => isPostgresIn(pid, directory))
  }
  if (pidIsTaken(pid)) rmSync(join(directory, 'postmaster.pid'), { force: true })
}

/** The server's own record of its pid, its port, and whether it accepts connections. */
export function readPostmasterPid(directory: string): { pid: number; port: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(join(directory, 'postmaster.pid'), 'utf8').split('\n')
    return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
  } catch {
    return undefined
  }
}

/** Errors that the server writes for each session whenever it starts or stops. */
const ROUTINE = /terminating connection due to administrator command|the database system is (starting up|shutting down)/

/** Logs the server's lines: warnings and errors at their level, routine and expected lines for debugging. */
export function serverLog(log: Logger, expectedErrors?: RegExp): (line: string) => void {
  return (line) => {
    const isProblem = /^(WARNING|ERROR|FATAL|PANIC):/.test(line)
    const isExpected = ROUTINE.test(line) || expectedErrors?.test(line)
    if (isProblem && !isExpected) log.warn({ postgres: line }, 'postgres')
    else log.debug({ postgres: line }, 'postgres')
  }
}

/** What the server says about data that was copied without its owner and modes. */
const OWNER_FAULT = /Permission denied|has wrong ownership|has invalid permissions/

function ownerRemedy({ directory, account }: Cluster): string {
  const user = account?.uid ?? process.getuid!()
  return `The data must belong to user ${user} alone: chown -R ${user} ${directory} && chmod -R go= ${directory}`
}

function waitUntilReady(
  child: ChildProcess,
  exited: Promise<string>,
  logLine: (line: string) => void,
  cluster: Cluster,
): Promise<void> {
  const lastLines: string[] = []
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stderr! }).on('line', (line) => {
      if (line.includes('database system is ready to accept connections')) return resolve()
      lastLines.push(line)
      if (lastLines.length > 10) lastLines.shift()
      logLine(line)
    })
    // After `exit`, further lines may still arrive: they determine which error it is.
    child.once('close', async () => {
      const exit = await exited
      const output = lastLines.join(' | ')
      const Kind = /could not create any TCP\/IP sockets/.test(output) ? PortTaken : StartError
      const remedy = OWNER_FAULT.test(output) ? `. ${ownerRemedy(cluster)}` : ''
      reject(new Kind(`The embedded PostgreSQL did not start (${exit}): ${output}${remedy}`))
    })
  })
}

async function stopChild(child: ChildProcess, exited: Promise<string>): Promise<void> {
  for (const [signal, timeoutMs] of STOP_SIGNALS) {
    child.kill(signal)
    const timer = new AbortController()
    const timeout = delay(timeoutMs, undefined, { signal: timer.signal }).catch(() => undefined)
    const exit = await Promise.race([exited, timeout])
    timer.abort()
    if (exit !== undefined) return
  }
}

async function stopPid(pid: number, isRunning: () => boolean): Promise<void> {
  for (const [signal, timeoutMs] of STOP_SIGNALS) {
    if (!isRunning()) return
    process.kill(pid, signal)
    const deadline = Date.now() + timeoutMs
    while (isRunning() && Date.now() < deadline) await delay(10)
  }
}
