import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type RequestHeaders, RT_PREFIXES, type RtOperationName } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { FastifyInstance } from 'fastify'
import type { Deps } from '#deps.ts'
import { createEndWatches } from '#orders/end-watch.ts'
import {
  type Authenticated,
  admit,
  authenticate,
  authenticateUnsigned,
  refuseInRecovery,
  ServedElsewhere,
  type UnsignedRequest,
} from '#tenants/admission/admission.ts'
import { sendAnswer, unavailableLog, whenAnswerIsLost } from '../answer.ts'
import { readBody } from '../body.ts'
import { callerReader, isSecure } from '../caller.ts'
import { createForward, type Forward } from '../forward.ts'
import { acceptsGzip } from '../gzip.ts'
import type { LoadShedder } from '../load-shedding/load-shedder.ts'
import type { RequestLimit } from '../load-shedding/request-limit.ts'
import { type OrderTrace, requestSpan } from '../request-log.ts'
import { depsOf } from '../twin-requests.ts'
import { createListWriter, ListStream, type ListWriter } from './list-stream.ts'
import type { RtCall } from './rt-call.ts'
import { failureOf, RtFailure } from './rt-failure.ts'
import {
  checkMediaType,
  checkRoute,
  checkSignedHeaders,
  findUnsignedSender,
  requestUuidOf,
  type UnsignedSender,
} from './rt-headers.ts'
import { handlers } from './rt-operations.ts'
import { parseBody } from './rt-request.ts'
import { waitForEnd } from './wait-for-end.ts'

interface RtApi {
  app: FastifyInstance
  deps: Deps
  shedder: LoadShedder
  ends: ReturnType<typeof createEndWatches>
  lists: ListWriter
  callerOf: ReturnType<typeof callerReader>
  forward: Forward
  logUnavailable(error: unknown): void
}

interface Context {
  response: ServerResponse
  start: number
  address: string
  operation: RtOperationName | 'none'
  requestId?: string
  /** The UUID under which it is used up, and which identifies its trace. */
  spentAs?: string
  tenantId?: string
  /** True for a request that was accepted without a signature. */
  isUnsigned?: boolean
  /** The order that the request placed, or on whose eSIM it began an action. */
  order?: OrderTrace
}

/**
 * The API of the RT family (docs/coming-from-another-api.md), for programs written for it. It makes the checks of the
 * dealer API in the same order, with the same admission. A request without a signature is accepted if the operator allows
 * it. Failures are answered with HTTP 200, because such programs do not read error codes with any other status.
 */
export async function rtApi(app: FastifyInstance, deps: Deps, shedder: LoadShedder): Promise<void> {
  const callerOf = callerReader(deps.config.trustedProxies)
  const ends = createEndWatches()
  const lists = createListWriter(shedder)
  const forward = createForward(deps)
  const api: RtApi = { app, deps, shedder, ends, lists, callerOf, forward, logUnavailable: unavailableLog(deps.log) }
  for (const prefix of RT_PREFIXES) {
    await app.register(
      async (scope) => {
        scope.addHook('onRequest', (request, reply) => {
          reply.hijack()
          void handle(api, request.raw, reply.raw)
        })
        scope.setNotFoundHandler(() => {}) // makes Fastify call the hook for every path under the prefix
      },
      { prefix: prefix.slice(0, -1) },
    )
  }
  app.addHook('preClose', (done) => {
    ends.stop()
    done()
  })
}

async function handle(api: RtApi, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { deps, shedder } = api
  const address = request.socket.remoteAddress ?? ''
  const context: Context = { response, start: deps.clock.monotonic(), address, operation: 'none' }
  let operation: RtOperationName
  let credentials: Credentials
  try {
    if (shedder.requests.isReached()) throw new ApiError('000002')
    operation = checkRoute(request)
    checkTransport(api, context, request)
    const sender = findUnsignedSender(request)
    if (sender) credentials = await authenticateSender(api, context, sender)
    else {
      credentials = checkSignedHeaders(request)
      Object.assign(context, { requestId: credentials.headers.requestId, spentAs: credentials.spentAs })
    }
  } catch (error) {
    if (!(error instanceof ServedElsewhere)) return respond(api, context, undefined, error)
    return forwardMoved(api, context, await readBody(request, shedder.bodies), error)
  }
  context.operation = operation
  await serve(api, context, operation, credentials, await readBody(request, shedder.bodies))
}

/** @throws ApiError 101008, 000110 */
function checkTransport({ callerOf, deps }: RtApi, context: Context, request: IncomingMessage): void {
  const caller = callerOf(request)
  if ('address' in caller) context.address = caller.address
  if (!isSecure(caller, deps.config)) throw new ApiError('101008')
  checkMediaType(request)
}

/** A request's headers, and its sender if that is known without a signature. */
interface Credentials {
  headers: RequestHeaders
  /** The UUID under which the RequestID is used up. */
  spentAs: string
  unsigned?: Unsigned
}

