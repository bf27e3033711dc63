import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type OperationName,
  operationNames,
  parseRequest,
  parseStrictJson,
  REQUEST_HEADERS,
  type RequestHeaders,
} from '@dealer-esim/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Admitted, admit, authenticate } from '../admission/admission.ts'
import type { Deps } from '../deps.ts'
import { type Answer, failureAnswer, sendAnswer, successAnswer } from '../http/answer.ts'
import { asApiError } from '../http/as-api-error.ts'
import { type BodyReader, bodyReader } from '../http/body.ts'
import { callerReader, isSecure } from '../http/caller.ts'
import { type UnsentAnswers, unsentAnswers } from '../http/unsent.ts'
import { ApiError } from '../lib/api-error.ts'
import { isUuid } from '../lib/ids.ts'
import { checkHeaders, checkMediaType, checkRoute } from './before-body.ts'
import { type Answered, earlyHandlers, handlers } from './operations.ts'
import { openPlaces, type Places } from './places.ts'
import { openRefusals, type Refusals } from './refusals.ts'
import { requestSpan } from './request-span.ts'

/** Of bodies that have not arrived whole. Real ones are a thousandth of their limit: this is what floods may take. */
const ARRIVING_MAX_BYTES = 64 * 1024 * 1024
/** Of answers whose callers do not read. A page of the catalogue has half a MiB: so many slow readers have theirs. */
const UNSENT_MAX_BYTES = 64 * 1024 * 1024

interface Door {
  /** Knows whether the server is closing. */
  app: FastifyInstance
  deps: Deps
  callerOf: ReturnType<typeof callerReader>
  bodies: BodyReader
  unsent: UnsentAnswers
  /** A request is under way from the arrival of its last byte: who sends slowly takes nobody's place. */
  places: Places
  refusals: Refusals
}

/** One request: what is known of it so far. */
interface Visit {
  response: ServerResponse
  start: number
  /** 'none' until it has passed what is checked before its body. */
  operation: OperationName | 'none'
  address: string
  requestId: string | undefined
  tenantId: string | undefined
}

/**
 * The dealers' door. Its checks stand in the order of contract §3, and of two faults the earlier is answered: those of
 * before-body.ts; size while the body is read; then admission (from AppKey to QPS); then JSON, parameters, and the room's
 * own rules.
 *
 * Everything under the prefix of the API is the door's own, and is taken from the framework as it comes: finding a
 * route, parsing and replying its way would cost time and be checked again here.
 */
export async function dealerApi(app: FastifyInstance, deps: Deps): Promise<void> {
  const callerOf = callerReader(deps.config.trustedProxies)
  const tell = (refused: number) => deps.log.warn({ refused }, 'overloaded: requests were refused')
  const shedding = { places: openPlaces(deps.clock), refusals: openRefusals(deps.clock, tell) }
  const door: Door = {
    app,
    deps,
    callerOf,
    bodies: bodyReader(ARRIVING_MAX_BYTES),
    unsent: unsentAnswers(UNSENT_MAX_BYTES),
    ...shedding,
  }
  app.addHook('onRequest', (request, reply) => {
    reply.hijack()
    knock(door, request.raw, reply.raw)
  })
  app.setNotFoundHandler(() => {}) // so that the hook sees whatever has the prefix
}

function knock(door: Door, request: IncomingMessage, response: ServerResponse): void {
  if (door.places.isFull()) {
    turnAway(door, request, response)
    return
  }
  const visit = visitOf(door.deps, request, response)
  try {
    const operation = checkRoute(request)
    const headers = checkBeforeBody(door, visit, request)
    visit.operation = operation
    visit.requestId = headers.requestId
    door.bodies.read(request, (body) => {
      if (door.places.isFull()) turnAway(door, request, response)
      else void serve(door, visit, operation, headers, body)
    })
  } catch (error) {
    refuse(door, visit, request, error)
  }
}

function visitOf(deps: Deps, { socket }: IncomingMessage, response: ServerResponse): Visit {
  const address = socket.remoteAddress ?? ''
  const known = { operation: 'none', requestId: undefined, tenantId: undefined } as const
  return { response, start: deps.clock.monotonic(), address, ...known }
}

/** For want of a place. */
function turnAway({ app, deps, refusals }: Door, request: IncomingMessage, response: ServerResponse): void {
  deps.requestMetrics.observe('none', '000002', 0)
  refusals.refuse(response, givenRequestId(request), app.isClosing === true)
}

function checkBeforeBody({ callerOf, deps }: Door, visit: Visit, request: IncomingMessage): RequestHeaders {
  const caller = callerOf(request)
  if ('address' in caller) visit.address = caller.address
  if (!isSecure(caller, deps.config)) throw new ApiError('101008')
  checkMediaType(request)
  return checkHeaders(request)
}

