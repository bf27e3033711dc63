import { readFileSync } from 'node:fs'

/** The unit of processor time in /proc, independent of the kernel's own tick. */
const TICKS_PER_S = 100

/** Processor time that a process has used, in µs; undefined if the system does not report it. */
export function cpuTimeUs(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [user = '', system = ''] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
    return ((Number(user) + Number(system)) / TICKS_PER_S) * 1e6
  } catch {
    return undefined
  }
}
