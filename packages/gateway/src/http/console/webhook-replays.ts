import { EVENT_TYPES } from '@dealer-esim/contract'
import Type, { type Static } from 'typebox'
import { cancelReplay, listReplays, REPLAY_STATES, REPLAYABLE, startReplay } from '#webhooks/replay/replay.ts'
import { createActorNaming } from './kernel/actors.ts'
import { EVERY_ROLE, type Route, route, TENANT_STAFF } from './kernel/route.ts'
import { CLOSED, nullable, tenantParams, time, uuid } from './kernel/route-schemas.ts'

const replay = Type.Object({
  replayId: Type.String(),
  tenantId: Type.String(),
  replayState: Type.Enum(REPLAY_STATES),
  from: time(),
  to: time(),
  notifyTypes: Type.Array(Type.String()),
  outcomes: Type.Array(Type.String()),
  rate_per_s: Type.Integer(),
  matched: Type.Integer(),
  replayed: Type.Integer(),
  actor: Type.String(),
  createdAt: time(),
  finishedAt: nullable(time()),
})
export type ReplayView = Static<typeof replay>

const REPLAYS_MAX = 10

export const replayRoutes: Route[] = [
  route('GET /tenants/:tenantId/replays', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'A dealer’s latest replays, with their progress',
    params: tenantParams,
    answer: Type.Object({ replays: Type.Array(replay) }),
    async handle(context, { params }) {
      const rows = await listReplays(context.deps.db, params.tenantId, REPLAYS_MAX)
      const nameOf = await createActorNaming(
        context,
        rows.map((row) => row.actor),
      )
      return {
        replays: rows.map(({ ratePerS, ...row }) => ({
          ...row,
          rate_per_s: ratePerS,
          actor: nameOf(row.actor) ?? row.actor,
        })),
      }
    },
  }),
  route('POST /tenants/:tenantId/replays', {
    access: TENANT_STAFF,
    testMode: 'TWIN',
    summary: 'Send the events of a period again, with the same notifyIds',
    params: tenantParams,
    body: Type.Object(
      {
        from: time(),
        to: Type.Optional(time()),
        notifyTypes: Type.Optional(Type.Array(Type.Enum(EVENT_TYPES), { minItems: 1 })),
        outcomes: Type.Optional(Type.Array(Type.Enum(REPLAYABLE), { minItems: 1 })),
      },
      CLOSED,
    ),
    answer: Type.Object({
      replayId: Type.String(),
      matched: Type.Integer(),
      unsubscribed: Type.Array(Type.Object({ notifyType: Type.Enum(EVENT_TYPES), count: Type.Integer() })),
    }),
    async handle({ deps, by }, { params, body }) {
      const { from, to, ...filter } = body
      const range = { from: new Date(from), ...(to !== undefined && { to: new Date(to) }) }
      const { replayId, matched, unsubscribed } = await startReplay(deps, params.tenantId, { ...filter, ...range }, by)
      return { replayId, matched, unsubscribed }
    },
  }),
  route('POST /tenants/:tenantId/replays/:replayId/cancel', {
    access: TENANT_STAFF,
    testMode: 'TWIN',
    summary: 'Stop a replay. Events that are already due are still sent',
    params: Type.Object({ ...tenantParams.properties, replayId: uuid() }, CLOSED),
    handle: ({ deps, by }, { params }) => cancelReplay(deps, params.tenantId, params.replayId, by),
  }),
]
