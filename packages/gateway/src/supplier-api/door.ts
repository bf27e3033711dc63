import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { BODY_SIZE_MAX_BYTES } from '@dealer-esim/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Config } from '../config.ts'
import { type Caller, callerReader } from '../dealer-api/caller.ts'
import type { FulfilmentDeps } from '../fulfilment/deps.ts'
import { refreshKeys } from '../fulfilment/refresh.ts'
import { applyNotice } from '../profiles/notice.ts'
import { readNotice } from '../suppliers/es2plus/notice.ts'

export type SupplierApiDeps = FulfilmentDeps & { config: Pick<Config, 'trustedProxies' | 'deployment'> }

const FUNCTIONS = ['handleDownloadProgressInfo', 'handleNotification'] as const

/**
 * The suppliers' door: notices of SM-DP+ servers (SGP.22 ES2+) and events of upstream gateways. Who calls is known by
 * its client certificate, by its address, or by the signature of the event; a supplier speaks for its own eSIMs alone.
 */
export async function supplierApi(app: FastifyInstance, deps: SupplierApiDeps): Promise<void> {
  const callerOf = callerReader(deps.config.trustedProxies)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_SIZE_MAX_BYTES }, (_, body, done) =>
    done(null, body),
  )
  app.setErrorHandler((error, _, reply) => {
    const status = (error as { statusCode?: number }).statusCode ?? 500
    if (status >= 500) deps.log.error({ err: error }, 'a supplier’s notice failed')
    return plain(reply, status, status >= 500 ? 'not taken in: send it again' : 'the request is malformed')
  })

  for (const name of FUNCTIONS) {
    app.post(`/gsma/rsp2/es2plus/${name}`, async (request, reply) => {
      const suppliers = speakers(deps, request.raw, callerOf(request.raw))
      if (suppliers === 'insecure') return plain(reply, 403, 'HTTPS is required')
      if (suppliers.length === 0) return plain(reply, 403, 'no supplier is known by this certificate or address')
      const body = parse(request.body)
      const notice = body && readNotice(name, body, new Date(deps.clock.now()))
      if (notice === undefined) return plain(reply, 400, 'this is no notice of ES2+')
      const matched = notice.report !== undefined && (await applyNotice(deps, suppliers, notice.iccid, notice.report))
      deps.log.info({ name, suppliers, iccid: notice.iccid, status: notice.report?.smdpStatus, matched }, 'es2+ notice')
      return reply.code(204).headers(protocolOf(request)).send()
    })
  }

  app.post<{ Params: { supplier: string } }>('/suppliers/:supplier/events', (request, reply) =>
    isSecure(deps, callerOf(request.raw)) ? receiveEvent(deps, request, reply) : plain(reply, 403, 'HTTPS is required'),
  )
}

/** An event of an upstream gateway says that something changed; what it is, we ask. */
async function receiveEvent(
  deps: SupplierApiDeps,
  request: FastifyRequest<{ Params: { supplier: string } }>,
  reply: FastifyReply,
) {
  const supplied = deps.suppliers.get(request.params.supplier)
  if (supplied?.supplier.receive === undefined) return plain(reply, 404, 'there is no such supplier')
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const notice = await supplied.supplier.receive({ headers: request.headers, body })
  if (notice.kind === 'refused') return plain(reply, 401, notice.words)
  await refreshKeys(deps, supplied, notice.keys)
  return reply.code(204).send()
}

type Told = Exclude<Caller, { untold: true }>

function isSecure({ config }: Pick<SupplierApiDeps, 'config'>, caller: Caller): caller is Told {
  return !('untold' in caller) && (caller.isHttps || config.deployment === 'local')
}

/** Names of the suppliers in whose name this caller may speak. */
function speakers(deps: SupplierApiDeps, request: IncomingMessage, caller: Caller): string[] | 'insecure' {
  if (!isSecure(deps, caller)) return 'insecure'
  const print = fingerprintOf(request)
  return deps.suppliers
    .all()
    .filter(({ supplier: { noticesFrom: from } }) => {
      if (from === undefined) return false
      return (print !== undefined && from.certificates.includes(print)) || isListed(caller.address, from.addresses)
    })
    .map(({ supplier }) => supplier.name)
}

/** SGP.22 §6.2: an answer says the version as the request does; what notices are read of is the same in all of them. */
function protocolOf(request: FastifyRequest): Record<string, string> {
  const version = request.headers['x-admin-protocol']
  return typeof version === 'string' && /^gsma\/rsp\/v\d+\.\d+\.\d+$/.test(version)
    ? { 'x-admin-protocol': version }
    : {}
}

/** SHA-256 of the client certificate, whose key the handshake has proven; which one is pinned, so no authority matters. */
function fingerprintOf(request: IncomingMessage): string | undefined {
  const socket = request.socket as Partial<TLSSocket>
  const certificate = socket.getPeerCertificate?.()
  return certificate?.fingerprint256?.replaceAll(':', '').toLowerCase()
}

function isListed(address: string, blocks: readonly string[]): boolean {
  const parsed = ipaddr.process(address)
  return blocks.some((block) => {
    const [range, bits] = block.includes('/') ? ipaddr.parseCIDR(block) : [ipaddr.process(block), undefined]
    if (range.kind() !== parsed.kind()) return false
    return parsed.match([range, bits ?? (range.kind() === 'ipv4' ? 32 : 128)] as never)
  })
}

function parse(body: unknown): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.isBuffer(body) ? body.toString() : '')
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

function plain(reply: FastifyReply, status: number, words: string) {
  return reply.code(status).type('text/plain; charset=utf-8').send(`${words}\n`)
}
