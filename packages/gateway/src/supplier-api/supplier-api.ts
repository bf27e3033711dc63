import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { codes } from '@dealer-esim/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import type { FulfilmentDeps } from '../fulfilment/outcomes/deps.ts'
import { refreshItems } from '../fulfilment/reconciliation/refresh-items.ts'
import { readBody } from '../http/body.ts'
import { type Caller, callerReader, isSecure } from '../http/caller.ts'
import { createBodyBudget } from '../http/load-shedding.ts'
import { isInBlocks, parseBlock } from '../lib/address-blocks.ts'
import { ApiError } from '../lib/api-error.ts'
import { applyReportByIccid } from '../profiles/apply-reports.ts'
import { parseNotification } from '../suppliers/es2plus/notification.ts'

export type SupplierApiDeps = FulfilmentDeps & { config: Pick<Config, 'trustedProxies' | 'deployment'> }

/** Of bodies that have not arrived whole, of all callers: anybody may send to a supplier's address for events. */
const ARRIVING_MAX_BYTES = 16 * 1024 * 1024

const FUNCTIONS = ['handleDownloadProgressInfo', 'handleNotification'] as const

/**
 * The suppliers' door: notices of SM-DP+ servers (SGP.22 ES2+) and events of upstream gateways. Who calls is known by
 * its client certificate, by its address, or by the signature of the event; a supplier speaks for its own eSIMs alone.
 * What the head of a request tells is judged before its body is read.
 */
export async function supplierApi(app: FastifyInstance, deps: SupplierApiDeps): Promise<void> {
  const callerOf = callerReader(deps.config.trustedProxies)
  const bodies = createBodyBudget(ARRIVING_MAX_BYTES)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (request: FastifyRequest, _, done) =>
    readBody(request.raw, bodies, (body) => (body instanceof ApiError ? done(body) : done(null, body))),
  )
  app.setErrorHandler((error, _, reply) => {
    const status = statusOf(error)
    if (status >= 500 && !(error instanceof ApiError)) deps.log.error({ err: error }, 'a supplier’s notice failed')
    return plain(reply, status, status >= 500 ? 'not taken in: send it again' : 'the request is malformed')
  })
  app.addHook('onRequest', async (request, reply) => {
    if (!isSecure(callerOf(request.raw), deps.config)) return plain(reply, 403, 'HTTPS is required')
  })

  for (const name of FUNCTIONS) {
    app.post(`/gsma/rsp2/es2plus/${name}`, {
      async onRequest(request, reply) {
        request.suppliers = suppliersOfCaller(deps, request.raw, callerOf(request.raw))
        if (request.suppliers.length > 0) return
        return plain(reply, 403, 'no supplier is known by this certificate or address')
      },
      handler: (request, reply) => receiveNotification(deps, name, request, reply),
    })
  }

  app.post<{ Params: { supplier: string } }>('/suppliers/:supplier/events', (request, reply) =>
    receiveEvent(deps, request, reply),
  )
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Names of those in whose name the caller may speak. */
    suppliers?: string[]
  }
}

async function receiveNotification(
  deps: SupplierApiDeps,
  name: (typeof FUNCTIONS)[number],
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { suppliers = [] } = request
  const body = parse(request.body)
  const notice = body && parseNotification(name, body, new Date(deps.databaseClock.now()))
  if (notice === undefined) return plain(reply, 400, 'this is no notice of ES2+')
  const matched =
    notice.report !== undefined && (await applyReportByIccid(deps, suppliers, notice.iccid, notice.report))
  deps.log.info({ name, suppliers, iccid: notice.iccid, status: notice.report?.smdpStatus, matched }, 'es2+ notice')
  return reply.code(204).headers(protocolOf(request)).send()
}

/** An event of an upstream gateway says that something changed; what it is, we ask. */
async function receiveEvent(
  deps: SupplierApiDeps,
  request: FastifyRequest<{ Params: { supplier: string } }>,
  reply: FastifyReply,
) {
  const name = request.params.supplier
  const supplied = deps.suppliers.get(name)
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const notice = await supplied?.supplier.receive?.({ headers: request.headers, body })
  if (supplied === undefined || notice === undefined || notice.kind === 'refused') {
    // Why is for our log: that a supplier exists is nobody's business who does not know its secret.
    if (notice?.kind === 'refused') deps.log.warn({ supplier: name, message: notice.message }, 'an event was refused')
    return plain(reply, 401, 'no supplier of this name has signed this event just now')
  }
  await refreshItems(deps, supplied, notice.keys)
  return reply.code(204).send()
}

/** Names of the suppliers in whose name this caller may speak. */
function suppliersOfCaller(deps: SupplierApiDeps, request: IncomingMessage, caller: Caller): string[] {
  if ('unknown' in caller) return []
  const print = fingerprintOf(request)
  return deps.suppliers
    .all()
    .filter(({ supplier: { eventSenders: from } }) => {
      if (from === undefined) return false
      return (
        (print !== undefined && from.certificates.includes(print)) ||
        isInBlocks(caller.address, from.addresses.map(parseBlock))
      )
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

/** Of what the body reader refused, what Fastify refused, and whatever failed here. */
function statusOf(error: unknown): number {
  if (error instanceof ApiError) return codes[error.code].http
  return (error as { statusCode?: number }).statusCode ?? 500
}

function plain(reply: FastifyReply, status: number, message: string) {
  return reply.code(status).type('text/plain; charset=utf-8').send(`${message}\n`)
}
