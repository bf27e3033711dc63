import { loadavg } from 'node:os'
import { createPerson } from '@dealer-esim/gateway/people/manage-people.ts'
import { createSession } from '@dealer-esim/gateway/people/session.ts'
import { SYSTEM } from '@dealer-esim/gateway/platform/audit/audit.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { percentile } from '../compare.ts'
import { cpuTimeUs, parentOf, serverCpuTimeUs } from '../cpu.ts'
import type { ConsoleRequest } from './requests.ts'

export interface Timing extends ConsoleRequest {
  status: number
  p50Ms: number
  p95Ms: number
  /** Processor time of gateway and server per request. A file is given up after its first rows. */
  cpuMs: number
  /** Rows that one further request of a file read, and its processor time. */
  file: { rows: number; cpuMs: number } | undefined
  load: number
}

/** Rows of a file after which it is given up, so that files of millions of rows can be measured. */
const FILE_ROWS_MAX = 10_000
/** A file is given up after this time too: with a filter that matches hardly anything it reads the whole history. */
const FILE_MS_MAX = 4_000

/**
 * Times each request until the first byte of the answer, one after the other. Files are sent while they are read, so they begin
 * long before they end: what their rows cost is measured by one further request.
 */
export async function timeRequests(
  db: Db,
  gateway: { baseUrl: string; pid: number },
  tenantId: string,
  requests: readonly ConsoleRequest[],
  times: number,
  onTiming: (timing: Timing) => void = () => {},
): Promise<Timing[]> {
  const cookies = { operator: await signIn(db, gateway, null), dealer: await signIn(db, gateway, tenantId) }
  const [backend] = await db.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
  const server = parentOf(backend!.pid)!
  const cpuUs = () => (cpuTimeUs(gateway.pid) ?? Number.NaN) + serverCpuTimeUs(server)
  const timings: Timing[] = []
  for (const request of requests) {
    const send = (signal?: AbortSignal) =>
      fetch(`${gateway.baseUrl}/console/api${request.path}`, {
        headers: { cookie: cookies[request.as], 'x-forwarded-proto': 'https' },
        ...(signal && { signal }),
      })
    const call = async () => {
      const startedMs = performance.now()
      const answer = await send()
      const reader = answer.body?.getReader()
      await reader?.read()
      const tookMs = performance.now() - startedMs
      await reader?.cancel()
      return { status: answer.status, tookMs }
    }
    const { status } = await call()
    const before = cpuUs()
    const tookMs: number[] = []
    for (let time = 0; time < times; time++) tookMs.push((await call()).tookMs)
    const cpuMs = (cpuUs() - before) / 1000 / times
    tookMs.sort((left, right) => left - right)
    const isFile = status === 200 && request.path.split('?')[0]!.endsWith('.csv')
    const timing = {
      ...request,
      status,
      p50Ms: percentile(tookMs, 0.5),
      p95Ms: percentile(tookMs, 0.95),
      cpuMs,
      file: isFile ? await readFile(send, cpuUs) : undefined,
      load: loadavg()[0]!,
    }
    onTiming(timing)
    timings.push(timing)
  }
  return timings
}

/** Reads a file up to FILE_ROWS_MAX, for at most FILE_MS_MAX. */
async function readFile(
  send: (signal: AbortSignal) => Promise<Response>,
  cpuUs: () => number,
): Promise<NonNullable<Timing['file']>> {
  const beforeUs = cpuUs()
  const signal = AbortSignal.timeout(FILE_MS_MAX)
  let rows = -1 // the line of headings
  try {
    const { body } = await send(signal)
    for await (const chunk of body!) {
      for (const byte of chunk) if (byte === 10) rows++
      if (rows >= FILE_ROWS_MAX) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return { rows, cpuMs: (cpuUs() - beforeUs) / 1000 }
}

let people = 0

async function signIn(db: Db, { baseUrl }: { baseUrl: string }, tenantId: string | null): Promise<string> {
  const email = `bench${++people}-${Date.now()}@people.example`
  const role = tenantId === null ? 'OPERATOR_ADMIN' : 'DEALER_ADMIN'
  const token = await db.tx(async (tx) => {
    const { personId } = await createPerson(
      tx,
      systemIds,
      { email, name: 'Bench', role, tenantId, oneTimePassword: 'correct horse battery staple' },
      SYSTEM,
    )
    tx.send({ text: 'update people set password_change_required = false where person_id = $1', values: [personId] })
    return createSession(tx, systemIds, personId, { address: '', userAgent: '', signedInBy: 'PASSWORD' })
  })
  return `__Host-console-${new URL(baseUrl).port}=${token}; __Host-console-0=${token}`
}
