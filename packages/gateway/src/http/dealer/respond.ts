import type { IncomingMessage, ServerResponse } from 'node:http'
import { type OperationName, orderIdOf, REQUEST_HEADERS } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { isUuid } from '@dealer-esim/lib/ids.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '#deps.ts'
import { type Answer, failureAnswer, sendAnswer, toApiError } from '../answer.ts'
import type { UnreadAnswers } from '../load-shedding/byte-budget.ts'
import type { Refusals } from '../load-shedding/refusals.ts'
import { type OrderTrace, requestSpan } from '../request-log.ts'

/** The facts about one request that are known so far. */
export interface RequestContext {
  response: ServerResponse
  start: number
  /** 'none' until the request has passed the checks that precede its body. */
  operation: OperationName | 'none'
  address: string
  requestId: string | undefined
  tenantId: string | undefined
}

export function createContext(deps: Deps, { socket }: IncomingMessage, response: ServerResponse): RequestContext {
  const address = socket.remoteAddress ?? ''
  const known = { operation: 'none', requestId: undefined, tenantId: undefined } as const
  return { response, start: deps.clock.monotonic(), address, ...known }
}

export interface Responder {
  /** Its `isClosing` is true while the server closes. */
  app: FastifyInstance
  deps: Deps
  refusals: Refusals
  unread?: UnreadAnswers
  logUnavailable?(error: unknown): void
}

/**
 * Sends the answer to a request, and reports the request once: one log line, one observation, one span. The refusal of a
 * request that was not admitted is paced: its sender is unknown, or has used up its quota.
 */
export function respond(responder: Responder, context: RequestContext, answer: Answer, failure?: unknown): void {
  const { app, deps, unread, logUnavailable } = responder
  const { requestId, address, tenantId, operation } = context
  const durationMs = deps.clock.monotonic() - context.start
  if (failure !== undefined && tenantId === undefined) paceRefusal(responder, context.response, answer)
  else {
    // While the server is closing, each answer ends its connection, so that the caller's next request goes to another node.
    const sizeBytes = sendAnswer(context.response, answer, { isLast: app.isClosing === true })
    unread?.watch(context.response, sizeBytes, tenantId)
  }
  deps.requestMetrics.observe(operation, answer.code, durationMs)
  if (deps.traces) {
    const span = requestSpan({
      ...{ requestId, tenantId, address, code: answer.code, httpStatus: answer.http, durationMs },
      operation: operation === 'none' ? 'request' : operation,
      endedAt: deps.clock.now(),
      ...tracedOrder(operation, answer),
    })
    if (span) deps.traces.add(span)
  }
  const line = { requestId, address, tenantId, operation, code: answer.code, durationMs }
  const isUnexpected = failure !== undefined && !(failure instanceof ApiError)
  if (isUnexpected && answer.code !== '000002') {
    deps.log.error({ ...line, err: failure }, 'request')
    return
  }
  if (isUnexpected) logUnavailable?.(failure)
  deps.logRequest(line)
}

/** Sends the refusal of a request when its turn comes. Its caller may have gone away by then. */
export function paceRefusal(
  { app, refusals }: Pick<Responder, 'app' | 'refusals'>,
  response: ServerResponse,
  answer: Answer,
): void {
  refusals.pace(() => {
    if (!response.destroyed) sendAnswer(response, answer, { isLast: app.isClosing === true })
  })
}

/** Responds to a request that fails before its body is read. */
export function refuse(responder: Responder, context: RequestContext, request: IncomingMessage, error: unknown): void {
  context.requestId = requestIdOf(request)
  respond(responder, context, failureAnswer(context.requestId, toApiError(error)), error)
}

/** The caller's RequestID, if it is well formed. */
export function requestIdOf(request: IncomingMessage): string | undefined {
  const requestId = request.headers[REQUEST_ID]
  return typeof requestId === 'string' && isUuid(requestId) ? requestId : undefined
}

const REQUEST_ID = REQUEST_HEADERS.requestId.toLowerCase()

/** Refuses a request for a path that does not belong to any API. @returns a function that sends the refusal */
export function unknownPathRefusal(
  known: Pick<Responder, 'deps' | 'refusals'>,
  { raw }: FastifyRequest,
  reply: FastifyReply,
): () => void {
  reply.hijack()
  const context = createContext(known.deps, raw, reply.raw)
  return () => refuse({ ...known, app: reply.server }, context, raw, new ApiError('000109'))
}

/** Operations that begin the trace of an order, or continue the trace of the order that delivered the eSIM. */
const ORDER_TRACES: Partial<Record<RequestContext['operation'], 'begins' | 'continues'>> = {
  'esim/order': 'begins',
  'esim/topup': 'begins',
  'esim/cancel': 'continues',
  'esim/suspend': 'continues',
  'esim/unsuspend': 'continues',
  'esim/revoke': 'continues',
}

/** The order to whose trace the request belongs, if the answer is a success and not a replay. */
function tracedOrder(
  operation: RequestContext['operation'],
  answer: Answer,
): { order: OrderTrace | undefined; answeredOrderNo?: string | undefined } {
  const part = answer.code === '000000' ? ORDER_TRACES[operation] : undefined
  const orderNo = part && memberOf(answer, 'orderNo')
  const orderId = orderNo === undefined ? undefined : orderIdOf(orderNo)
  if (part === undefined || orderId === undefined) return { order: undefined }
  if (answer.headers['Idempotent-Replayed'] !== undefined) return { order: undefined, answeredOrderNo: orderNo }
  const actionNo = part === 'continues' ? memberOf(answer, 'actionNo') : undefined
  const actionId = actionNo === undefined ? undefined : orderIdOf(actionNo)
  return { order: { orderId, part, ...(actionId !== undefined && { actionId }) } }
}

/** Reads a member from the body's text, because the answer of a replay may have been stored as text. */
function memberOf({ body }: Answer, name: 'orderNo' | 'actionNo'): string | undefined {
  return typeof body === 'string' ? new RegExp(`"${name}":"([^"]+)"`).exec(body)?.[1] : undefined
}
