import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  API_PATH,
  checkRequestHeaders,
  type DryRunOf,
  isOperationName,
  isTestAppKey,
  type OperationName,
  operationNames,
  parseRequest,
  parseStrictJson,
  type RequestHeaders,
  type RequestOf,
} from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { FastifyInstance } from 'fastify'
import type { Deps } from '#deps.ts'
import { admit, authenticate, refuseInRecovery, ServedElsewhere } from '#tenants/admission/admission.ts'
import { type Answer, FORWARDED, failureAnswer, successAnswer, toApiError, unavailableLog } from '../answer.ts'
import { readBody } from '../body.ts'
import { callerReader, isSecure } from '../caller.ts'
import type { Forward } from '../forward.ts'
import type { LoadShedder } from '../load-shedding/load-shedder.ts'
import { depsOf } from '../twin-requests.ts'
import { type Handler, JsonParts, type Operations } from './dealer-call.ts'
import { createContext, paceRefusal, type RequestContext, refuse, requestIdOf, respond } from './respond.ts'

export interface DealerApiParts {
  operations: Operations
  shedder: LoadShedder
  /** Forwards requests from dealers that another cell serves. */
  forward: Forward
}

interface DealerApi extends Omit<LoadShedder, 'pages'> {
  app: FastifyInstance
  deps: Deps
  operations: Operations
  callerOf: ReturnType<typeof callerReader>
  forward: Forward
  logUnavailable(error: unknown): void
}

/**
 * The dealer API. Its checks are in the order of contract §3, and the earliest fault is answered: route, method, HTTPS, media
 * type and headers; size, while the body is read; then admission (from AppKey to QPS); then JSON, parameters, and the rules
 * of the operation.
 *
 * It takes over every request under the API's prefix before Fastify handles it: Fastify's routing, parsing and replying would
 * cost time, and this API would have to check all of it again.
 */
export async function dealerApi(
  app: FastifyInstance,
  deps: Deps,
  { operations, shedder, forward }: DealerApiParts,
): Promise<void> {
  const callerOf = callerReader(deps.config.trustedProxies)
  const api: DealerApi = {
    ...shedder,
    app,
    deps,
    operations,
    callerOf,
    forward,
    logUnavailable: unavailableLog(deps.log),
  }
  app.addHook('onRequest', (request, reply) => {
    reply.hijack()
    void handle(api, request.raw, reply.raw)
  })
  app.setNotFoundHandler(() => {}) // makes Fastify call the hook for every path under the prefix
}

/** Handles a request, from its head to its answer. */
async function handle(api: DealerApi, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (api.requests.isReached()) return shedRequest(api, request, response)
  const context = createContext(api.deps, request, response)
  let operation: OperationName
  let headers: RequestHeaders
  try {
    operation = checkRoute(request)
    headers = checkBeforeBody(api, context, request)
  } catch (error) {
    return refuse(api, context, request, error)
  }
  context.operation = operation
  context.requestId = headers.requestId
  const body = await readBody(request, api.bodies)
  // It counts as in progress once its last byte has arrived, so that slow senders do not use up the limit.
  if (api.requests.isReached()) return shedRequest(api, request, response)
  await serve(api, context, operation, headers, body)
}

/** Refuses a request without writing a separate log line, because such requests arrive by the thousand. */
function shedRequest(api: DealerApi, request: IncomingMessage, response: ServerResponse): void {
  api.deps.requestMetrics.observe('none', '000002', 0)
  api.countRefused()
  paceRefusal(api, response, failureAnswer(requestIdOf(request), new ApiError('000002')))
}

function checkBeforeBody({ callerOf, deps }: DealerApi, context: RequestContext, request: IncomingMessage) {
  const caller = callerOf(request)
  if ('address' in caller) context.address = caller.address
  if (!isSecure(caller, deps.config)) throw new ApiError('101008')
  checkMediaType(request)
  return checkHeaders(request)
}

async function serve<Name extends OperationName>(
  api: DealerApi,
  context: RequestContext,
  operation: Name,
  headers: RequestHeaders,
  body: Buffer | ApiError,
): Promise<void> {
  let answer: Answer
  let failure: unknown
  api.requests.begin()
  try {
    if (body instanceof ApiError) throw body
    answer = await perform(api, context, operation, headers, body).catch((error) =>
      forwardMoved(api, context, body, error),
    )
  } catch (error) {
    failure = error
    answer = failureAnswer(headers.requestId, toApiError(error))
  }
  // Test twins wait for their turns.
  const isTimed = TIMED.has(operation) && answer.code !== FORWARDED && !isTestAppKey(headers.appKey)
  api.requests.end(isTimed ? api.deps.clock.monotonic() - context.start : undefined)
  respond(body instanceof ApiError ? { ...api, refusals: api.bodyRefusals } : api, context, answer, failure)
}

