import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { ApiError } from '../lib/api-error.ts'
import { failureAnswer } from './answer.ts'

/*
 * Answers in an envelope where Node's server would answer by itself or not at all: bytes that are not HTTP, unknown
 * expectations, CONNECT, and plain HTTP on the TLS port.
 */

/** How long a caller may take to read the last answer before the connection is cut. */
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

/** Node's `clientError`: the bytes of a connection could not be read as a request. */
export function answerBrokenHttp(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ERR_SSL_HTTP_REQUEST') {
    // Plain HTTP on the TLS port: the caller understands plain HTTP only, so the answer is written below the TLS layer.
    const below = (socket as { _parent?: Duplex })._parent
    if (below?.writable) send(below, new ApiError('101008'))
    return
  }
  if (closing.has(socket)) return
  closing.add(socket)
  sendInOrder(socket, errorFor(error))
}

/** Connections whose last answer is being sent: further errors on them are not answered. */
const closing = new WeakSet<Duplex>()

function errorFor(error: Error & { code?: string }): ApiError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('000102', { message: 'The headers are larger than 16 KiB. Send less.' })
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('000102', { message: 'The request did not arrive in time. Send it faster.' })
    default:
      return new ApiError('000102', { message: 'The request is not well-formed HTTP. Correct it.' })
  }
}

/** Requests that arrived whole before the broken bytes are answered first. */
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
