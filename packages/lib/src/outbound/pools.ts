import { createHash } from 'node:crypto'
import net from 'node:net'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'
import type { buildConnector } from 'undici'
import { Pool } from 'undici'

export interface Target {
  origin: string
  /** A resolved and checked address. */
  address: string
  /** The host name that the certificate must match; undefined for a literal address. */
  name: string | undefined
  identity: TlsIdentity | undefined
}

/**
 * Reuses connections, in one pool per origin, address and identity, so a request only ever gets a connection to an address
 * that its own check allowed.
 */
export interface Pools {
  of(target: Target): Pool
  /** A new pool for one request that must not reuse a connection. */
  fresh(target: Target): Pool
  close(): Promise<void>
}

/** Maximum number of pools; the least recently used one is closed for a new one. */
const POOLS_MAX = 1_000
/** Maximum number of connections in a pool. Callers limit themselves well below it; further requests wait. */
const CONNECTIONS_MAX = 128
/** Shorter than the usual time-outs of servers, so that a server does not close a connection during a request. */
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MAX_MS = 30_000
/** Maximum size of response headers. */
const HEADER_SIZE_MAX_BYTES = 16 * 1024

export function createPools(): Pools {
  const pools = new Map<string, { pool: Pool; usedAt: number }>()
  let uses = 0

  function closeOldest(except: string): void {
    let oldest = { key: '', usedAt: Number.POSITIVE_INFINITY }
    for (const [key, { usedAt }] of pools) if (key !== except && usedAt < oldest.usedAt) oldest = { key, usedAt }
    const closing = pools.get(oldest.key)
    pools.delete(oldest.key)
    closing?.pool.close().catch(() => {})
  }

  return {
    of(target) {
      const key = keyOf(target)
      let kept = pools.get(key)
      if (!kept) {
        kept = { pool: createPool(target), usedAt: 0 }
        pools.set(key, kept)
        if (pools.size > POOLS_MAX) closeOldest(key)
      }
      kept.usedAt = ++uses
      return kept.pool
    },
    fresh: createPool,
    async close() {
      const all = [...pools.values()].map(({ pool }) => pool)
      pools.clear()
      await Promise.all(all.map((pool) => pool.destroy(new Error('closing')).catch(() => {})))
    },
  }
}

function createPool(target: Target): Pool {
  return new Pool(target.origin, {
    connect: createConnector(target.address, target.name, target.identity),
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    maxHeaderSize: HEADER_SIZE_MAX_BYTES,
    headersTimeout: 0, // outbound.ts enforces one limit over everything
    bodyTimeout: 0,
  })
}

function keyOf({ origin, address, identity }: Target): string {
  if (identity === undefined) return `${origin} ${address}`
  return `${origin} ${address} ${createHash('sha256').update(JSON.stringify(identity)).digest('hex')}`
}

/** Our client certificate and the CA that we trust, in PEM. For suppliers that require client certificates. */
export interface TlsIdentity {
  ca?: string
  cert?: string
  key?: string
}

export class DialError extends Error {
  override readonly name = 'DialError'
  readonly phase: 'connect' | 'tls'
  constructor(phase: 'connect' | 'tls', cause: Error) {
    super(cause.message, { cause })
    this.phase = phase
  }
}

const CONNECT_TIMEOUT_MS = 10_000
const KEEP_ALIVE_PROBE_MS = 30_000

/**
 * Alerts about the client's certificate (RFC 8446 §6.2). With TLS 1.3, an alert arrives after the client has completed the
 * handshake and sent its request. The server sends it before it can read a request, so no request was accepted.
 */
const CERTIFICATE_ALERT =
  /^ERR_SSL_(SSL\/TLS_|SSLV3_|TLSV1_|TLSV13_)?ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN|REQUIRED)|UNKNOWN_CA)$/

const refusals = new WeakSet<Error>()

/** @returns whether the server refused our certificate, or the lack of one, before it sent anything else */
export function isCertificateRefusal(error: Error): boolean {
  return refusals.has(error instanceof DialError && error.cause instanceof Error ? error.cause : error)
}

/** Records alerts about our certificate, unless a byte of an answer was received before: a request was then accepted. */
export function noteRefusals(socket: Duplex): void {
  let hasAnswered = false
  socket.on('readable', () => {
    hasAnswered ||= socket.readableLength > 0
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    if (hasAnswered || !CERTIFICATE_ALERT.test(error.code ?? '')) return
    refusals.add(error)
    socket.destroy(error) // otherwise the request would fail with the end of the connection, which follows
  })
}

/** Connects only to this address; the name is used only to check the certificate. */
function createConnector(address: string, name: string | undefined, identity?: TlsIdentity): buildConnector.connector {
  let session: Buffer | undefined
  return (options, callback) => {
    let phase: 'connect' | 'tls' = 'connect'
    const secure = options.protocol === 'https:'
    const port = Number(options.port) || (secure ? 443 : 80)
    const socket = secure
      ? tls.connect({
          ...identity,
          host: address,
          port,
          ALPNProtocols: ['http/1.1'],
          ...(name === undefined ? {} : { servername: name }),
          ...(session === undefined ? {} : { session }),
        })
      : net.connect({ host: address, port })
    if (secure) noteRefusals(socket)
    const timer = setTimeout(() => socket.destroy(new Error('connecting took too long')), CONNECT_TIMEOUT_MS)
    let isSettled = false
    const settle = (error: Error | null) => {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      if (error) callback(new DialError(phase, error), null)
      else callback(null, socket)
    }
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_PROBE_MS)
    socket.on('session', (next: Buffer) => (session = next))
    socket.once('connect', () => (phase = 'tls'))
    socket.once(secure ? 'secureConnect' : 'connect', () => settle(null))
    socket.once('error', settle)
    socket.once('close', () => settle(new Error('the connection was closed')))
  }
}
