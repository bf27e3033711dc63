import {
  CALLBACK_URL_LENGTH_MAX,
  DEFAULT_EVENT_TYPES,
  EVENT_FORMATS,
  EVENT_TYPES,
  EXPIRY_NOTICE_HOURS_DEFAULT,
  orderIdOf,
  USAGE_THRESHOLDS_DEFAULT,
  webhookSetAnswer,
  webhookSetRequest,
} from '@dealer-esim/contract'
import Type, { type Static } from 'typebox'
import { DELIVERY_STATES } from '../../../webhooks/delivery.ts'
import { findEndpoint } from '../../../webhooks/endpoint/endpoint.ts'
import { setWebhook } from '../../../webhooks/endpoint/set-webhook.ts'
import { type AttemptView, getEvent, listEvents } from '../../../webhooks/list-events.ts'
import { bodyOf } from '../../../webhooks/notification-body.ts'
import { resendEvent } from '../../../webhooks/replay/resend.ts'
import { cursor, PAGE_SIZE, pageOf, pageSchema } from '../../kernel/paging.ts'
import { EVERY_ROLE, type Route, route, TENANT_ADMINS, TENANT_STAFF } from '../../kernel/route.ts'
import { CLOSED, done, nullable, orderNo, tenantParams, time, toDate, uuid } from '../../kernel/schemas.ts'

const eventRow = Type.Object({
  tenantId: Type.String(),
  clientName: Type.String(),
  notifyId: Type.String(),
  notifyType: Type.Enum(EVENT_TYPES),
  orderNo: nullable(Type.String()),
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
  outcome: Type.String(),
  answer: nullable(Type.String({ description: 'The first 4 KiB' })),
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

export const webhookRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/events',
    access: EVERY_ROLE,
    summary: 'Events and their deliveries, newest first',
    query: Type.Object(
      {
        tenantId: Type.Optional(uuid()),
        state: Type.Optional(Type.Enum(DELIVERY_STATES)),
        type: Type.Optional(Type.Enum(EVENT_TYPES)),
        orderNo: Type.Optional(orderNo()),
        from: Type.Optional(time()),
        to: Type.Optional(time()),
        cursor: cursor(),
      },
      CLOSED,
    ),
    answer: pageSchema('events', eventRow),
    async handle({ deps, onlyTenant }, { query }) {
      const { state, type, orderNo, from, to, cursor } = query
      const orderId = orderNo === undefined ? undefined : orderIdOf(orderNo)
      if (orderNo !== undefined && orderId === undefined) return { events: [], nextCursor: null }
      const filter = {
        tenantId: onlyTenant ?? query.tenantId,
        deliveryStates: state && [state],
        notifyTypes: type && [type],
        orderId,
        from: toDate(from),
        to: toDate(to),
      }
      const events = await listEvents(deps.db, filter, { limit: PAGE_SIZE + 1, before: cursor })
      const { page, nextCursor } = pageOf(events, (row) => row.notifyId)
      return { events: page, nextCursor }
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/:tenantId/events/:notifyId',
    access: EVERY_ROLE,
    summary: 'An event with all delivery attempts',
    params: Type.Object({ ...tenantParams.properties, notifyId: uuid() }, CLOSED),
    answer: eventDetail,
    async handle({ deps }, { params }) {
      const [found, endpoint] = await Promise.all([
        getEvent(deps.db, params.tenantId, params.notifyId),
        findEndpoint(deps.db, deps.cipher, params.tenantId),
      ])
      const { content, details, attemptList, ...event } = found
      const recorded = { ...event, content: JSON.stringify(content), details: details ? JSON.stringify(details) : null }
      const text = bodyOf(endpoint?.eventFormat ?? 'DEALER', recorded) ?? bodyOf('DEALER', recorded)
      return {
        ...event,
        body: JSON.parse(text!),
        deliveries: attemptList.toReversed().map(deliveryOf),
      }
    },
  }),
  route({
    method: 'POST',
    path: '/tenants/:tenantId/events/:notifyId/resend',
    access: TENANT_STAFF,
    summary: 'Send an event again, with the same notifyId',
    params: Type.Object({ ...tenantParams.properties, notifyId: uuid() }, CLOSED),
    answer: done,
    async handle({ deps, by }, { params }) {
      await resendEvent(deps, params.tenantId, params.notifyId, by)
      return {}
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/:tenantId/endpoint',
    access: EVERY_ROLE,
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
  route({
    method: 'PUT',
    path: '/tenants/:tenantId/endpoint',
    access: TENANT_ADMINS,
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

function deliveryOf({ attemptId, url, address, startedAt, durationMs, httpStatus, outcome, answer }: AttemptView) {
  return { attemptId, url, address, startedAt, duration_ms: durationMs, httpStatus, outcome, answer }
}
