import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readEventBody } from '#webhooks/receive.ts'
import { CommandFailed, EXIT } from '../exit-codes.ts'

/** What happens to one call of `esim/order`. */
export type Fault =
  /** The gateway gets the call, and its answer is lost. */
  | { kind: 'lost answer' }
  /** `status` and `code` instead of the gateway's answer; with `forwarded` the gateway gets the call nevertheless. */
  | { kind: 'answer'; status: number; code: string; data?: object; headers?: Record<string, string>; forwarded?: true }
  | undefined

/** A call of `esim/order` that arrived at the proxy. */
interface ObservedOrder {
  transactionId: string
  /** By performance.now(). */
  atMs: number
}

export interface OrderProxy {
  baseUrl: string
  /** Forgets the calls of `esim/order` so far, and decides on each that follows, counted from 1. */
  begin(fault: (arrival: number) => Fault): void
  /** Passes all calls on. */
  endFaults(): void
  /** Calls of any operation since `begin`. */
  readonly calls: number
  /** The calls of `esim/order` since `begin`. */
  readonly orders: readonly ObservedOrder[]
  close(): Promise<void>
}

/**
 * A proxy on loopback that stands before the gateway and passes every call on unchanged, but for the faults that are set.
 * Signatures do not cover the address, so they stay valid.
 */
export async function startOrderProxy(target: string, port: number): Promise<OrderProxy> {
  let decide: (arrival: number) => Fault = () => undefined
  let orders: ObservedOrder[] = []
  let calls = 0
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    calls += 1
    const body = await readEventBody(request)
    if (body === undefined) return void response.writeHead(413).end()
    const transactionId = request.url?.endsWith('/esim/order') ? transactionIdOf(body) : undefined
    if (transactionId !== undefined) orders.push({ transactionId, atMs: performance.now() })
    const fault = transactionId === undefined ? undefined : decide(orders.length)
    if (fault?.kind === 'answer' && !fault.forwarded) return answer(response, fault)
    const forwarded = await fetch(`${target}${request.url}`, {
      method: request.method ?? 'POST',
      headers: forwardedHeaders(request),
      ...(request.method === 'POST' && { body }),
      redirect: 'manual',
    })
    const text = Buffer.from(await forwarded.arrayBuffer())
    if (fault?.kind === 'lost answer') return void response.destroy()
    if (fault) return answer(response, fault)
    response.writeHead(forwarded.status, returnedHeaders(forwarded)).end(text)
  }
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ message }) => reject(new CommandFailed(`Cannot listen: ${message}.`, EXIT.USAGE)))
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get calls() {
      return calls
    },
    get orders() {
      return orders
    },
    begin(fault) {
      decide = fault
      orders = []
      calls = 0
    },
    endFaults() {
      decide = () => undefined
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Returns undefined for a dry run. */
function transactionIdOf(body: Uint8Array): string | undefined {
  try {
    const { transactionId, validateOnly } = JSON.parse(new TextDecoder().decode(body))
    return typeof transactionId === 'string' && validateOnly !== true ? transactionId : undefined
  } catch {
    return undefined
  }
}

function answer(response: ServerResponse, { status, code, data, headers }: Fault & { kind: 'answer' }): void {
  const body = { code, message: 'Answered by dealer-esim certify.', data: { requestId: '', details: [], ...data } }
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))
}

function forwardedHeaders({ headers }: IncomingMessage): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => /^(rt-|x-signature$|content-type$|accept$)/.test(name))
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]))
}

function returnedHeaders({ headers }: Response): Record<string, string> {
  const names = ['content-type', 'rt-requestid', 'idempotent-replayed', 'retry-after']
  return Object.fromEntries(names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)!]] : [])))
}
