import {
  CALLBACK_URL_LENGTH_MAX,
  DEFAULT_EVENT_TYPES,
  EVENT_FORMATS,
  EVENT_TYPES,
  EXPIRY_NOTICE_HOURS_DEFAULT,
  orderIdOf,
  TRANSACTION_ID_LENGTH_MAX,
  USAGE_THRESHOLDS_DEFAULT,
  webhookSetAnswer,
  webhookSetRequest,
} from '@dealer-esim/contract'
import Type, { type Static } from 'typebox'
import type { Deps } from '#deps.ts'
import { findOrder, findOrdersOfTransaction } from '#orders/reading/find-order.ts'
import { sentence } from '#people/languages/translate-answer.ts'
import { DELIVERY_STATES } from '#webhooks/delivery-state.ts'
import { findEndpoint } from '#webhooks/endpoint/endpoint.ts'
import { FIGURE_PERIODS, readEndpointFigures } from '#webhooks/endpoint/endpoint-figures.ts'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { type AttemptView, countEvents, type EventFilter, getEvent, searchEvents } from '#webhooks/list-events.ts'
import { bodyOf } from '#webhooks/notification-body.ts'
import { resendEvent } from '#webhooks/replay/resend-event.ts'
import { loggedHeaders } from '#webhooks/sending/delivery-attempt.ts'
import { type ListQuery, listRoutes } from './kernel/list-routes.ts'
import { type Context, EVERY_ROLE, type Route, route, TENANT_ADMINS, TENANT_STAFF } from './kernel/route.ts'
import { CLOSED, line, nullable, orderNo, tenantParams, time, toDate, uuid } from './kernel/route-schemas.ts'

const eventRow = Type.Object({
  tenantId: Type.String(),
  clientName: Type.String(),
  notifyId: Type.String(),
  notifyType: Type.Enum(EVENT_TYPES),
  orderNo: nullable(Type.String()),
  statuses: Type.Array(Type.String(), {
    description: 'Of the order, the eSIM or the action, as the event reports them',
  }),
  level: nullable(
    Type.Object({ unit: Type.Enum(['PERCENT', 'HOURS']), value: Type.Integer() }, { description: 'The threshold' }),
  ),
  deliveryState: Type.Enum(DELIVERY_STATES),
  attempts: nullable(Type.Integer()),
  dueAt: nullable(time()),
  createdAt: time(),
  settledAt: nullable(time()),
  lastOutcome: nullable(Type.String()),
})
export type EventRow = Static<typeof eventRow>

const delivery = Type.Object({
  attemptId: Type.String(),
  url: Type.String(),
  address: nullable(Type.String()),
  startedAt: time(),
  duration_ms: Type.Integer(),
  httpStatus: nullable(Type.Integer()),
  outcome: sentence(),
  answer: nullable(Type.String({ description: 'The first 4 KiB' })),
  headers: Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
    description: 'As sent; only the first characters of signatures are kept',
  }),
})

const eventDetail = Type.Object({
  ...eventRow.properties,
  body: Type.Unknown({
    description: 'The body as it is posted now; in the format of the dealer API if it is not posted',
  }),
  deliveries: Type.Array(delivery),
})
export type EventView = Static<typeof eventDetail>

const endpoint = Type.Object({
  callbackUrl: nullable(Type.String()),
  eventTypes: Type.Array(Type.Enum(EVENT_TYPES)),
  eventFormat: Type.Enum(EVENT_FORMATS, { description: 'RT: events in the form of the RT family' }),
  usageThresholds: Type.Array(Type.Integer()),
  expiryNoticeHours: Type.Array(Type.Integer()),
  enabled: Type.Boolean(),
  disabledReason: nullable(Type.Enum(['GONE', 'FAILING'])),
  failingSince: nullable(time()),
  updatedAt: nullable(time()),
})
export type EndpointView = Static<typeof endpoint>

