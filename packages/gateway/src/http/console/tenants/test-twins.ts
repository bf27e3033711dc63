import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { findTwin } from '#operations/twins/find-twin.ts'
import { createTwin, deleteTwin, resetTwin } from '#operations/twins/manage-twins.ts'
import { reauthenticate } from '#people/sign-in.ts'
import { type Route, route, TENANT_ADMINS } from '../kernel/route.ts'
import {
  CLOSED,
  money,
  nullable,
  REAUTHENTICATIONS_PER_MINUTE,
  reauthentication,
  tenantParams,
  time,
  uuid,
} from '../kernel/route-schemas.ts'
import { mayCreateTwin } from '../people/me.ts'
import { sessionCredential } from '../people/sign-in.ts'

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
  route('POST /tenants/:tenantId/twin', {
    access: TENANT_ADMINS,
    testMode: 'SAME',
    sessionOnly: true,
    summary: 'Create the test twin of a dealer. Requires the password. The AppSecret is answered only now',
    params: tenantParams,
    body: Type.Object(reauthentication, CLOSED),
    answer: Type.Object({ appKey: Type.String(), appSecret: Type.String() }),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    async handle({ deps, person, signedIn, by, address }, { params, body }) {
      if (!(await mayCreateTwin(deps, person)))
        throw new Refusal(
          403,
          'TWINS_BY_OPERATOR',
          'Ask your operator for a test twin: dealers do not create them here.',
        )
      await reauthenticate(deps, person, { ...body, ...sessionCredential(signedIn), address })
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
  route('POST /tenants/:tenantId/twin/delete', {
    access: TENANT_ADMINS,
    testMode: 'SAME',
    sessionOnly: true,
    summary: 'Delete the test twin of a dealer with everything that it holds. Requires the password',
    params: tenantParams,
    body: Type.Object(reauthentication, CLOSED),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    async handle({ deps, person, signedIn, by, address }, { params, body }) {
      await reauthenticate(deps, person, { ...body, ...sessionCredential(signedIn), address })
      await deleteTwin(deps, await deps.twins.open(), params.tenantId, by)
    },
  }),
]
