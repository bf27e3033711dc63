import { isIP } from 'node:net'
import type { Dispatcher, Pool } from 'undici'
import { type Clock, systemClock } from '#clock.ts'
import { createPools, DialError, isCertificateRefusal, type Pools, type Target, type TlsIdentity } from './pools.ts'
import {
  type CachedResolver,
  createCachedResolver,
  isPrivate,
  type Resolve,
  systemResolve,
  whyForbidden,
} from './resolve.ts'

export interface OutboundRequest {
  /** http or https, without user name and password. */
  url: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  headers?: Record<string, string>
  body?: string | Buffer
  /** One limit for name resolution, connection, headers and body together. */
  timeoutMs: number
  /** A longer response body is cut off at this size, and the connection is closed. */
  answerSizeMaxBytes: number
  /** True if private addresses are allowed: on local deployments, and for the operator's suppliers. */
  allowPrivate: boolean
  /** Refuses addresses outside private networks, for a request that carries a secret without TLS. */
  onlyPrivate?: boolean
  tls?: TlsIdentity
  /** false: use a new connection, because an unknown outcome would cost more than a handshake. */
  reuse?: boolean
  /** Ends the exchange by closing its connection, so that the receiver notices. */
  signal?: AbortSignal
}

/** Opens all outgoing connections of the gateway. Never follows redirects. */
export interface Outbound {
  /** Never rejects because of the network or the receiver: their failures are outcomes. */
  request(request: OutboundRequest): Promise<OutboundOutcome>
  close(): Promise<void>
}

export function createOutbound(options: { resolve?: Resolve; clock?: Clock } = {}): Outbound {
  const clock = options.clock ?? systemClock
  const resolve = createCachedResolver(options.resolve ?? systemResolve, () => clock.monotonic())
  const pools = createPools()
  return {
    request: (request) => send(request, { resolve, pools, clock }),
    close: () => pools.close(),
  }
}

/** The number of addresses tried per name. Each gets its share of the time. */
const ADDRESSES_TRIED_MAX = 3

interface Connections {
  resolve: CachedResolver
  pools: Pools
  clock: Clock
}

function send(request: OutboundRequest, connections: Connections): Promise<OutboundOutcome> {
  if (request.signal?.aborted) return Promise.resolve(endedBeforeDial())
  const url = parseUrl(request.url)
  if ('kind' in url) return Promise.resolve(url)
  const known = url.addresses ?? connections.resolve.cached(url.host, request.allowPrivate)
  // Fast path for one known address, as in a burst to one endpoint: the general path would cost an event's sender 8 % more.
  if (known?.length !== 1) return sendToAny(url, known, request, connections)
  const [only] = known as [string]
  const refusal = forbidden(url.host, known, request)
  return refusal ? Promise.resolve(refusal) : attempt(url, only, request, connections.pools, request.timeoutMs)
}

async function sendToAny(
  url: ParsedUrl,
  known: string[] | undefined,
  request: OutboundRequest,
  { resolve, pools, clock }: Connections,
): Promise<OutboundOutcome> {
  const started = clock.monotonic()
  const left = () => request.timeoutMs - (clock.monotonic() - started)
  const { allowPrivate, timeoutMs } = request
  const found = known ?? (await resolved(url.host, allowPrivate, resolve, timeoutMs))
  if ('kind' in found) return found
  const refusal = forbidden(url.host, found, request)
  if (refusal) return refusal
  const addresses = found.slice(0, ADDRESSES_TRIED_MAX)
  let outcome: OutboundOutcome | undefined
  for (const [index, address] of addresses.entries()) {
    if (request.signal?.aborted) return endedBeforeDial()
    const shareMs = Math.max(1, left() / (addresses.length - index))
    outcome = await attempt(url, address, request, pools, shareMs)
    // Only a request that was certainly not sent may go to the next address.
    const mayTryNext = outcome.kind === 'failed' && !outcome.sent && outcome.phase !== 'tls'
    if (!mayTryNext || left() <= 0) break
  }
  return outcome as OutboundOutcome
}