const figures = Type.Object({
  isSample: Type.Boolean({ description: 'There were more attempts: only those of the newest events are counted' }),
  parts: Type.Array(
    Type.Object({
      from: time(),
      acknowledged: Type.Integer(),
      failed: Type.Integer(),
      p50_ms: nullable(Type.Integer()),
      p95_ms: nullable(Type.Integer()),
    }),
  ),
})
export type EndpointFiguresView = Static<typeof figures>

const filters = {
  tenantId: Type.Optional(uuid()),
  state: Type.Optional(Type.Enum(DELIVERY_STATES)),
  type: Type.Optional(Type.Enum(EVENT_TYPES)),
  orderNo: Type.Optional(orderNo()),
  q: Type.Optional(line(TRANSACTION_ID_LENGTH_MAX)),
  from: Type.Optional(time()),
  to: Type.Optional(time()),
}

export const webhookRoutes: Route[] = [
  ...listRoutes({
    name: 'events',
    path: '/events',
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'Events and their deliveries, newest first. q is an order number or a transactionId',
    filters,
    row: eventRow,
    sorts: { createdAt: 'INDEX' },
    firstSort: '-createdAt',
    async find(context, query, { column: _, ...page }) {
      const { events, ...rest } = await searchEvents(context.deps.db, await filterOf(context, query), page)
      return { ...rest, rows: events }
    },
    count: async (context, query) => countEvents(context.deps.db, await filterOf(context, query)),
    csv: {
      notifyId: (row) => row.notifyId,
      type: (row) => row.notifyType,
      dealer: (row) => row.clientName,
      orderNo: (row) => row.orderNo,
      delivery: (row) => row.deliveryState,
      attempts: (row) => row.attempts,
      lastResponse: (row) => row.lastOutcome,
      nextAttemptAt: (row) => row.dueAt,
      createdAt: (row) => row.createdAt,
      settledAt: (row) => row.settledAt,
    },
  }),
  route('GET /tenants/:tenantId/events/:notifyId', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'An event with all delivery attempts',
    params: Type.Object({ ...tenantParams.properties, notifyId: uuid() }, CLOSED),
    answer: eventDetail,
    async handle({ deps }, { params }) {
      const [found, endpoint] = await Promise.all([
        getEvent(deps.db, params.tenantId, params.notifyId),
        findEndpoint(deps.db, deps.cipher, params.tenantId),
      ])
      const { content, details, attemptList, appKey, ...event } = found
      const recorded = { ...event, content: JSON.stringify(content), details: details ? JSON.stringify(details) : null }
      const text =
        bodyOf(endpoint?.eventFormat ?? 'DEALER', recorded, deps.config.mode) ??
        bodyOf('DEALER', recorded, deps.config.mode)
      return {
        ...event,
        body: JSON.parse(text!),
        deliveries: attemptList.toReversed().map((attempt) => deliveryOf(attempt, appKey)),
      }
    },
  }),
  route('POST /tenants/:tenantId/events/:notifyId/resend', {
    access: TENANT_STAFF,
    testMode: 'TWIN',
    summary: 'Send an event again, with the same notifyId',
    params: Type.Object({ ...tenantParams.properties, notifyId: uuid() }, CLOSED),
    handle: ({ deps, by }, { params }) => resendEvent(deps, params.tenantId, params.notifyId, by),
  }),
  route('GET /tenants/:tenantId/endpoint', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'A dealer’s endpoint and its health',
    params: tenantParams,
    answer: endpoint,
    async handle({ deps }, { params }) {
      const found = await findEndpoint(deps.db, deps.cipher, params.tenantId)
      if (!found)
        return {
          callbackUrl: null,
          eventTypes: [...DEFAULT_EVENT_TYPES],
          eventFormat: 'DEALER' as const,
          usageThresholds: [...USAGE_THRESHOLDS_DEFAULT],
          expiryNoticeHours: [...EXPIRY_NOTICE_HOURS_DEFAULT].reverse(),
          enabled: true,
          disabledReason: null,
          failingSince: null,
          updatedAt: null,
        }
      const { failureWindow, ...view } = found
      const { failingSinceMs } = failureWindow
      return { ...view, failingSince: failingSinceMs === null ? null : new Date(failingSinceMs) }
    },
  }),
  route('GET /tenants/:tenantId/endpoint/figures', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'How attempts to send events went, and how long they took, in parts of the last day or week',
    params: tenantParams,
    query: Type.Object({ period: Type.Optional(Type.Enum(Object.keys(FIGURE_PERIODS))) }, CLOSED),
    answer: figures,
    async handle({ deps }, { params, query }) {
      const period = (query.period ?? 'DAY') as keyof typeof FIGURE_PERIODS
      const { isSample, parts } = await readEndpointFigures(deps, params.tenantId, period)
      return { isSample, parts: parts.map(({ p50Ms, p95Ms, ...part }) => ({ ...part, p50_ms: p50Ms, p95_ms: p95Ms })) }
    },
  }),
  route('PUT /tenants/:tenantId/endpoint', {
    access: TENANT_ADMINS,
    testMode: 'TWIN',
    summary: 'Change a dealer’s endpoint. A new URL must first answer a CHECK_HEALTH',
    params: tenantParams,
    body: Type.Object(
      {
        callbackUrl: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: CALLBACK_URL_LENGTH_MAX }))),
        eventTypes: Type.Optional(Type.Array(Type.Enum(EVENT_TYPES), { uniqueItems: true })),
        eventFormat: Type.Optional(Type.Enum(EVENT_FORMATS)),
        enabled: Type.Optional(Type.Boolean()),
        usageThresholds: webhookSetRequest.properties.usageThresholds,
        expiryNoticeHours: webhookSetRequest.properties.expiryNoticeHours,
      },
      CLOSED,
    ),
    answer: webhookSetAnswer,
    handle: ({ deps, by }, { params, body }) => setWebhook(deps, params.tenantId, body, by),
  }),
]

