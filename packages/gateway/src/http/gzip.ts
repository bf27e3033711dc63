import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** A smaller answer fits into one packet anyway. */
const GZIP_MIN_BYTES = 1_400

/**
 * A hook that compresses answers to reads. An answer may hold a secret only if nobody else chooses a text beside it: the length
 * of the compressed answer would otherwise reveal something about the secret.
 */
export async function gzipLargeAnswers(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  const isLarge = typeof payload === 'string' && payload.length >= GZIP_MIN_BYTES
  if (!isLarge || !['GET', 'HEAD'].includes(request.method)) return payload
  const vary = reply.getHeader('Vary')
  reply.header('Vary', vary ? `${vary}, Accept-Encoding` : 'Accept-Encoding')
  if (request.method === 'HEAD' || !acceptsGzip(request.headers['accept-encoding'])) return payload
  reply.header('Content-Encoding', 'gzip').removeHeader('Content-Length')
  return promisify(gzip)(payload)
}

/** True if an Accept-Encoding header accepts gzip: `br;q=1, gzip;q=0.5`, but not `gzip;q=0`. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  const accepted = new Map(
    String(header ?? '')
      .toLowerCase()
      .split(',')
      .map((entry) => {
        const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim())
        return [coding, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))] as const
      }),
  )
  return accepted.get('gzip') ?? accepted.get('*') ?? false
}
