import { STATUS_CODES } from 'node:http'
import {
  API_PATH,
  BODY_SIZE_MAX_BYTES,
  checkRequestHeaders,
  isOperationName,
  type OperationName,
  operationNames,
  parseRequest,
  parseStrictJson,
  REQUEST_HEADERS,
  type RequestHeaders,
} from '@dealer-esim/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { admit } from '../admission/admission.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../lib/api-error.ts'
import { type Answer, asApiError, failureAnswer, successAnswer } from './answer.ts'
import { callerReader } from './caller.ts'
import { handlers } from './operations.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the checks before the body have found. */
    signed?: { headers: RequestHeaders; address: string; start: number }
  }
}

/** Requests under way at most. More only wait for each other: saying so at once keeps the admitted ones quick. */
const MOST_IN_FLIGHT = 512

/**
 * The dealers' door. Its checks stand in the order of contract §3, and of two faults the earlier is answered: route,
 * method, HTTPS, media type, headers before the body is read (onRequest); size while it is read; then admission (from
 * AppKey to QPS); then JSON, parameters, and the room's own rules. Registered under the prefix of the API.
 */
export async function dealerApi(app: FastifyInstance, deps: Deps): Promise<void> {
  const callerOf = callerReader(deps.config.trustedProxies)
  let inFlight = 0

  // The body is verified as it came: bytes, not JSON.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_SIZE_MAX_BYTES }, (_, body, done) =>
    done(null, body),
  )

  app.addHook('onRequest', (request, reply, next) => {
    try {
      inFlight++
      reply.raw.once('close', () => inFlight--) // once, however the answer ends
      if (inFlight > MOST_IN_FLIGHT) throw new ApiError('000002')
      request.signed = checkBeforeBody(deps, callerOf, request)
      next()
    } catch (error) {
      answerFailure(deps, request, reply, error)
    }
  })
  app.setErrorHandler((error, request, reply) => answerFailure(deps, request, reply, error))
  app.setNotFoundHandler(() => {}) // so that the hook above sees them: it answers 404 and 405

  for (const operation of operationNames) {
    app.post(`/${operation}`, async (request, reply) => {
      const { headers, address, start } = request.signed!
      let tenantId: string | undefined
      try {
        const body = (request.body as Buffer | undefined) ?? EMPTY
        const admitted = await admit(deps.admission, { headers, body, address })
        tenantId = admitted.tenant.tenantId
        const parameters = parseParameters(operation, body)
        const handle = handlers[operation] as (
          deps: Deps,
          call: unknown,
        ) => Promise<{ data: object; headers?: Record<string, string> }>
        const answered = await handle(deps, { ...admitted, request: parameters, address })
        const answer = successAnswer(headers.requestId, answered.data, answered.headers)
        note(deps, operation, answer, start, { requestId: headers.requestId, tenantId, address })
        return send(reply, answer)
      } catch (error) {
        const answer = failureAnswer(headers.requestId, asApiError(error))
        note(deps, operation, answer, start, { requestId: headers.requestId, tenantId, address, error })
        return send(reply, answer)
      }
    })
  }
}

const EMPTY = Buffer.alloc(0)
const MEDIA_TYPE = /^application\/json\s*(?:;|$)/i

function checkBeforeBody(deps: Deps, callerOf: ReturnType<typeof callerReader>, request: FastifyRequest) {
  if (request.is404) throw unknownRoute(request)
  const caller = callerOf(request.raw)
  if ('untold' in caller || (!caller.isHttps && deps.config.deployment !== 'local')) throw new ApiError('101008')
  const { 'content-type': mediaType, 'content-encoding': encoding } = request.headers
  if (mediaType === undefined || !MEDIA_TYPE.test(mediaType) || encoding !== undefined) throw new ApiError('000110')
  const checked = checkRequestHeaders(request.headers)
  if (!checked.ok) throw new ApiError(checked.code, { details: checked.details })
  return { headers: checked.headers, address: caller.address, start: deps.clock.monotonic() }
}

function unknownRoute(request: FastifyRequest): ApiError {
  const path = request.url.split('?', 1)[0] as string
  const isKnown = path.startsWith(API_PATH) && isOperationName(path.slice(API_PATH.length))
  if (isKnown && request.method !== 'POST') return new ApiError('000103', { headers: { allow: 'POST' } })
  return new ApiError('000109')
}

function parseParameters(operation: OperationName, body: Buffer): object {
  const json = parseStrictJson(body)
  if (!json.ok) throw new ApiError('000104', { details: [{ field: '', reason: json.reason }] })
  const parsed = parseRequest(operation, json.value)
  if (!parsed.ok) throw new ApiError(parsed.code, { details: parsed.details })
  return parsed.value
}

function answerFailure(deps: Deps, request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  const given = request.headers[REQUEST_HEADERS.requestId.toLowerCase()]
  const requestId = typeof given === 'string' && UUID.test(given) ? given : undefined
  const answer = failureAnswer(requestId, bodyFault(error) ?? asApiError(error))
  const start = request.signed?.start ?? deps.clock.monotonic()
  note(deps, 'none', answer, start, { requestId, address: request.ip, error })
  send(reply, answer)
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** For paths outside of every door. */
export function refuseUnknownPath(deps: Deps, request: FastifyRequest, reply: FastifyReply): void {
  answerFailure(deps, request, reply, new ApiError('000109'))
}

/** Fastify's own failures while it reads a body. */
function bodyFault(error: unknown): ApiError | undefined {
  const fault = error as { code?: string; statusCode?: number }
  if (fault?.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new ApiError('000111')
  if (typeof fault?.statusCode === 'number' && fault.statusCode < 500) return new ApiError('000104')
  return undefined
}

function send(reply: FastifyReply, answer: Answer): FastifyReply {
  return reply.code(answer.http).headers(answer.headers).send(answer.body)
}

interface Circumstances {
  requestId: string | undefined
  tenantId?: string | undefined
  address: string
  error?: unknown
}

/** One wide line and one observation per request. */
function note(deps: Deps, operation: string, answer: Answer, start: number, about: Circumstances): void {
  const duration_ms = deps.clock.monotonic() - start
  deps.requestMetrics.observe(operation, answer.code, duration_ms)
  const { error, ...line } = about
  const isUnexpected = error !== undefined && !(error instanceof ApiError)
  const level = isUnexpected ? 'error' : 'info'
  deps.log[level](
    { ...line, operation, code: answer.code, duration_ms, ...(isUnexpected ? { err: error } : {}) },
    'request',
  )
}

/** The answer to bytes that are not HTTP, where there is no reply object. */
export function rawFailure(): string {
  const answer = failureAnswer(
    undefined,
    new ApiError('000102', { message: 'The request is not well-formed HTTP. Correct it.' }),
  )
  const head = `HTTP/1.1 ${answer.http} ${STATUS_CODES[answer.http]}\r\nContent-Type: application/json; charset=utf-8`
  return `${head}\r\nContent-Length: ${Buffer.byteLength(answer.body)}\r\nConnection: close\r\n\r\n${answer.body}`
}
