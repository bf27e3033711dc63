import type { IncomingMessage } from 'node:http'
import {
  API_PATH,
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
import { type BodyReader, bodyReader } from './body.ts'
import { callerReader } from './caller.ts'
import { handlers } from './operations.ts'
import { type Places, places } from './places.ts'
import { type Refusals, refusals } from './refusals.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the checks before the body have found. */
    signed?: { headers: RequestHeaders; address: string; start: number }
    /** Who called, as soon as it is known: also of what is refused before its headers are read. */
    callerAddress?: string
  }
}

interface Door {
  deps: Deps
  callerOf: ReturnType<typeof callerReader>
  bodies: BodyReader
  /** A request is under way from the arrival of its last byte: who sends slowly takes nobody's place. */
  places: Places
  refusals: Refusals
}

/**
 * The dealers' door. Its checks stand in the order of contract §3, and of two faults the earlier is answered: route,
 * method, HTTPS, media type, headers before the body is read (onRequest); size while it is read; then admission (from
 * AppKey to QPS); then JSON, parameters, and the room's own rules. Registered under the prefix of the API.
 */
export async function dealerApi(app: FastifyInstance, deps: Deps): Promise<void> {
  const callerOf = callerReader(deps.config.trustedProxies)
  const tell = (refused: number) => deps.log.warn({ refused }, 'overloaded: requests were refused')
  const shedding = { places: places(deps.clock), refusals: refusals(deps.clock, tell) }
  const door: Door = { deps, callerOf, bodies: bodyReader(), ...shedding }

  // The body is verified as it came: bytes, not JSON.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_: FastifyRequest, payload: IncomingMessage) => door.bodies.read(payload))

  app.addHook('onRequest', (request, reply, next) => {
    if (door.places.isFull()) return refuse(door, request, reply)
    try {
      request.signed = checkBeforeBody(door, request)
      next()
    } catch (error) {
      answerFailure(deps, request, reply, error)
    }
  })
  app.setErrorHandler((error, request, reply) => answerFailure(deps, request, reply, error))
  app.setNotFoundHandler(() => {}) // so that the hook above sees them: it answers 404 and 405

  for (const operation of operationNames) {
    app.post(`/${operation}`, async (request, reply) => {
      if (door.places.isFull()) return refuse(door, request, reply)
      door.places.take()
      try {
        return await serve(door, operation, request, reply)
      } finally {
        door.places.leave(timed.has(operation) ? deps.clock.monotonic() - request.signed!.start : undefined)
      }
    })
  }
}

/** What waits for others' servers says nothing of our load. */
const timed: ReadonlySet<OperationName> = new Set(operationNames.filter((name) => name !== 'webhook/set'))

function refuse({ deps, refusals }: Door, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  deps.requestMetrics.observe('none', '000002', 0)
  refusals.refuse(reply.hijack().raw, givenRequestId(request), reply.server.isClosing === true)
  return reply
}

async function serve(door: Door, operation: OperationName, request: FastifyRequest, reply: FastifyReply) {
  const { deps } = door
  const { headers, address, start } = request.signed!
  const about: Circumstances = { requestId: headers.requestId, address }
  let answer: Answer
  try {
    const body = (request.body as Buffer | ApiError | undefined) ?? EMPTY
    if (body instanceof ApiError) throw body
    const admitted = await admit(deps.admission, { headers, body, address })
    about.tenantId = admitted.tenant.tenantId
    const parameters = parseParameters(operation, body)
    const handle = handlers[operation] as (
      deps: Deps,
      call: unknown,
    ) => Promise<{ data: object; headers?: Record<string, string> }>
    const answered = await handle(deps, { ...admitted, request: parameters, address })
    answer = successAnswer(headers.requestId, answered.data, answered.headers)
  } catch (error) {
    about.error = error
    answer = failureAnswer(headers.requestId, asApiError(error))
  }
  note(deps, operation, answer, start, about)
  return send(reply, answer)
}