async function serve(
  door: Door,
  visit: Visit,
  operation: OperationName,
  headers: RequestHeaders,
  body: Buffer | ApiError,
): Promise<void> {
  let answer: Answer
  let failure: unknown
  door.places.take()
  try {
    if (body instanceof ApiError) throw body
    answer = await answerTo(door, visit, operation, headers, body)
  } catch (error) {
    failure = error
    answer = failureAnswer(headers.requestId, asApiError(error))
  }
  door.places.leave(timed.has(operation) ? door.deps.clock.monotonic() - visit.start : undefined)
  conclude(door, visit, answer, failure)
}

/** What waits for others' servers says nothing of our load. */
const timed: ReadonlySet<OperationName> = new Set(operationNames.filter((name) => name !== 'webhook/set'))

async function answerTo(
  { deps, places }: Door,
  visit: Visit,
  operation: OperationName,
  headers: RequestHeaders,
  body: Buffer,
): Promise<Answer> {
  const { address } = visit
  const signed = { headers, body, address }
  const authenticated = await authenticate(deps.admission, signed)
  const request = parametersOf(operation, body)
  const enter = () => admit(deps.admission, signed, authenticated)
  // What a lone request begins before it is admitted keeps nobody else waiting.
  const begin = places.isLone() && !(request instanceof ApiError) ? earlyHandlers[operation] : undefined
  // A moment later, so that what has begun goes to the database first: it takes longer.
  const admission = begin ? Promise.resolve().then(enter) : enter()
  const begun = (begin as Handle | undefined)?.(deps, { tenant: authenticated.tenant, request, admission })
  begun?.catch(() => {}) // a refusal of admission is told first
  const admitted = await admission
  visit.tenantId = admitted.tenant.tenantId
  if (request instanceof ApiError) throw request
  const answered = await (begun ?? (handlers[operation] as Handle)(deps, callOf(admitted, request, address)))
  return successAnswer(headers.requestId, answered.data, answered.headers)
}

/** Spelt out: to spread what is admitted cost half a microsecond. */
function callOf({ tenant, catalogueVersion }: Admitted, request: object, address: string) {
  return { tenant, catalogueVersion, request, address }
}

type Handle = (deps: Deps, call: unknown) => Promise<Answered<OperationName>>

/** @returns what is wrong with them, which is told to who is admitted */
function parametersOf(operation: OperationName, body: Buffer): object | ApiError {
  const json = parseStrictJson(body)
  if (!json.ok) return new ApiError('000104', { details: [{ field: '', reason: json.reason }] })
  const parsed = parseRequest(operation, json.value)
  return parsed.ok ? parsed.value : new ApiError(parsed.code, { details: parsed.details })
}

type Surroundings = Pick<Door, 'app' | 'deps'> & Partial<Pick<Door, 'unsent'>>

function refuse(at: Surroundings, visit: Visit, request: IncomingMessage, error: unknown): void {
  visit.requestId = givenRequestId(request)
  conclude(at, visit, failureAnswer(visit.requestId, asApiError(error)), error)
}

function givenRequestId(request: IncomingMessage): string | undefined {
  const given = request.headers[REQUEST_ID]
  return typeof given === 'string' && isUuid(given) ? given : undefined
}

const REQUEST_ID = REQUEST_HEADERS.requestId.toLowerCase()

/** For paths outside of every door. @returns what answers */
export function unknownPathRefusal(deps: Deps, { raw }: FastifyRequest, reply: FastifyReply): () => void {
  reply.hijack()
  const visit = visitOf(deps, raw, reply.raw)
  return () => refuse({ app: reply.server, deps }, visit, raw, new ApiError('000109'))
}

/** One answer, one wide line and one observation per request. */
function conclude({ app, deps, unsent }: Surroundings, visit: Visit, answer: Answer, failure: unknown): void {
  const { requestId, address, tenantId, operation } = visit
  const durationMs = deps.clock.monotonic() - visit.start
  // What came before the end began says it too: the caller's next request goes to another node.
  const sizeBytes = sendAnswer(visit.response, answer, { isLast: app.isClosing === true })
  unsent?.watch(visit.response, sizeBytes)
  deps.requestMetrics.observe(operation, answer.code, durationMs)
  if (deps.traces) {
    const span = requestSpan(visit, answer, deps.clock.now(), durationMs)
    if (span) deps.traces.add(span)
  }
  const line = { requestId, address, tenantId, operation, code: answer.code, durationMs }
  const isUnexpected = failure !== undefined && !(failure instanceof ApiError)
  if (isUnexpected) deps.log.error({ ...line, err: failure }, 'request')
  else deps.logRequest(line)
}
