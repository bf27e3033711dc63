import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { codes } from '@dealer-esim/contract'
import { isInBlocks, parseBlock } from '@dealer-esim/lib/address-blocks.ts'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { parseNotification } from '@dealer-esim/wholesalers/es2plus/notification.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { applyReportByIccid } from '#esims/apply-reports.ts'
import type { FulfilmentDeps } from '#fulfilment/outcomes/outcome-deps.ts'
import { parseItemKey } from '#orders/order-item.ts'
import type { Config } from '#platform/config/config.ts'
import { noteQuestions } from '#suppliers/supplier-questions.ts'
import { readBody } from './body.ts'
import { addressOf, type Caller, callerReader, isSecure } from './caller.ts'
import { createBodyBudget } from './load-shedding/byte-budget.ts'
import {
  type CallerLimit,
  type CallerLimiter,
  callerOfAddress,
  createCallerLimiter,
} from './load-shedding/caller-limits.ts'

export type SupplierApiDeps = FulfilmentDeps & { config: Pick<Config, 'trustedProxies' | 'deployment'> }

/** Maximum size in bytes of all callers' incomplete bodies together, because anybody can send to the supplier API. */
const ARRIVING_MAX_BYTES = 16 * 1024 * 1024

/** Keys per event. A supplier's order is one of our items. */
const KEYS_MAX = 100

/**
 * Events from one address (docs/limits.md). A supplier sends many for busy dealers, so those that its signature or its
 * address proves are not counted in the rate: the rate limits what strangers can make us read.
 */
const PROVABLE: CallerLimit = { ofCaller: 64, ofNode: 256, rate: { burst: 60, everyMs: 100 } }
/** Events that anybody can send: each looks for its eSIM in the database. */
const UNPROVEN: CallerLimit = { ofCaller: 4, ofNode: 8, rate: { burst: 60, everyMs: 100 } }

const FUNCTIONS = ['handleDownloadProgressInfo', 'handleNotification'] as const

/**
 * The supplier API: notifications of SM-DP+ servers (SGP.22 ES2+) and events of upstream gateways. A caller is identified
 * by its client certificate, its address or the signature of the event, and can report only on its own eSIMs. Checks that
 * need only the head of a request run before its body is read.
 */
export async function supplierApi(app: FastifyInstance, deps: SupplierApiDeps): Promise<void> {
  const callerOf = callerReader(deps.config.trustedProxies)
  const bodies = createBodyBudget(ARRIVING_MAX_BYTES)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    const body = await readBody(request.raw, bodies)
    if (body instanceof ApiError) throw body
    return body
  })
  app.setErrorHandler((error, _, reply) => {
    if (error instanceof Refusal) {
      reply.header('retry-after', String(error.data?.retryAfterS))
      return plain(reply, error.status, error.message)
    }
    const status = statusOf(error)
    if (status >= 500 && !(error instanceof ApiError))
      deps.log.error({ err: error }, 'processing a request of a supplier failed')
    return plain(reply, status, status >= 500 ? 'not processed: send it again' : 'the request is malformed')
  })
  app.addHook('onRequest', async (request, reply) => {
    if (!isSecure(callerOf(request.raw), deps.config)) return plain(reply, 403, 'HTTPS is required')
  })

  for (const name of FUNCTIONS) {
    app.post(`/gsma/rsp2/es2plus/${name}`, {
      config: { access: 'a client certificate or an address of a supplier’s configuration' },
      async onRequest(request, reply) {
        request.suppliers = suppliersOfCaller(deps, request.raw, callerOf(request.raw))
        if (request.suppliers.length > 0) return
        return plain(reply, 403, 'no supplier has this certificate or address')
      },
      handler: (request, reply) => receiveNotification(deps, name, request, reply),
    })
  }

  // A sender may check the address with HEAD first.
  app.head('/suppliers/:supplier/events', { config: { access: 'anybody' } }, (_, reply) => reply.code(200).send())
  const provable = createCallerLimiter(PROVABLE, deps.clock)
  const unproven = createCallerLimiter(UNPROVEN, deps.clock)
  app.post<{ Params: { supplier: string } }>('/suppliers/:supplier/events', {
    config: { access: 'the event’s signature, or an address of the supplier’s configuration' },
    async onRequest(request, reply) {
      const configured = deps.suppliers.get(request.params.supplier)
      const isProvable = configured !== undefined && configured.supplier.eventsUnproven !== true
      const limiter = isProvable ? provable : unproven
      request.sender = { limiter, key: callerOfAddress(addressOf(callerOf(request.raw))) }
      const end = await limiter.begin(request.sender.key)
      reply.raw.once('finish', end).once('close', end)
      if (reply.raw.destroyed) end()
    },
    handler: (request, reply) => receiveEvent(deps, request, reply, addressOf(callerOf(request.raw))),
  })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Names of the suppliers that the caller may report for. */
    suppliers?: string[]
    /** The sender of an event, and the limit that applies to it. */
    sender?: { limiter: CallerLimiter; key: string }
  }
}

