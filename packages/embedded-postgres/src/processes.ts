import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import type { Writable } from 'node:stream'
import type { Account } from './server-account.ts'

/**
 * Identifies one process permanently: a pid is reused, but a pid together with its start time is not. `undefined` when no
 * such process runs. A killed process that has not been reaped holds nothing, and counts as gone.
 */
export function processIdentity(pid: number): string | undefined {
  return process.platform === 'linux' ? linuxIdentity(pid) : portableIdentity(pid)
}

/**
 * True if the process is a PostgreSQL server working in `directory`: a pid read from a file may now belong to another
 * process.
 */
export function isPostgresIn(pid: number, directory: string): boolean {
  if (processIdentity(pid) === undefined) return false
  if (process.platform === 'linux') {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === directory
    } catch {
      return false
    }
  }
  const { stdout } = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.includes('postgres') && stdout.includes(directory)
}

/** True if the kernel still knows the pid, even as a zombie. PostgreSQL makes the same check. */
export function pidIsTaken(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Signals a process when ours has ended, even by SIGKILL, after which we cannot stop what we started. A small helper
 * process waits on a pipe that the kernel closes when we end. Without it, a gateway that is killed and whose DATA_DIR is
 * removed would leave a database server running for ever.
 *
 * The helper starts before the process that it watches. That process writes its own pid to the helper's pipe before it does
 * anything else: if the gateway wrote it, a gateway that was killed before writing would leave the process running.
 */
export function startWatchdog(signal: 'INT' | 'KILL', account?: Account): Watchdog {
  const helper = spawn('/bin/sh', ['-c', 'read -r pid; read -r _; [ -z "$pid" ] || kill -"$1" "$pid"', 'sh', signal], {
    ...account,
    cwd: '/',
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  helper.on('error', () => {}) // without the helper, the next start finds the orphan and stops it
  helper.stdin.on('error', () => {})
  helper.unref()
  return { input: helper.stdin, cancel: () => void helper.kill('SIGKILL') }
}

export interface Watchdog {
  /** The pipe from which the helper reads the pid. */
  input: Writable
  cancel(): void
}

/** Arguments for /bin/sh: it writes its pid to file descriptor 3, a watchdog's pipe, and then becomes the program. */
export function watchedProgram(program: string, args: readonly string[]): string[] {
  return ['-c', 'echo $$ >&3; exec 3>&-; exec "$@"', 'sh', program, ...args]
}

/** A watchdog for a process that is already running. */
export function signalOnExit(pid: number, signal: 'INT' | 'KILL', account?: Account): Watchdog {
  const watchdog = startWatchdog(signal, account)
  watchdog.input.write(`${pid}\n`)
  return watchdog
}

/** Clock ticks from boot to the process's start, and the id of that boot: neither depends on the wall clock. */
function linuxIdentity(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in brackets and may itself contain spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const state = fields[0]
    const startTicks = fields[19]
    if (state === 'Z' || state === 'X') return undefined
    return `${bootId()}.${startTicks}`
  } catch {
    return undefined
  }
}

function portableIdentity(pid: number): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
  const line = stdout.trim()
  if (line === '' || line.startsWith('Z')) return undefined
  return line
    .split(/\s+/)
    .slice(1)
    .join('.')
    .replace(/[^\w.]/g, '')
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)
}
