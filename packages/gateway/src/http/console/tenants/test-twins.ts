import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { findTwin } from '#operations/twins/find-twin.ts'
import { createTwin, deleteTwin, resetTwin } from '#operations/twins/manage-twins.ts'
import { type Route, route, TENANT_ADMINS } from '../kernel/route.ts'
import { money, nullable, tenantParams, time, uuid } from '../kernel/route-schemas.ts'
import { confirmedRoute } from '../people/confirmed-route.ts'
import { mayCreateTwin } from '../people/me.ts'

const twinRow = Type.Object({
  tenantId: uuid(),
  appKey: Type.String(),
  balance: money(),
  currencyCode: Type.String(),
  resets: Type.Integer(),
  createdAt: time(),
})
export type TwinRow = Static<typeof twinRow>

/** Creating and deleting require the password, as for all credentials. */
export const twinRoutes: Route[] = [
  route('GET /tenants/:tenantId/twin', {
    access: TENANT_ADMINS,
    testMode: 'SAME',
    summary: 'The test twin of a dealer; null if it has none',
    params: tenantParams,
    answer: Type.Object({ twin: nullable(twinRow) }),
    async handle({ deps }, { params }) {
      const twin = await findTwin(await deps.twins.open(), params.tenantId)
      if (twin === undefined) return { twin: null }
      const { liveTenantId: _, clientName: __, ...row } = twin
      return { twin: row }
    },
  }),
  confirmedRoute('POST /tenants/:tenantId/twin', {
    access: TENANT_ADMINS,
    testMode: 'SAME',
    summary: 'Create the test twin of a dealer. Requires the password. The AppSecret is answered only now',
    params: tenantParams,
    answer: Type.Object({ appKey: Type.String(), appSecret: Type.String() }),
    async handle({ deps, person, by }, { params }) {
      if (!(await mayCreateTwin(deps, person)))
        throw new Refusal(
          403,
          'TWINS_BY_OPERATOR',
          'Ask your operator for a test twin: dealers do not create them here.',
        )
      const { appKey, appSecret } = await createTwin(deps, () => deps.twins.create(), params.tenantId, by)
      return { appKey, appSecret }
    },
  }),
  route('POST /tenants/:tenantId/twin/reset', {
    access: TENANT_ADMINS,
    testMode: 'SAME',
    summary: 'Delete what the test twin of a dealer has bought and received, and give it a new wallet',
    params: tenantParams,
    handle: async ({ deps, by }, { params }) => resetTwin(deps, await deps.twins.open(), params.tenantId, by),
  }),
  confirmedRoute('POST /tenants/:tenantId/twin/delete', {
    access: TENANT_ADMINS,
    testMode: 'SAME',
    summary: 'Delete the test twin of a dealer with everything that it holds. Requires the password',
    params: tenantParams,
    handle: async ({ deps, by }, { params }) => deleteTwin(deps, await deps.twins.open(), params.tenantId, by),
  }),
]