async function receiveNotification(
  deps: SupplierApiDeps,
  name: (typeof FUNCTIONS)[number],
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { suppliers: senders = [] } = request
  const body = parse(request.body)
  const notification = body && parseNotification(name, body, new Date(deps.databaseClock.now()))
  if (notification === undefined) return plain(reply, 400, 'the body is not an ES2+ notification')
  const { iccid, report, isExtraPoint } = notification
  const sendsExtraPoints = (name: string) => deps.suppliers.get(name)?.supplier.eventSenders?.extraPoints === true
  const suppliers = isExtraPoint ? senders.filter(sendsExtraPoints) : senders
  const matched =
    report !== undefined && suppliers.length > 0 && (await applyReportByIccid(deps, suppliers, iccid, report))
  deps.log.info({ name, suppliers, iccid, status: report?.smdpStatus, matched }, 'ES2+ notification')
  return reply.code(204).headers(protocolOf(request)).send()
}

/**
 * Handles a supplier's event: queues questions about the items it mentions, and applies figures that its signature proves.
 */
async function receiveEvent(
  deps: SupplierApiDeps,
  request: FastifyRequest<{ Params: { supplier: string } }>,
  reply: FastifyReply,
  address: string | undefined,
) {
  const name = request.params.supplier
  const configured = deps.suppliers.get(name)
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const event = await configured?.supplier.receive?.({ headers: request.headers, body, address })
  if (configured === undefined || event === undefined || event.kind === 'refused') {
    // The reason is only logged: the answer must not reveal whether the supplier exists.
    if (event?.kind === 'refused') deps.log.warn({ supplier: name, reason: event.message }, 'an event was refused')
    return plain(reply, 401, 'the event has no valid signature of a supplier with this name')
  }
  const isProven = configured.supplier.eventsUnproven !== true
  if (isProven) request.sender?.limiter.refund(request.sender.key)
  const items = event.keys.slice(0, KEYS_MAX).flatMap((key) => parseItemKey(key) ?? [])
  if (items.length > 0 && (await noteQuestions(deps.db, name, items, isProven)) > 0) deps.wake.wake('questions')
  for (const { iccid, report } of event.reports ?? []) await applyReportByIccid(deps, [name], iccid, report)
  return reply.code(204).send()
}

/** Names of the suppliers that this caller may report for. */
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

/** SGP.22 §6.2: an answer has the same version as its request. The members that we use are the same in all versions. */
function protocolOf(request: FastifyRequest): Record<string, string> {
  const version = request.headers['x-admin-protocol']
  return typeof version === 'string' && /^gsma\/rsp\/v\d+\.\d+\.\d+$/.test(version)
    ? { 'x-admin-protocol': version }
    : {}
}

/** SHA-256 of the client certificate, whose key the handshake has proven. It is pinned, so its issuer does not matter. */
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

/** The status for errors of the body reader, of Fastify and of this module. */
function statusOf(error: unknown): number {
  if (error instanceof ApiError) return codes[error.code].http
  return (error as { statusCode?: number }).statusCode ?? 500
}

function plain(reply: FastifyReply, status: number, message: string) {
  return reply.code(status).type('text/plain; charset=utf-8').send(`${message}\n`)
}