interface Unsigned extends Authenticated {
  request: UnsignedRequest
}

/**
 * Authenticates a request without a signature before its body is read: a missing signature is an earlier fault than any
 * fault in the body. @throws ApiError 000101, 101003, 101005
 */
async function authenticateSender({ deps }: RtApi, context: Context, sender: UnsignedSender): Promise<Credentials> {
  const { appKey, requestId, ...secret } = sender
  if (requestId !== undefined) Object.assign(context, { requestId, spentAs: requestUuidOf(requestId) })
  const timestamp = String(Math.floor(deps.databaseClock.now()))
  const headers = { appKey, requestId: randomUUID(), timestamp, signature: '' }
  const request = { headers, address: context.address, ...secret }
  const unsigned = await authenticateUnsigned((await depsOf(deps, appKey)).admission, request)
  context.isUnsigned = true
  return { headers, spentAs: headers.requestId, unsigned: { ...unsigned, request } }
}

async function serve(
  api: RtApi,
  context: Context,
  operation: RtOperationName,
  credentials: Credentials,
  body: Buffer | ApiError,
): Promise<void> {
  const { requests } = api.shedder
  if (requests.isReached()) {
    respond(api, context, undefined, new ApiError('000002'))
    return
  }
  let obj: object | undefined
  let failure: unknown
  const slot = takeSlot(requests)
  try {
    if (body instanceof ApiError) throw body
    obj = await perform(api, context, operation, credentials, body, slot)
  } catch (error) {
    failure = error
  }
  if (failure instanceof ServedElsewhere) {
    slot.release(undefined)
    await forwardMoved(api, context, body, failure)
    return
  }
  slot.release(operation === 'package/list' ? undefined : api.deps.clock.monotonic() - context.start)
  if (obj instanceof ListStream) await respondWithList(api, context, obj)
  else respond(body instanceof ApiError ? pacedAsBody(api) : api, context, obj, failure)
}

function pacedAsBody(api: RtApi): RtApi {
  return { ...api, shedder: { ...api.shedder, refusals: api.shedder.bodyRefusals } }
}

/** Sends a request to the cell that serves its dealer, and returns that cell's answer. Never rejects. */
async function forwardMoved(
  api: RtApi,
  context: Context,
  body: Buffer | ApiError,
  { nodes }: ServedElsewhere,
): Promise<void> {
  const { response, address } = context
  const slot = takeSlot(api.shedder.requests)
  try {
    if (body instanceof ApiError) throw body
    const answer = await api.forward({ response, body, address, nodes })
    const sizeBytes = sendAnswer(response, answer, { isLast: api.app.isClosing === true })
    api.shedder.unread.watch(response, sizeBytes, undefined)
    report(api, context, answer.code, undefined)
  } catch (error) {
    respond(api, context, undefined, error)
  } finally {
    slot.release(undefined)
  }
}

/** The place of one request within the limit on requests in progress. */
interface Slot {
  /** Only the first call has an effect. */
  release(durationMs: number | undefined): void
}

function takeSlot(requests: RequestLimit): Slot {
  requests.begin()
  let isTaken = true
  return {
    release(durationMs) {
      if (isTaken) requests.end(durationMs)
      isTaken = false
    },
  }
}

async function perform(
  api: RtApi,
  context: Context,
  operation: RtOperationName,
  { headers, spentAs, unsigned }: Credentials,
  body: Buffer,
  slot: Slot,
): Promise<object> {
  const { shedder } = api
  const deps = await depsOf(api.deps, headers.appKey)
  const { address } = context
  const signed = { headers, body, address, spentAs, operations: operationsOf(operation) }
  const authenticated = unsigned ?? (await authenticate(deps.admission, signed))
  if (deps === api.deps) shedder.twinTurns.noteLive()
  else await shedder.twinTurns.take()
  const admitted = await admit(deps.admission, unsigned?.request ?? signed, authenticated)
  const { tenant, catalogueVersion } = admitted
  context.tenantId = tenant.tenantId
  refuseInRecovery(admitted, operation)
  if (tenant.currencyCode !== 'USD') {
    throw new RtFailure(
      '401001',
      `This API uses USD, but the account is in ${tenant.currencyCode}: use the dealer API.`,
    )
  }
  if (unsigned && SIGNED_ONLY.has(operation)) {
    throw new RtFailure('401001', 'This operation needs a signature, because it decides where events are sent.')
  }
  if (operation === 'package/list') {
    const turn = shedder.turns.take(tenant.tenantId)
    if (turn) await turn
    if (context.response.req.socket.destroyed) throw new ApiError('000002')
  }
  const call: RtCall = {
    ...{ tenant, catalogueVersion, request: parseBody(body), headers: { ...headers, requestId: spentAs } },
    ...{ address: context.address, receivedAt: context.start },
    ...(unsigned && { unsignedFrom: address }),
    traceWith(order) {
      context.order = order
    },
    onLostAnswer(undo) {
      whenAnswerIsLost(context.response, () => {
        undo().catch((err) =>
          deps.log.error({ err, tenantId: tenant.tenantId }, 'could not record that an answer was lost'),
        )
      })
    },
    waitForEnd(awaited) {
      slot.release(undefined) // a waiting request causes no load
      return waitForEnd(api.ends.of(deps), context.response, awaited)
    },
  }
  return handlers[operation](deps, call)
}

