import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../lib/refusal.ts'
import { bearerOf } from './identify.ts'

export interface AllowedOrigins {
  /** Origins whose pages may make changes: those of PUBLIC_URL and of the console's own address. */
  origins: readonly string[]
  /** A local deployment: every loopback name of this machine may, too. */
  loopback: boolean
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses changes that another site's page asks a browser for. A browser always sends `Origin` with a change and no
 * page can forge it; who brings an access token is judged by that alone and no browser at all. Other kinds of
 * authorization are none of ours: a browser adds those of a proxy by itself.
 */
export function checkOrigin(options: AllowedOrigins, request: FastifyRequest): void {
  if (READS.has(request.method) || bearerOf(request) !== undefined) return
  const { origin, host } = request.headers
  if (origin !== undefined && options.origins.includes(origin)) return
  // On a local deployment the console answers under every name of this machine, and its own port.
  if (options.loopback && origin !== undefined && URL.canParse(origin)) {
    const url = new URL(origin)
    if (LOOPBACK.has(url.hostname) && url.host === host) return
  }
  throw new Refusal(403, 'FOREIGN_ORIGIN', 'This page may not change anything here. Open the console itself.')
}