/** Forwards a request if another cell serves its dealer. @throws the error itself if it has a different cause */
async function forwardMoved(
  { forward }: DealerApi,
  { response, address }: RequestContext,
  body: Buffer,
  error: unknown,
): Promise<Answer> {
  if (error instanceof ServedElsewhere) return forward({ response, body, address, nodes: error.nodes })
  throw error
}

/**
 * Operations whose duration counts for load shedding. The others wait for the dealer's server, which does not depend on our
 * load.
 */
const TIMED: ReadonlySet<OperationName> = new Set(operationNames.filter((name) => !name.startsWith('webhook/')))

async function perform<Name extends OperationName>(
  { deps: live, operations, turns, twinTurns }: DealerApi,
  context: RequestContext,
  operation: Name,
  headers: RequestHeaders,
  body: Buffer,
): Promise<Answer> {
  const { address, start: receivedAt, response } = context
  const deps = await depsOf(live, headers.appKey)
  const signed = { headers, body, address, operations: [operation] }
  const authenticated = await authenticate(deps.admission, signed)
  if (deps === live) twinTurns.noteLive()
  else await twinTurns.take()
  const admitted = await admit(deps.admission, signed, authenticated)
  const { tenant, catalogueVersion } = admitted
  context.tenantId = tenant.tenantId
  refuseInRecovery(admitted, operation)
  const request = parseBody(operation, body)
  let hasBegun = false
  const nextTurn = async () => {
    await turns.take(tenant.tenantId, hasBegun)
    hasBegun = true
    // A caller that does not read its answers may have been cut off by now; then no answer is built.
    if (response.req.socket.destroyed) throw new ApiError('000002')
  }
  const answerCall: Handler<Name> = operations[operation]
  const call = { tenant, catalogueVersion, request, headers, address, receivedAt, nextTurn }
  const { data, isReplay } = await answerCall(deps, call)
  const json = data instanceof JsonParts ? data.parts : JSON.stringify(data)
  return successAnswer(headers.requestId, json, isReplay ? REPLAYED : undefined)
}

const REPLAYED = { 'Idempotent-Replayed': 'true' }

/** @throws ApiError 000104; 000105 to 000108 */
function parseBody<Name extends OperationName>(operation: Name, body: Buffer): RequestOf<Name> | DryRunOf<Name> {
  const json = parseStrictJson(body)
  if (!json.ok) throw new ApiError('000104', { details: [{ field: '', reason: json.reason }] })
  const parsed = parseRequest(operation, json.value)
  if (!parsed.ok) throw new ApiError(parsed.code, { details: parsed.details })
  return parsed.value
}

/** @throws ApiError 000109 or 000103 */
function checkRoute({ url = '', method }: IncomingMessage): OperationName {
  const operation = OPERATIONS.get(url) ?? operationAt(pathOf(url))
  if (operation === undefined) throw new ApiError('000109')
  if (method !== 'POST') throw new ApiError('000103', { headers: { allow: 'POST' } })
  return operation
}

/** Operations by request target, in the form that nearly every caller uses. */
const OPERATIONS: ReadonlyMap<string, OperationName> = new Map(operationNames.map((name) => [API_PATH + name, name]))

function operationAt(path: string): OperationName | undefined {
  const name = path.startsWith(API_PATH) ? path.slice(API_PATH.length) : ''
  return isOperationName(name) ? name : undefined
}

/** Parses a target as Fastify's router does: it may contain the server (RFC 9112 §3.2.2) or a query, and may be encoded. */
function pathOf(target: string): string {
  const path = target.replace(/^https?:\/\/[^/]*/, '').split(/[?#]/, 1)[0] as string
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

/** @throws ApiError 000110 */
function checkMediaType({ headers }: IncomingMessage): void {
  const mediaType = headers['content-type']
  const isJson = mediaType === 'application/json' || (mediaType !== undefined && MEDIA_TYPE.test(mediaType))
  if (!isJson || headers['content-encoding'] !== undefined) throw new ApiError('000110')
}

const MEDIA_TYPE = /^application\/json\s*(?:;|$)/i

/**
 * Checks that headers are well formed and not repeated. If Content-Type or Host is repeated, Node silently keeps the first.
 * @throws ApiError 000101 or 000102
 */
function checkHeaders({ headers, rawHeaders, httpVersion }: IncomingMessage): RequestHeaders {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new ApiError('000101', { details: [{ field: 'Host', reason: 'Missing: HTTP/1.1 requires it.' }] })
  }
  const checked = checkRequestHeaders(headers)
  if (!checked.ok) throw new ApiError(checked.code, { details: checked.details })
  if (countOf(rawHeaders, 'content-type') > 1) throw repeated('Content-Type')
  if (countOf(rawHeaders, 'host') > 1) throw repeated('Host')
  return checked.headers
}

function countOf(rawHeaders: readonly string[], header: string): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === header.length && name.toLowerCase() === header) count++
  }
  return count
}

function repeated(field: string): ApiError {
  return new ApiError('000102', { details: [{ field, reason: 'Malformed: send it only once.' }] })
}
