import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { ApiError } from '../lib/api-error.ts'
import { failureAnswer } from './answer.ts'

/*
 * What Node's server would answer by itself, or not at all: bytes that are not HTTP, expectations that it does not know,
 * CONNECT, plain HTTP on the port that speaks TLS. Callers get an envelope here too, wherever an answer is possible.
 */

/** A caller may read our last words for this long before the connection is cut. */
const LINGER_MS = 1_000

export function answerOddRequests(server: Pick<Server, 'on' | 'emit'>): void {
  // An expectation may be ignored (RFC 9110 §10.1.1): the request is then like any other.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response)
  })
  server.on('connect', (_: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {})
    say(socket, new ApiError('000109'))
  })
}

/** Node's `clientError`: the bytes of a connection could not be read as a request. */
export function answerBrokenHttp(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ERR_SSL_HTTP_REQUEST') {
    // Plain HTTP where TLS was due: the caller understands plain HTTP only, so the answer goes below the TLS.
    const below = (socket as { _parent?: Duplex })._parent
    if (below?.writable) say(below, new ApiError('101008'))
    return
  }
  if (closing.has(socket)) return
  closing.add(socket)
  sayInTurn(socket, brokenness(error))
}

/** Connections whose last answer is decided: further bytes on them are further errors, and are not answered. */
const closing = new WeakSet<Duplex>()

function brokenness(error: Error & { code?: string }): ApiError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('000102', { message: 'The headers are larger than 16 KiB. Send less.' })
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('000102', { message: 'The request did not arrive in time. Send it faster.' })
    default:
      return new ApiError('000102', { message: 'The request is not well-formed HTTP. Correct it.' })
  }
}

/** Requests that came whole before the broken bytes get their own answers first. */
function sayInTurn(socket: Duplex, error: ApiError): void {
  const before = (socket as { _httpMessage?: ServerResponse | null })._httpMessage
  if (before?.req.complete) before.once('finish', () => sayInTurn(socket, error))
  else if (before?.headersSent) socket.destroy()
  else say(socket, error)
}

function say(socket: Duplex, error: ApiError): void {
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
