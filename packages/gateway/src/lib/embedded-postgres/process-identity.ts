import { spawnSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'

/**
 * Names one process for good: a pid is reused, a pid with the moment of its start is not.
 * `undefined` when no such process runs; one that was killed and not yet reaped holds nothing and counts as gone.
 */
export function processIdentity(pid: number): string | undefined {
  return process.platform === 'linux' ? linuxIdentity(pid) : portableIdentity(pid)
}

/** Whether that process is a PostgreSQL server that works in `directory`: a pid read from a file may by now be anybody's. */
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

/** Whether the kernel still knows the pid, a zombie included: PostgreSQL asks it this way. */
export function pidIsTaken(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Ticks between boot and start, with the boot they count from: both survive a change of the wall clock. */
function linuxIdentity(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in brackets and may itself hold spaces and brackets.
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
