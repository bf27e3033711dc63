import { isIP } from 'node:net'
import { type Clock, systemClock } from '../clock.ts'
import { whyForbidden } from './address.ts'
import type { TlsIdentity } from './dial.ts'
import { exchange } from './exchange.ts'
import type { OutboundFailure, OutboundOutcome } from './outcome.ts'
import { keptPools, type Pools, type Target } from './pools.ts'
import { type Resolve, rememberingResolve, systemResolve } from './resolve.ts'

export interface OutboundRequest {
  /** http or https, without user name and password. */
  url: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  headers?: Record<string, string>
  body?: string | Buffer
  /** One limit over name resolution, connection, headers and body together. */
  timeout_ms: number
  /** What is read of the answer's body; a longer one is cut there and the connection closed. */
  mostAnswerBytes: number
  /** Whether addresses that are not publicly routable may be dialled: local deployments, the operator's suppliers. */
  allowPrivate: boolean
  tls?: TlsIdentity
  /** false: a connection of its own, for whom "it may have arrived" costs more than a handshake. */
  reuse?: boolean
}

export type { OutboundAnswer, OutboundFailure, OutboundOutcome } from './outcome.ts'

/** The only place that opens outgoing connections. Redirects are never followed. */
export interface Outbound {
  /** Never rejects for what the network or the receiver does: that is data. */
  request(request: OutboundRequest): Promise<OutboundOutcome>
  close(): Promise<void>
}

export function createOutbound(options: { resolve?: Resolve; clock?: Clock } = {}): Outbound {
  const clock = options.clock ?? systemClock
  const resolve = rememberingResolve(options.resolve ?? systemResolve, () => clock.monotonic())
  const pools = keptPools()
  return {
    request: (request) => send(request, { resolve, pools, clock }),
    close: () => pools.close(),
  }
}

/** Of one name; each gets its share of the time. */
const ADDRESSES_TRIED_MOST = 3

async function send(
  request: OutboundRequest,
  { resolve, pools, clock }: { resolve: Resolve; pools: Pools; clock: Clock },
): Promise<OutboundOutcome> {
  const started = clock.monotonic()
  const left = () => request.timeout_ms - (clock.monotonic() - started)
  const url = parse(request.url)
  if ('kind' in url) return url
  const found = await addressesOf(url, request.allowPrivate, resolve, request.timeout_ms)
  if ('kind' in found) return found
  const addresses = found.addresses.slice(0, ADDRESSES_TRIED_MOST)
  let outcome: OutboundOutcome | undefined
  for (const [index, address] of addresses.entries()) {
    const share_ms = Math.max(1, left() / (addresses.length - index))
    outcome = await attempt(url, address, request, pools, share_ms)
    // Only what surely never left may go to the next address.
    const mayGoOn = outcome.kind === 'failed' && !outcome.sent && outcome.phase !== 'tls'
    if (!mayGoOn || left() <= 0) break
  }
  return outcome as OutboundOutcome
}

async function attempt(url: URL, address: string, request: OutboundRequest, pools: Pools, timeout_ms: number) {
  const name = isIP(hostOf(url)) ? undefined : hostOf(url)
  const target: Target = { origin: url.origin, address, name, identity: request.tls }
  const pool = request.reuse === false ? pools.fresh(target) : pools.of(target)
  const outcome = await exchange(pool, {
    method: request.method,
    path: url.pathname + url.search,
    headers: request.headers ?? {},
    body: request.body,
    timeout_ms,
    allowed_ms: request.timeout_ms,
    mostAnswerBytes: request.mostAnswerBytes,
    address,
  })
  if (request.reuse === false) pool.destroy().catch(() => {})
  return outcome
}

function parse(text: string): URL | OutboundFailure {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return refused('url', 'it is not an http or https address')
  if (url.username !== '' || url.password !== '') return refused('url', 'it carries a user name or password')
  return url
}

/** All addresses of a name must be allowed: a name that mixes public and private ones is up to something. */
async function addressesOf(
  url: URL,
  allowPrivate: boolean,
  resolve: Resolve,
  timeout_ms: number,
): Promise<{ addresses: string[] } | OutboundFailure> {
  const host = hostOf(url)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeout_ms / 1000} s`)), timeout_ms)
  })
  try {
    const addresses = await Promise.race([resolve(host, { allowPrivate }), late])
    if (addresses.length === 0) return refused('dns', `${host} has no address`)
    if (allowPrivate) return { addresses }
    for (const address of addresses) {
      const why = whyForbidden(address)
      if (why) return { ...refused('forbidden', `${host} leads to ${address}, which is not allowed: ${why}`), address }
    }
    return { addresses }
  } catch (error) {
    return refused('dns', `${host} does not resolve: ${error instanceof Error ? error.message : error}`)
  } finally {
    clearTimeout(timer)
  }
}

/** URL has already turned decimal, hexadecimal and octal forms into dotted ones. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function refused(phase: OutboundFailure['phase'], words: string): OutboundFailure {
  return { kind: 'failed', phase, sent: false, words }
}
