import { readdirSync, readFileSync } from 'node:fs'
import type { Db } from '../packages/lib/src/postgres/db.ts'

/** The unit of processor time in /proc, independent of the kernel's own tick. */
const TICKS_PER_S = 100

export interface ProcessorTime {
  gatewayUs: number
  serverUs: number
}

/** @returns a function that reads the processor time of a gateway and of its server until now */
export async function processorClock(db: Db, gatewayPid: number): Promise<() => ProcessorTime> {
  const [backend] = await db.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
  const server = parentOf(backend!.pid)!
  return () => ({ gatewayUs: cpuTimeUs(gatewayPid) ?? Number.NaN, serverUs: serverCpuTimeUs(server) })
}

/** The processor time of each of `count` calls. */
export function spentPerCall(before: ProcessorTime, after: ProcessorTime, count: number): ProcessorTime {
  return {
    gatewayUs: (after.gatewayUs - before.gatewayUs) / count,
    serverUs: (after.serverUs - before.serverUs) / count,
  }
}

/**
 * Processor time that a PostgreSQL server has used, in µs: of its processes, and of those that have ended.
 * @param parent its first process
 */
export function serverCpuTimeUs(parent: number): number {
  const children = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && parentOf(Number(pid)) === parent)
  const ended = statOf(parent).slice(13, 15)
  const ticks = ended.reduce((sum, text) => sum + Number(text), 0)
  const running = [parent, ...children.map(Number)].map((pid) => cpuTimeUs(pid) ?? 0)
  return running.reduce((sum, timeUs) => sum + timeUs, (ticks / TICKS_PER_S) * 1e6)
}

/** @returns undefined if the process has ended */
export function parentOf(pid: number): number | undefined {
  try {
    return Number(statOf(pid)[1])
  } catch {
    return undefined
  }
}

/** The fields of /proc/<pid>/stat from the state on. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Processor time that a process has used, in µs; undefined if the system does not report it. */
export function cpuTimeUs(pid: number): number | undefined {
  try {
    const [user = '', system = ''] = statOf(pid).slice(11, 13)
    return ((Number(user) + Number(system)) / TICKS_PER_S) * 1e6
  } catch {
    return undefined
  }
}
