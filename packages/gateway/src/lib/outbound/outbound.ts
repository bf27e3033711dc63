import { isIP } from 'node:net'
import { type Clock, systemClock } from '../clock.ts'
import type { OutboundFailure, OutboundOutcome } from './exchange.ts'
import { exchange } from './exchange.ts'
import type { TlsIdentity } from './pools.ts'
import { createPools, type Pools, type Target } from './pools.ts'
import { type CachedResolver, createCachedResolver, type Resolve, systemResolve, whyForbidden } from './resolve.ts'

export interface OutboundRequest {
  /** http or https, without user name and password. */
  url: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  headers?: Record<string, string>
  body?: string | Buffer
  /** One limit over name resolution, connection, headers and body together. */
  timeoutMs: number
  /** A longer response body is cut there, and the connection closed. */
  answerSizeMaxBytes: number
  /** True if private addresses are allowed: on local deployments, and for the operator's suppliers. */
  allowPrivate: boolean
  tls?: TlsIdentity
  /** false: use a new connection, if an unknown outcome costs more than a handshake. */
  reuse?: boolean
}

export type { OutboundAnswer, OutboundFailure, OutboundOutcome } from './exchange.ts'

/** Opens all outgoing connections of the gateway. Never follows redirects. */
export interface Outbound {
  /** Never rejects because of the network or the receiver: their failures are data. */
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

/** Addresses of one name that are tried; each gets its share of the time. */
const ADDRESSES_TRIED_MAX = 3

interface Connections {
  resolve: CachedResolver
  pools: Pools
  clock: Clock
}

function send(request: OutboundRequest, connections: Connections): Promise<OutboundOutcome> {
  const url = parseUrl(request.url)
  if ('kind' in url) return Promise.resolve(url)
  const known = url.addresses ?? connections.resolve.cached(url.host, request.allowPrivate)
  // Fast path for one known address, as in a burst to one endpoint: the general path cost an event's sender 8 % more.
  if (known?.length !== 1) return sendToAny(url, known, request, connections)
  const [only] = known as [string]
  const refusal = request.allowPrivate ? undefined : forbidden(url.host, known)
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
  const refusal = allowPrivate ? undefined : forbidden(url.host, found)
  if (refusal) return refusal
  const addresses = found.slice(0, ADDRESSES_TRIED_MAX)
  let outcome: OutboundOutcome | undefined
  for (const [index, address] of addresses.entries()) {
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
  })
  if (request.reuse === false) void outcome.then(() => pool.destroy()).catch(() => {})
  return outcome
}

/** All addresses of a name must be allowed: a name that mixes public and private addresses is suspicious. */
function forbidden(host: string, addresses: readonly string[]): OutboundFailure | undefined {
  for (const address of addresses) {
    const why = whyForbidden(address)
    if (why) return { ...refused('forbidden', `${host} leads to ${address}, which is not allowed: ${why}`), address }
  }
  return undefined
}

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

/** Cache of parsed URLs. Endpoints are few and called often: parsing was a tenth of the cost of a request. */
const parsedUrls = new Map<string, ParsedUrl>()
const PARSED_URLS_MAX = 10_000

function parseUrl(text: string): ParsedUrl | OutboundFailure {
  const seen = parsedUrls.get(text)
  if (seen) return seen
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return refused('url', 'it is not an http or https address')
  if (url.username !== '' || url.password !== '') return refused('url', 'it carries a user name or password')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const addresses: [string] | undefined = isIP(host) ? [host] : undefined
  const result = { origin: url.origin, host, addresses, path: url.pathname + url.search }
  if (parsedUrls.size >= PARSED_URLS_MAX) parsedUrls.clear()
  parsedUrls.set(text, result)
  return result
}

/** A failure before any connection was attempted. */
function refused(phase: OutboundFailure['phase'], message: string): OutboundFailure {
  return { kind: 'failed', phase, sent: false, message }
}