/** The dealer API operations that one of the family's operations stands for. */
function operationsOf(operation: RtOperationName): readonly string[] {
  switch (operation) {
    case 'balance/query':
      return ['account/balance']
    case 'esim/query':
      return ['esim/query', 'esim/profile/list']
    case 'webhook/save':
    case 'webhook/query':
      return ['webhook/set']
    default:
      return [operation]
  }
}

/** Operations that require a signature, even if the operator's switch allows unsigned requests. */
const SIGNED_ONLY: ReadonlySet<string> = new Set(['webhook/save'])

/**
 * Answers with a list part by part, compressed where that is accepted. No other answer is compressed: the length of a
 * compressed answer reveals something about the activation codes and secrets in it. If the caller already has the list
 * (If-None-Match), the answer is `{notModified: true}` with HTTP 200: programs of the family throw on 304, and they must
 * not mistake the answer for an empty list. Never rejects.
 */
async function respondWithList(api: RtApi, context: Context, list: ListStream): Promise<void> {
  const { response, tenantId = '' } = context
  const isZipped = acceptsGzip(response.req.headers['accept-encoding'])
  // The compressed bytes differ, so their tag is weak: it identifies the list, not the bytes.
  const etag = list.etag === undefined ? undefined : { etag: isZipped ? `W/${list.etag}` : list.etag }
  if (list.isKnown(response.req.headers['if-none-match'])) {
    respond(api, context, { notModified: true }, undefined, etag)
    return
  }
  try {
    api.lists.begin(tenantId)
  } catch (error) {
    respond(api, context, undefined, error)
    return
  }
  let failure: unknown
  try {
    const encoding = isZipped && { 'content-encoding': 'gzip' }
    response.writeHead(200, { ...headersOf(api, context), ...etag, ...encoding, vary: 'Accept-Encoding' })
    const isComplete = await api.lists.write(response, tenantId, list, LIST_ENVELOPE, isZipped)
    if (!isComplete) failure = new ApiError('000002')
  } catch (error) {
    failure = error
  }
  report(api, context, failure === undefined ? '000000' : failureOf(failure).code, failure)
}

const LIST_ENVELOPE = ['{"success":true,"errorCode":null,"errorMsg":null,"errorMessage":null,"obj":', '}'] as const

function respond(api: RtApi, context: Context, obj?: object, error?: unknown, headers?: Record<string, string>): void {
  const { response, tenantId } = context
  const failure = obj === undefined ? failureOf(error) : undefined
  const envelope = {
    success: failure === undefined,
    errorCode: failure?.code ?? null,
    errorMsg: failure?.message ?? null,
    errorMessage: failure?.message ?? null,
    obj: obj ?? {},
  }
  const code = failure?.code ?? '000000'
  const answer = {
    code,
    http: 200,
    headers: { ...headersOf(api, context), ...headers },
    body: JSON.stringify(envelope),
  }
  const send = () => {
    if (response.destroyed) return
    const sizeBytes = sendAnswer(response, answer, { isLast: api.app.isClosing === true })
    api.shedder.unread.watch(response, sizeBytes, tenantId)
  }
  if (failure !== undefined && tenantId === undefined) api.shedder.refusals.pace(send)
  else send()
  report(api, context, code, error)
}

function headersOf({ app }: RtApi, { requestId }: Context): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    ...(requestId !== undefined && { 'rt-requestid': requestId }),
    ...(app.isClosing === true && { connection: 'close' }),
  }
}

/** Reports the request once: a log line, an observation and a span under the operation's name with `rt/`. */
function report({ deps, logUnavailable }: RtApi, context: Context, code: string, error: unknown): void {
  const { requestId, address, tenantId, isUnsigned } = context
  const operation = `rt/${context.operation}`
  const durationMs = deps.clock.monotonic() - context.start
  deps.requestMetrics.observe(operation, code, durationMs)
  if (deps.traces) {
    const outcome = { code, httpStatus: 200, endedAt: deps.clock.now(), durationMs }
    const { spentAs, order } = context
    const span = requestSpan({ operation, requestId, spentAs, tenantId, address, order, ...outcome })
    if (span) deps.traces.add(span)
  }
  const line = { requestId, address, tenantId, ...(isUnsigned && { isUnsigned }), operation, code, durationMs }
  const fault = error instanceof RtFailure ? error.cause : error
  const isExpected = fault === undefined || fault instanceof ApiError
  if (!isExpected && code !== '900001') deps.log.error({ ...line, err: fault }, 'request')
  else {
    if (!isExpected) logUnavailable(fault)
    deps.logRequest(line)
  }
}
