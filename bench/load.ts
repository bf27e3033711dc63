import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { percentile } from './compare.ts'

/*
 * Generates load over plain sockets. Requests are signed and serialised before the clock starts: the generator shares the
 * machine with what it measures, so it must cost little, and the same for both sides.
 */

export interface Credentials {
  appKey: string
  appSecret: string
}

export interface LoadResult {
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** Answers by their code. */
  codes: Record<string, number>
  /** Answers marked as replays. */
  replayed: number
}

export function signedRequest(credentials: Credentials, operation: string, body: string): Buffer {
  return requestTo({ path: `/open-api/v1/${operation}`, signatureHeader: 'X-Signature' }, credentials, body)
}

/** Returns a signed request of the RT family's API. */
export function rtRequest(credentials: Credentials, operation: string, body: string): Buffer {
  return requestTo({ path: `/api/v1/open/${operation}`, signatureHeader: 'RT-Signature' }, credentials, body)
}

function requestTo(
  { path, signatureHeader }: { path: string; signatureHeader: string },
  credentials: Credentials,
  body: string,
): Buffer {
  const timestamp = String(Date.now())
  const requestId = randomUUID()
  const signature = createHmac('sha256', credentials.appSecret)
    .update(timestamp + requestId + credentials.appKey + body)
    .digest('hex')
  return Buffer.from(
    [
      `POST ${path} HTTP/1.1`,
      'Host: localhost',
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `RT-AccessCode: ${credentials.appKey}`,
      `RT-RequestID: ${requestId}`,
      `RT-Timestamp: ${timestamp}`,
      `${signatureHeader}: ${signature}`,
      '',
      body,
    ].join('\r\n'),
  )
}

export function orderBody(transactionId: string = randomUUID(), packageCode = 'JP_1_7'): string {
  return JSON.stringify({ transactionId, packageInfoList: [{ packageCode, count: 1 }] })
}

export function topUpBody(esimTranNo: string): string {
  return JSON.stringify({ transactionId: randomUUID(), esimTranNo, packageCode: 'JP_1_7_TOPUP' })
}

/** Sends each request once over keep-alive connections, one at a time on each. */
export async function sendAll(baseUrl: string, requests: Buffer[], connections: number): Promise<LoadResult> {
  const { hostname, port } = new URL(baseUrl)
  const codes: Record<string, number> = {}
  const timesMs: number[] = []
  let replayed = 0
  let next = 0
  // Connecting is not part of the figure.
  const sockets = await Promise.all(Array.from({ length: connections }, () => openConnection(Number(port), hostname)))
  const start = performance.now()
  const sendOn = (socket: net.Socket) =>
    new Promise<void>((resolve, reject) => {
      let received = ''
      let sentAt = 0
      const send = () => {
        const request = requests[next++]
        if (!request) return void socket.end(resolve)
        sentAt = performance.now()
        socket.write(request)
      }
      socket.on('error', reject)
      socket.on('data', (bytes) => {
        received += bytes.toString('latin1')
        const answer = parseAnswer(received)
        if (!answer) return
        timesMs.push(performance.now() - sentAt)
        received = received.slice(answer.length)
        codes[answer.code] = (codes[answer.code] ?? 0) + 1
        if (answer.isReplay) replayed++
        send()
      })
      send()
    })
  await Promise.all(sockets.map(sendOn))
  const seconds = (performance.now() - start) / 1000
  timesMs.sort((left, right) => left - right)
  return {
    perSecond: requests.length / seconds,
    p50Ms: percentile(timesMs, 0.5),
    p99Ms: percentile(timesMs, 0.99),
    codes,
    replayed,
  }
}

/**
 * Sends each request once, to one node, at random moments that average a rate (a Poisson process): an order that comes late
 * makes the next one come no later, as with independent callers. A request for which no connection is free waits.
 */
export async function sendPaced(
  baseUrl: string,
  requests: readonly Buffer[],
  { connections, perSecond }: { connections: number; perSecond: number },
): Promise<LoadResult> {
  const { hostname, port } = new URL(baseUrl)
  const sockets = await Promise.all(Array.from({ length: connections }, () => openConnection(Number(port), hostname)))
  const codes: Record<string, number> = {}
  const timesMs: number[] = []
  let replayed = 0
  const free = sockets.map(createExchange)
  const waiting: (() => void)[] = []
  const send = async (request: Buffer) => {
    const dueAt = performance.now()
    while (free.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    const exchange = free.pop()!
    const answer = await exchange(request)
    timesMs.push(performance.now() - dueAt)
    codes[answer.code] = (codes[answer.code] ?? 0) + 1
    if (answer.isReplay) replayed++
    free.push(exchange)
    waiting.shift()?.()
  }
  const start = performance.now()
  let dueAt = start
  const sent: Promise<void>[] = []
  for (const request of requests) {
    dueAt += (-Math.log(1 - Math.random()) * 1000) / perSecond
    const waitMs = dueAt - performance.now()
    if (waitMs >= 1) await delay(waitMs)
    sent.push(send(request))
  }
  await Promise.all(sent)
  const seconds = (performance.now() - start) / 1000
  for (const socket of sockets) socket.destroy()
  timesMs.sort((left, right) => left - right)
  return {
    perSecond: requests.length / seconds,
    p50Ms: percentile(timesMs, 0.5),
    p99Ms: percentile(timesMs, 0.99),
    codes,
    replayed,
  }
}

/** Sends a request over a connection that has none under way. */
function createExchange(socket: net.Socket): (request: Buffer) => Promise<Answer> {
  let received = ''
  let settle: { resolve(answer: Answer): void; reject(error: Error): void } | undefined
  socket.on('error', (error) => settle?.reject(error))
  socket.on('close', () => settle?.reject(new Error('the connection was closed')))
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1')
    const answer = parseAnswer(received)
    if (!answer) return
    received = received.slice(answer.length)
    settle?.resolve(answer)
  })
  return (request) =>
    new Promise((resolve, reject) => {
      settle = { resolve, reject }
      socket.write(request)
    })
}

async function openConnection(port: number, host: string): Promise<net.Socket> {
  const socket = net.connect(port, host).setNoDelay(true)
  await once(socket, 'connect')
  return socket
}

interface Answer {
  length: number
  code: string
  isReplay: boolean
}

function parseAnswer(text: string): Answer | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = text.slice(0, headEnd)
  const bodyLength = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
  const length = headEnd + 4 + bodyLength
  if (text.length < length) return undefined
  const body = text.slice(headEnd, length)
  const code =
    /"(?:code|errorCode)":"(\d{6})"/.exec(body)?.[1] ?? (body.includes('"errorCode":null') ? '000000' : 'none')
  return { length, code, isReplay: /idempotent-replayed: true/i.test(head) }
}

/** @throws unless every answer was a success, because fast refusals would raise the rate */
export function requireSuccess(result: LoadResult): LoadResult {
  const others = Object.keys(result.codes).filter((code) => code !== '000000')
  if (others.length > 0) throw new Error(`Not all answers were successes: ${JSON.stringify(result.codes)}`)
  return result
}