const EMPTY = Buffer.alloc(0)
const MEDIA_TYPE = /^application\/json\s*(?:;|$)/i

function checkBeforeBody({ deps, callerOf }: Door, request: FastifyRequest) {
  const start = deps.clock.monotonic()
  if (request.is404) throw unknownRoute(request)
  const caller = callerOf(request.raw)
  if ('address' in caller) request.callerAddress = caller.address
  if ('untold' in caller || (!caller.isHttps && deps.config.deployment !== 'local')) throw new ApiError('101008')
  const { 'content-type': mediaType, 'content-encoding': encoding } = request.headers
  if (mediaType === undefined || !MEDIA_TYPE.test(mediaType) || encoding !== undefined) throw new ApiError('000110')
  return { headers: headersOf(request.raw), address: caller.address, start }
}

/** Well formed, and none that matters is there twice: of Content-Type Node keeps the first and says nothing. */
function headersOf({ headers, rawHeaders, httpVersion }: IncomingMessage): RequestHeaders {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new ApiError('000101', { details: [{ field: 'Host', reason: 'Missing: HTTP/1.1 demands it.' }] })
  }
  const checked = checkRequestHeaders(headers)
  if (!checked.ok) throw new ApiError(checked.code, { details: checked.details })
  let mediaTypes = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === CONTENT_TYPE.length && name.toLowerCase() === CONTENT_TYPE) mediaTypes++
  }
  if (mediaTypes === 1) return checked.headers
  throw new ApiError('000102', { details: [{ field: 'Content-Type', reason: 'Malformed: send it only once.' }] })
}

const CONTENT_TYPE = 'content-type'

function unknownRoute(request: FastifyRequest): ApiError {
  const path = decodedPath(request.url)
  const isKnown = path.startsWith(API_PATH) && isOperationName(path.slice(API_PATH.length))
  if (isKnown && request.method !== 'POST') return new ApiError('000103', { headers: { allow: 'POST' } })
  return new ApiError('000109')
}

/** As the router reads it. */
function decodedPath(url: string): string {
  const path = url.split('?', 1)[0] as string
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

function parseParameters(operation: OperationName, body: Buffer): object {
  const json = parseStrictJson(body)
  if (!json.ok) throw new ApiError('000104', { details: [{ field: '', reason: json.reason }] })
  const parsed = parseRequest(operation, json.value)
  if (!parsed.ok) throw new ApiError(parsed.code, { details: parsed.details })
  return parsed.value
}

function answerFailure(deps: Deps, request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  const requestId = givenRequestId(request)
  const answer = failureAnswer(requestId, bodyFault(error) ?? asApiError(error))
  const { start = deps.clock.monotonic() } = request.signed ?? {}
  const address = request.callerAddress ?? request.ip
  note(deps, 'none', answer, start, { requestId, address, error })
  return send(reply, answer)
}

function givenRequestId(request: FastifyRequest): string | undefined {
  const given = request.headers[REQUEST_ID]
  return typeof given === 'string' && UUID.test(given) ? given : undefined
}

const REQUEST_ID = REQUEST_HEADERS.requestId.toLowerCase()
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** For paths outside of every door. */
export function refuseUnknownPath(deps: Deps, request: FastifyRequest, reply: FastifyReply): void {
  answerFailure(deps, request, reply, new ApiError('000109'))
}

/** Fastify's own failures around a body. */
function bodyFault(error: unknown): ApiError | undefined {
  const fault = error as { statusCode?: number }
  return typeof fault?.statusCode === 'number' && fault.statusCode < 500 ? new ApiError('000104') : undefined
}

function send(reply: FastifyReply, answer: Answer): FastifyReply {
  // What came before the end began says it too: the caller's next request goes to another node.
  if (reply.server.isClosing) reply.header('connection', 'close')
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
  const facts = { ...line, operation, code: answer.code, duration_ms }
  if (isUnexpected) deps.log.error({ ...facts, err: error }, 'request')
  else deps.requestLog.info(facts, 'request')
}
