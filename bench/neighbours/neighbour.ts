import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Credentials, orderBody, requireSuccess, sendPaced, signedRequest } from '../load.ts'
import type { Stage } from './stage.ts'

/** A caller at its limits, and a row of docs/limits.md. */
export interface Neighbour {
  name: string
  /** What it sends, and over how many connections (caller-process.mjs). */
  calls(stage: Stage): Calls
}

interface Calls {
  connections: number
  head: string
  body?: string
  bodyBytes?: number
  holds?: boolean
  /** Several: in turn. */
  signs?: Credentials | readonly Credentials[]
}

export interface Measured {
  /** The p99 of the other dealer's calls: health and orders in turn. */
  p99Ms: number
  /** The most memory of the gateway, less that before. */
  memoryMb: number
  /** The caller's answers by HTTP status. */
  statuses: Record<string, number>
}

const CALLER = fileURLToPath(new URL('caller-process.mjs', import.meta.url))
const PER_SECOND = 100
const CONNECTIONS = 8
const MEMORY_EVERY_MS = 100
/** By then the caller has used up its burst, and is at its limits. */
const UNTIL_LIMIT_MS = 3_000

/** Measures the other dealer's calls while nobody else calls. @throws unless all succeed */
export async function measureUndisturbed({ baseUrl, other }: Stage, seconds: number): Promise<number> {
  const requests = Array.from({ length: PER_SECOND * seconds }, (_, index) =>
    index % 2 === 0 ? signedRequest(other, 'health', '{}') : signedRequest(other, 'esim/order', orderBody()),
  )
  return requireSuccess(await sendPaced(baseUrl, requests, { connections: CONNECTIONS, perSecond: PER_SECOND })).p99Ms
}

/** Measures the other dealer's calls while the neighbour is at its limits. @throws unless all succeed */
export async function measureDisturbed(stage: Stage, neighbour: Neighbour, seconds: number): Promise<Measured> {
  const port = new URL(stage.baseUrl).port
  const before = memoryMb(stage.pid)
  let most = before
  // Real callers have machines of their own: this one gets the time that nobody else wants.
  const caller = fork(CALLER, [JSON.stringify({ port, ...neighbour.calls(stage) })], {
    execPath: 'chrt',
    execArgv: ['--idle', '0', process.execPath],
  })
  const watching = setInterval(() => {
    most = Math.max(most, memoryMb(stage.pid))
  }, MEMORY_EVERY_MS)
  try {
    await once(caller, 'message')
    await delay(UNTIL_LIMIT_MS)
    const p99Ms = await measureUndisturbed(stage, seconds)
    caller.send('report')
    const [statuses] = (await once(caller, 'message')) as [Record<string, number>]
    return { p99Ms, memoryMb: most - before, statuses }
  } finally {
    clearInterval(watching)
    caller.kill()
    await once(caller, 'exit')
  }
}

function memoryMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}