async function filterOf({ deps, onlyTenant }: Context, query: ListQuery<typeof filters>): Promise<EventFilter> {
  const { state, type, from, to } = query
  const tenantId = onlyTenant ?? query.tenantId
  const filter = {
    tenantId,
    deliveryStates: state && [state],
    notifyTypes: type && [type],
    from: toDate(from),
    to: toDate(to),
  }
  const orders = await findOrders(deps, tenantId, query)
  if (orders === undefined) return filter
  const orderIds = orders.map((order) => order.orderId)
  // If all orders belong to one dealer, the events of other dealers are not read.
  return { ...filter, orderIds, ...(orders.length === 1 && { tenantId: tenantId ?? orders[0]!.tenantId }) }
}

/** undefined: any order. */
async function findOrders(
  { db }: Pick<Deps, 'db'>,
  tenantId: string | undefined,
  { orderNo, q }: { orderNo?: string; q?: string },
): Promise<{ tenantId: string | undefined; orderId: string }[] | undefined> {
  const text = orderNo ?? q
  if (text === undefined) return undefined
  // Any text may be a transactionId, even one in the form of an order number.
  const ofTransaction = orderNo === undefined ? await findOrdersOfTransaction(db, tenantId, text) : []
  const orderId = orderIdOf(text.toUpperCase())
  if (orderId === undefined) return ofTransaction
  const owner = tenantId ?? (await findOrder(db, orderId))?.tenantId
  // An order may be deleted before its events.
  return owner === undefined && ofTransaction.length > 0
    ? ofTransaction
    : [...ofTransaction, { tenantId: owner, orderId }]
}

function deliveryOf(attempt: AttemptView, appKey: string) {
  const { attemptId, url, address, startedAt, durationMs, httpStatus, outcome, answer } = attempt
  const headers = loggedHeaders(appKey, attempt).map(([name, value]) => ({ name, value }))
  return { attemptId, url, address, startedAt, duration_ms: durationMs, httpStatus, outcome, answer, headers }
}