function attempt(url: ParsedUrl, address: string, request: OutboundRequest, pools: Pools, timeoutMs: number) {
  const name = url.addresses ? undefined : url.host
  const target: Target = { origin: url.origin, address, name, identity: request.tls }
  const pool = request.reuse === false ? pools.fresh(target) : pools.of(target)
  const outcome = exchange(pool, {
    method: request.method,
    path: url.path,
    headers: request.headers ?? {},
    body: request.body,
    timeoutMs,
    allowedMs: request.timeoutMs,
    answerSizeMaxBytes: request.answerSizeMaxBytes,
    address,
    signal: request.signal,
  })
  if (request.reuse === false) void outcome.then(() => pool.destroy()).catch(() => {})
  return outcome
}

/** All addresses of a name must be allowed: a name that mixes public and private addresses is suspicious. */
function forbidden(
  host: string,
  addresses: readonly string[],
  { allowPrivate, onlyPrivate }: OutboundRequest,
): OutboundFailure | undefined {
  for (const address of addresses) {
    const isPublic = onlyPrivate === true && !isPrivate(address)
    const why = isPublic ? PUBLIC : allowPrivate ? undefined : whyForbidden(address)
    if (why) return { ...refused('forbidden', `${host} resolves to ${address}, which is not allowed: ${why}`), address }
  }
  return undefined
}

const PUBLIC = 'it is not in a private network, and the request carries a secret without TLS'

async function resolved(
  host: string,
  allowPrivate: boolean,
  resolve: CachedResolver,
  timeoutMs: number,
): Promise<string[] | OutboundFailure> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs)
  })
  try {
    const addresses = await Promise.race([resolve.resolve(host, allowPrivate), late])
    return addresses.length > 0 ? addresses : refused('dns', `${host} has no address`)
  } catch (error) {
    return refused('dns', `${host} does not resolve: ${error instanceof Error ? error.message : error}`)
  } finally {
    clearTimeout(timer)
  }
}

interface ParsedUrl {
  origin: string
  /** Without IPv6 brackets. `URL` converts decimal, hexadecimal and octal IPv4 forms to dotted ones. */
  host: string
  /** The address itself, if the host is a literal. */
  addresses: [string] | undefined
  /** With the query. */
  path: string
}

/** Cache of parsed URLs. Endpoints are few and called often: parsing was a tenth of a request's cost. */
const parsedUrls = new Map<string, ParsedUrl>()
const PARSED_URLS_MAX = 10_000

function parseUrl(text: string): ParsedUrl | OutboundFailure {
  const seen = parsedUrls.get(text)
  if (seen) return seen
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return refused('url', 'it is not an http or https address')
  if (url.username !== '' || url.password !== '') return refused('url', 'it contains a user name or password')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const addresses: [string] | undefined = isIP(host) ? [host] : undefined
  const result = { origin: url.origin, host, addresses, path: url.pathname + url.search }
  if (parsedUrls.size >= PARSED_URLS_MAX) parsedUrls.clear()
  parsedUrls.set(text, result)
  return result
}

function endedBeforeDial(): OutboundFailure {
  return refused('connect', 'the exchange was ended before it was sent')
}

/** A failure before any connection was attempted. */
function refused(phase: OutboundFailure['phase'], message: string): OutboundFailure {
  return { kind: 'failed', phase, sent: false, message }
}

export interface Exchange {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  headers: Record<string, string>
  body: string | Buffer | undefined
  /** The time that is left for this attempt. */
  timeoutMs: number
  /** The whole time limit, for messages. */
  allowedMs: number
  answerSizeMaxBytes: number
  address: string
  signal?: AbortSignal | undefined
}

/** Sends one request on a pool. Failures are outcomes. The time limit covers waiting for a connection, headers and body. */
export function exchange(pool: Pool, request: Exchange): Promise<OutboundOutcome> {
  return new Promise((resolve) => {
    const { method, path, headers, body = null } = request
    pool.dispatch({ method, path, headers, body }, new Listener(request, resolve))
  })
}

/**
 * Collects the response until the first of end, failure and time-out. A class, because eight closures per request cost more.
 */
class Listener implements Dispatcher.DispatchHandler {
  readonly #request: Exchange
  readonly #resolve: (outcome: OutboundOutcome) => void
  readonly #timer: NodeJS.Timeout
  #controller: Dispatcher.DispatchController | undefined
  #status: number | undefined
  #headers: OutboundAnswer['headers'] = {}
  #chunks: Buffer[] = []
  #length = 0
  #over = false

  constructor(request: Exchange, resolve: (outcome: OutboundOutcome) => void) {
    this.#request = request
    this.#resolve = resolve
    this.#timer = setTimeout(outOfTime, request.timeoutMs, this)
    request.signal?.addEventListener('abort', this)
  }

