import { createHash } from 'node:crypto'
import { Pool } from 'undici'
import { createConnector, type TlsIdentity } from './dial.ts'

export interface Target {
  origin: string
  /** Resolved and checked. */
  address: string
  /** The name that the certificate must bear; undefined for a literal address. */
  name: string | undefined
  identity: TlsIdentity | undefined
}

/**
 * Kept connections, one pool per origin, address and identity: a connection is used again only for an address that
 * this request's own check has passed.
 */
export interface Pools {
  of(target: Target): Pool
  /** A pool for one request, when a kept connection is not wanted. */
  fresh(target: Target): Pool
  close(): Promise<void>
}

/** Pools kept; the one used longest ago is closed for a new one. */
const POOLS_MAX = 1_000
/** Connections of a pool; callers cap themselves well below, the rest waits. */
const CONNECTIONS_MAX = 128
/** Shorter than what servers usually allow, so that they do not close a connection under a request. */
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MAX_MS = 30_000
/** Of an answer. */
const HEADER_SIZE_MAX_BYTES = 16 * 1024

export function createPools(): Pools {
  const pools = new Map<string, { pool: Pool; usedAt: number }>()
  let uses = 0

  function closeUnused(except: string): void {
    let oldest = { key: '', usedAt: Number.POSITIVE_INFINITY }
    for (const [key, { usedAt }] of pools) if (key !== except && usedAt < oldest.usedAt) oldest = { key, usedAt }
    const unused = pools.get(oldest.key)
    pools.delete(oldest.key)
    unused?.pool.close().catch(() => {})
  }

  return {
    of(target) {
      const key = keyOf(target)
      let kept = pools.get(key)
      if (!kept) {
        kept = { pool: open(target), usedAt: 0 }
        pools.set(key, kept)
        if (pools.size > POOLS_MAX) closeUnused(key)
      }
      kept.usedAt = ++uses
      return kept.pool
    },
    fresh: open,
    async close() {
      const all = [...pools.values()].map(({ pool }) => pool)
      pools.clear()
      await Promise.all(all.map((pool) => pool.destroy(new Error('closing')).catch(() => {})))
    },
  }
}

function open(target: Target): Pool {
  return new Pool(target.origin, {
    connect: createConnector(target.address, target.name, target.identity),
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    maxHeaderSize: HEADER_SIZE_MAX_BYTES,
    headersTimeout: 0, // one limit over everything is kept by exchange.ts
    bodyTimeout: 0,
  })
}

function keyOf({ origin, address, identity }: Target): string {
  if (identity === undefined) return `${origin} ${address}`
  return `${origin} ${address} ${createHash('sha256').update(JSON.stringify(identity)).digest('hex')}`
}
