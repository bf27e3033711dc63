import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Certificate, WatchedCertificate } from '@dealer-esim/lib/process/certificate.ts'
import { registerDrain } from '@dealer-esim/lib/process/listener.ts'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Deps } from '#deps.ts'
import { failureAnswer } from './answer.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The callers of the route, for packages/gateway/routes.md. The console API declares access as data instead. */
    access?: string
  }
}

type ServerDeps = Pick<Deps, 'suppliers'>

/** A request that has not fully arrived in this time is refused: slow senders must not hold connections open. */
const REQUEST_TIMEOUT_MS = 30_000
const TIMEOUT_CHECK_MS = 5_000
/**
 * A connection that has not begun TLS in this time is closed: it holds a socket without sending a request that could time
 * out.
 */
const HANDSHAKE_TIMEOUT_MS = 10_000
/** Longer than the idle time-outs of common proxies, so that the proxy closes the connection. */
const KEEP_ALIVE_MS = 75_000

export interface ServerParts {
  certificate: WatchedCertificate | undefined
  /** Answers requests to paths that do not belong to any API. */
  refuseUnknownPath(request: FastifyRequest, reply: FastifyReply): void
}

/** Creates a server without routes, with the settings that all APIs need. */
export function createServer(deps: ServerDeps, { certificate, refuseUnknownPath }: ServerParts): FastifyInstance {
  // The gateway itself answers a missing Host header: Node's answer would have no envelope.
  const http = { requireHostHeader: false, connectionsCheckingInterval: TIMEOUT_CHECK_MS }
  const server = fastify({
    ...(certificate
      ? {
          https: {
            ...http,
            ...secureContext(certificate.current),
            handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
            rejectUnauthorized: false,
          },
        }
      : { http }),
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    rewriteUrl: ({ url = '/' }) => withReadablePath(inOriginForm(url)),
    exposeHeadRoutes: true, // link monitors send HEAD; the APIs with operations have no GET
    return503OnClosing: false, // requests that arrive while draining are still answered
    frameworkErrors: (_, request, reply) => refuseUnknownPath(request, reply),
    clientErrorHandler: answerBrokenHttp,
  }) as unknown as FastifyInstance
  if (certificate) followCertificate(server.server as unknown as HttpsServer, deps, certificate)
  answerOddRequests(server.server)
  registerDrain(server)
  server.setNotFoundHandler((request, reply) => refuseUnknownPath(request, reply))
  // Reject unknown paths before reading the body: Fastify would first read up to 1 MiB from every caller, and complain
  // about its media type. APIs with their own prefix answer unknown paths themselves.
  server.addHook('onRequest', (request, reply, done) => {
    if (request.is404 && request.server === server) refuseUnknownPath(request, reply)
    else done()
  })
  return server
}

/**
 * The path and query of a request target. A server must accept the absolute form, `http://host/path`, from any client (RFC
 * 9112 §3.2.2). The host does not affect routing, neither here nor in the header.
 */
export function inOriginForm(target: string): string {
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, '')
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`
}

/**
 * Makes the percent signs of a path literal if they encode nothing, so that a traveller's broken link gets the page of a mistyped
 * one: `/qr/TOKEN%` becomes `/qr/TOKEN%25`.
 */
function withReadablePath(target: string): string {
  if (!target.includes('%')) return target // nearly always
  const [path = '', ...query] = target.split('?')
  try {
    decodeURIComponent(path)
    return target
  } catch {
    return [path.replaceAll('%', '%25'), ...query].join('?')
  }
}

function followCertificate(server: HttpsServer, deps: ServerDeps, certificate: WatchedCertificate): void {
  // Applies to new connections; open ones keep the old certificate.
  certificate.onChange((next) => server.setSecureContext(secureContext(next)))
  // A client certificate is requested only while a supplier is identified by one, because browsers would ask people for theirs.
  // Suppliers are recognised by its fingerprint (supplier-api), so no certificate authority is needed.
  server.prependListener('connection', () => {
    const isRequested = deps.suppliers
      .all()
      .some(({ supplier }) => (supplier.eventSenders?.certificates.length ?? 0) > 0)
    Object.assign(server, { requestCert: isRequested })
  })
}

/** TLS 1.3, and those ciphers of TLS 1.2 that have forward secrecy and authenticated encryption. */
const CIPHERS = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['ECDHE+AESGCM', 'ECDHE+CHACHA20'],
].join(':')

/** All options that depend on the certificate, because a renewal resets the omitted ones to their defaults. */
function secureContext({ cert, key }: Certificate) {
  return { cert, key, minVersion: 'TLSv1.2', ciphers: CIPHERS } as const
}

/*
 * Answers in an envelope in cases that Node's server would answer by itself or not at all: bytes that are not HTTP, unknown
 * expectations, CONNECT, and plain HTTP on the TLS port.
 */

/** The time a caller has to read the last answer before the connection is cut. */
const LINGER_MS = 1_000

export function answerOddRequests(server: Pick<Server, 'on' | 'emit'>): void {
  // An expectation may be ignored (RFC 9110 §10.1.1); the request is then handled like any other.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response)
  })
  server.on('connect', (_: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {})
    send(socket, new ApiError('000109'))
  })
}

/** Handles Node's `clientError`: the bytes of a connection could not be read as a request. */
export function answerBrokenHttp(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ERR_SSL_HTTP_REQUEST') {
    // Plain HTTP on the TLS port: the caller only understands plain HTTP, so the answer is written below the TLS layer.
    const below = (socket as { _parent?: Duplex })._parent
    if (below?.writable) send(below, new ApiError('101008'))
    return
  }
  if (closing.has(socket)) return
  closing.add(socket)
  sendInOrder(socket, errorFor(error))
}

/** Connections that are sending their last answer: further errors on them are not answered. */
const closing = new WeakSet<Duplex>()

function errorFor(error: Error & { code?: string }): ApiError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('000102', { message: 'The headers are larger than 16 KiB. Send fewer or shorter headers.' })
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('000102', {
        message: 'The request timed out before all of it had arrived. Check the connection, then send it again.',
      })
    default:
      return new ApiError('000102', { message: 'The request is not well-formed HTTP. Use a standard HTTP client.' })
  }
}

/** Sends the error after the answers to requests that arrived completely before the broken bytes. */
function sendInOrder(socket: Duplex, error: ApiError): void {
  const before = (socket as { _httpMessage?: ServerResponse | null })._httpMessage
  if (before?.req.complete) before.once('finish', () => sendInOrder(socket, error))
  else if (before?.headersSent) socket.destroy()
  else send(socket, error)
}

function send(socket: Duplex, error: ApiError): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const { http, headers, body } = failureAnswer(undefined, error)
  const all = { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${http} ${STATUS_CODES[http]}\r\n${lines.join('')}\r\n${body}`)
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