  /** From here on the request may reach the receiver: undici calls this right before it writes. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#over || this.#request.signal?.aborted) controller.abort(new Error('ended'))
    else this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: OutboundAnswer['headers']): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const limit = this.#request.answerSizeMaxBytes
    this.#chunks.push(chunk.subarray(0, limit - this.#length))
    this.#length += chunk.length
    if (this.#length <= limit) return
    this.#answer(true)
    controller.abort(new Error('the response is longer than the limit'))
  }

  onResponseEnd(): void {
    this.#answer(false)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const { address } = this.#request
    if (isCertificateRefusal(error)) this.#refuseCertificate(error)
    else if (error instanceof DialError) this.#fail(error.phase, describeDialError(error, address))
    else this.#fail('sent', describeBrokenConnection(error, this.#status))
  }

  outOfTime(): void {
    this.#fail('time-out', this.#describeTimeout())
    this.#controller?.abort(new Error('out of time'))
  }

  /** Called when the signal aborts. */
  handleEvent(): void {
    this.#fail('sent', 'the exchange was ended before an answer arrived')
    this.#controller?.abort(new Error('ended'))
  }

  #describeTimeout(): string {
    const limit = `within ${this.#request.allowedMs / 1000} s`
    if (this.#controller === undefined) return `no connection to ${this.#request.address} ${limit}`
    return this.#status === undefined
      ? `no answer ${limit}`
      : `status ${this.#status}, but its body did not end ${limit}`
  }

  #answer(truncated: boolean): void {
    const body = this.#chunks.length === 0 ? EMPTY : Buffer.concat(this.#chunks)
    const { address } = this.#request
    this.#finish({ kind: 'answer', status: this.#status!, headers: this.#headers, body, truncated, address })
  }

  #fail(phase: OutboundFailure['phase'], message: string): void {
    const { address } = this.#request
    this.#finish({ kind: 'failed', phase, sent: this.#controller !== undefined, message, address })
  }

  #refuseCertificate(error: Error): void {
    const { address } = this.#request
    const { reason } = (error instanceof DialError ? error.cause : error) as { reason?: string }
    const message = `TLS with ${address} failed: it does not accept our certificate: ${reason ?? error.message}`
    this.#finish({ kind: 'failed', phase: 'tls', sent: false, message, address, certificateRefused: true })
  }

  /**
   * Resolves one turn of the event loop later, when undici can reuse the connection for the next request. Resolving immediately
   * made undici open another connection: with twice as many connections, an event cost its sender a fifth more.
   */
  #finish(outcome: OutboundOutcome): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#timer)
    this.#request.signal?.removeEventListener('abort', this)
    queueMicrotask(() => setImmediate(this.#resolve, outcome))
  }
}

function outOfTime(listener: Listener): void {
  listener.outOfTime()
}

const EMPTY = Buffer.alloc(0)

function describeDialError(error: DialError, address: string): string {
  const reason = error.cause instanceof Error ? error.cause.message : error.message
  return error.phase === 'connect' ? `no connection to ${address}: ${reason}` : `TLS with ${address} failed: ${reason}`
}

function describeBrokenConnection(error: Error, status: number | undefined): string {
  if (error.name === 'HTTPParserError') return `the answer is not HTTP: ${error.message}`
  if ((error as { code?: string }).code === 'UND_ERR_HEADERS_OVERFLOW') return "the answer's headers are too long"
  const when = status === undefined ? 'before an answer' : `in the body of the answer (status ${status})`
  return `the connection broke ${when}: ${error.message}`
}

export interface OutboundAnswer {
  kind: 'answer'
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  truncated: boolean
  /** The address that the request was sent to. */
  address: string
}

export interface OutboundFailure {
  kind: 'failed'
  /**
   * The stage at which the request failed. 'sent': after the request was written, the connection broke or the answer was not
   * HTTP.
   */
  phase: 'url' | 'forbidden' | 'dns' | 'connect' | 'tls' | 'sent' | 'time-out'
  /** false only if the request was certainly not sent; true if the receiver may have received it. */
  sent: boolean
  /** A text for people. */
  message: string
  address?: string
  /** The server did not accept our client certificate, or requires one. */
  certificateRefused?: true
}

export type OutboundOutcome = OutboundAnswer | OutboundFailure
