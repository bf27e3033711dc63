import { CALLBACK_URL_LENGTH_MAX, EVENT_TYPES, orderIdOf } from '@dealer-esim/contract'
import Type, { type Static } from 'typebox'
import { DELIVERY_STATES } from '../../../webhooks/delivery.ts'
import { findEndpoint } from '../../../webhooks/endpoint/endpoint.ts'
import { setWebhook } from '../../../webhooks/endpoint/set-webhook.ts'
import { type AttemptView, getEvent, listEvents } from '../../../webhooks/list-events.ts'
import { resendEvent } from '../../../webhooks/replay/resend.ts'
import { EVERY_ROLE, type Route, route, TENANT_ADMINS, TENANT_STAFF } from '../../kernel/route.ts'
import {
  CLOSED,
  cursor,
  done,
  nextCursor,
  nullable,
  PAGE,
  pageOf,
  tenantParams,
  time,
  uuid,
} from '../../kernel/schemas.ts'

const eventRow = Type.Object({
  tenantId: Type.String(),
  clientName: Type.String(),
  notifyId: Type.String(),
  notifyType: Type.Enum(EVENT_TYPES),
  orderNo: Type.String(),
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
  body: Type.Unknown({ description: 'As it is posted' }),
  deliveries: Type.Array(delivery),
})
export type EventView = Static<typeof eventDetail>

const endpoint = Type.Object({
  callbackUrl: nullable(Type.String()),
  eventTypes: Type.Array(Type.Enum(EVENT_TYPES)),
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
    who: EVERY_ROLE,
    summary: 'Events and their deliveries, newest first',
    query: Type.Object(
      {
        tenantId: Type.Optional(uuid()),
        state: Type.Optional(Type.Enum(DELIVERY_STATES)),
        type: Type.Optional(Type.Enum(EVENT_TYPES)),
        orderNo: Type.Optional(Type.String({ maxLength: 26 })),
        from: Type.Optional(time()),
        to: Type.Optional(time()),
        cursor: cursor(),
      },
      CLOSED,
    ),
    answer: Type.Object({ events: Type.Array(eventRow), nextCursor: nextCursor() }),
    async handle({ deps, onlyTenant }, { query }) {
      const { state, type, orderNo, from, to, cursor } = query
      const orderId = orderNo === undefined ? undefined : orderIdOf(orderNo)
      if (orderNo !== undefined && orderId === undefined) return { events: [], nextCursor: null }
      const filter = {
        tenantId: onlyTenant ?? query.tenantId,
        deliveryStates: state && [state],
        notifyTypes: type && [type],
        orderId,
        from: from === undefined ? undefined : new Date(from),
        to: to === undefined ? undefined : new Date(to),
      }
      const events = await listEvents(deps.db, filter, { limit: PAGE + 1, before: cursor })
      const { page, nextCursor } = pageOf(events, (row) => row.notifyId)
      return { events: page, nextCursor }
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/:tenantId/events/:notifyId',
    who: EVERY_ROLE,
    summary: 'An event with every attempt to deliver it',
    params: Type.Object({ ...tenantParams.properties, notifyId: uuid() }, CLOSED),
    answer: eventDetail,
    async handle({ deps }, { params }) {
      const { content, attemptList, ...event } = await getEvent(deps.db, params.tenantId, params.notifyId)
      const { notifyId, notifyType, createdAt } = event
      return {
        ...event,
        body: { notifyId, notifyType, eventGenerateTime: createdAt, content },
        deliveries: attemptList.toReversed().map(deliveryOf),
      }
    },
  }),
  route({
    method: 'POST',
    path: '/tenants/:tenantId/events/:notifyId/resend',
    who: TENANT_STAFF,
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
    who: EVERY_ROLE,
    summary: 'Where events go, and how that works',
    params: tenantParams,
    answer: endpoint,
    async handle({ deps }, { params }) {
      const known = await findEndpoint(deps.db, params.tenantId)
      if (!known)
        return {
          callbackUrl: null,
          eventTypes: [...EVENT_TYPES],
          enabled: true,
          disabledReason: null,
          failingSince: null,
          updatedAt: null,
        }
      const { failureWindow, ...view } = known
      const { failingSinceMs } = failureWindow
      return { ...view, failingSince: failingSinceMs === null ? null : new Date(failingSinceMs) }
    },
  }),
  route({
    method: 'PUT',
    path: '/tenants/:tenantId/endpoint',
    who: TENANT_ADMINS,
    summary: 'Set where events go; the URL has to answer a CHECK_HEALTH first',
    params: tenantParams,
    body: Type.Object(
      {
        callbackUrl: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: CALLBACK_URL_LENGTH_MAX }))),
        eventTypes: Type.Optional(Type.Array(Type.Enum(EVENT_TYPES), { uniqueItems: true })),
        enabled: Type.Optional(Type.Boolean()),
      },
      CLOSED,
    ),
    answer: Type.Object({
      callbackUrl: nullable(Type.String()),
      eventTypes: Type.Array(Type.Enum(EVENT_TYPES)),
      enabled: Type.Boolean(),
      lastUpdateTime: time(),
    }),
    handle: ({ deps, by }, { params, body }) => setWebhook(deps, params.tenantId, body, by),
  }),
]

function deliveryOf({ attemptId, url, address, startedAt, durationMs, httpStatus, outcome, answer }: AttemptView) {
  return { attemptId, url, address, startedAt, duration_ms: durationMs, httpStatus, outcome, answer }
}
