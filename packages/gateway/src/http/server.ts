import type { Server as HttpsServer } from 'node:https'
import { Gauge } from '@platformatic/prom-client'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import type { Certificate } from '../lib/process/certificate.ts'
import { type WatchedCertificate, watchCertificate } from '../lib/process/certificate.ts'
import { registerDrain } from '../lib/process/listener.ts'
import { answerBrokenHttp, answerOddRequests } from './broken-http.ts'

type ServerDeps = Pick<Deps, 'config' | 'log' | 'metrics' | 'suppliers'>

/** A request that has not arrived whole by then is given up: slow senders must not hold connections. */
const REQUEST_TIMEOUT_MS = 30_000
const TIMEOUT_CHECK_MS = 5_000
/** Longer than the idle times of usual proxies, so that it is they who close. */
const KEEP_ALIVE_MS = 75_000

/** The certificate of this process where it ends TLS itself, followed through its renewals. */
export function openCertificate(deps: ServerDeps): WatchedCertificate | undefined {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile } = deps.config
  if (!certFile || !keyFile) return undefined
  const certificate = watchCertificate({ certFile, keyFile }, deps.log)
  new Gauge({
    name: 'dealer_esim_certificate_expiry_timestamp_seconds',
    help: 'When the TLS certificate that this process serves expires, in seconds since 1970',
    registers: [deps.metrics],
    collect() {
      this.set(certificate.current.expiresAt.getTime() / 1000)
    },
  })
  return certificate
}

export interface ServerParts {
  certificate: WatchedCertificate | undefined
  /** Answers for paths outside of every door. */
  refuseUnknownPath(request: FastifyRequest, reply: FastifyReply): void
}

/** A server without doors yet: what is the same for all of them. */
export function createServer(deps: ServerDeps, { certificate, refuseUnknownPath }: ServerParts): FastifyInstance {
  // A missing Host is ours to answer: Node would do it without an envelope.
  const http = { requireHostHeader: false, connectionsCheckingInterval: TIMEOUT_CHECK_MS }
  const server = fastify({
    ...(certificate ? { https: { ...http, ...pem(certificate.current), rejectUnauthorized: false } } : { http }),
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: true, // what watches a link asks so; the doors with operations have no GET
    return503OnClosing: false, // what arrives while draining is still answered properly
    frameworkErrors: (_, request, reply) => refuseUnknownPath(request, reply),
    clientErrorHandler: answerBrokenHttp,
  }) as unknown as FastifyInstance
  if (certificate) followCertificate(server.server as unknown as HttpsServer, deps, certificate)
  answerOddRequests(server.server)
  registerDrain(server)
  server.setNotFoundHandler((request, reply) => refuseUnknownPath(request, reply))
  // A path that is none is told by the head alone: Fastify would take in a body of up to 1 MiB first, anybody's, as many
  // as there are connections, and complain of its media type. Doors with a prefix answer their own.
  server.addHook('onRequest', (request, reply, done) => {
    if (request.is404 && request.server === server) refuseUnknownPath(request, reply)
    else done()
  })
  return server
}

function followCertificate(server: HttpsServer, deps: ServerDeps, certificate: WatchedCertificate): void {
  // For the connections that come; those that are open stay as they are.
  certificate.onChange((next) => server.setSecureContext(pem(next)))
  // Asked for while a supplier is known by its certificate, and not otherwise: browsers would ask people for theirs.
  // Which one it is, is judged by its fingerprint (supplier-api), so no authority matters.
  server.prependListener('connection', () => {
    const asks = deps.suppliers.all().some(({ supplier }) => (supplier.noticesFrom?.certificates.length ?? 0) > 0)
    Object.assign(server, { requestCert: asks })
  })
}

function pem({ cert, key }: Certificate) {
  return { cert, key }
}
