import { ESIM_STATUSES, SMDP_STATUSES } from '@dealer-esim/contract'
import Type, { type Static } from 'typebox'
import { readLifeHistory } from '#esims/life/esim-history.ts'
import { pollNow } from '#esims/poll-suppliers.ts'
import { sentence } from '#people/languages/translate-answer.ts'
import { EVERY_ROLE, type Route, route, TENANT_STAFF } from '../kernel/route.ts'
import { ASKS_PER_MINUTE, profileParams, time } from '../kernel/route-schemas.ts'

const step = Type.Object({
  at: time(),
  kind: Type.Enum(['DELIVERED', 'ACTIVATED', 'INSTALL_BEFORE', 'EXPIRES', 'STATUS', 'USAGE']),
  status: Type.Optional(Type.Enum([...ESIM_STATUSES, ...SMDP_STATUSES])),
  percent: Type.Optional(Type.Integer({ description: 'The threshold that usage passed' })),
})
export type LifeStepView = Static<typeof step>

export const esimLifeRoutes: Route[] = [
  route('GET /tenants/:tenantId/profiles/:profileId/life', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'The life of an eSIM, oldest step first; steps in the future are planned',
    params: profileParams,
    answer: Type.Object({ steps: Type.Array(step) }),
    handle: async ({ deps }, { params }) => ({ steps: await readLifeHistory(deps.db, params) }),
  }),
  route('POST /tenants/:tenantId/profiles/:profileId/poll', {
    access: TENANT_STAFF,
    testMode: 'TWIN',
    summary: 'Ask the supplier for the state and usage of an eSIM now',
    params: profileParams,
    answer: Type.Object({
      outcome: Type.Enum(['CHANGED', 'UNCHANGED', 'NO_REPORT']),
      unreadable: Type.Array(Type.Object({ entry: Type.String(), reason: sentence() }), {
        description: 'Entries of the answer that cannot be read',
      }),
    }),
    ratePerMinute: ASKS_PER_MINUTE,
    handle: async ({ deps }, { params }) => pollNow(deps, params),
  }),
]
