import Type from 'typebox'
import { reauthenticate } from '#people/sign-in.ts'
import { GRACE_MAX_MS, resetSecret, viewSecret } from '#tenants/app-secret.ts'
import { type Route, route, TENANT_ADMINS } from '../kernel/route.ts'
import {
  CLOSED,
  nullable,
  REAUTHENTICATIONS_PER_MINUTE,
  reauthentication,
  tenantParams,
  time,
} from '../kernel/route-schemas.ts'
import { sessionCredential } from '../people/sign-in.ts'

const GRACE_MAX_S = GRACE_MAX_MS / 1000

/** Both require the password, because a stolen session must not be enough. */
export const credentialRoutes: Route[] = [
  route('POST /tenants/:tenantId/secret/view', {
    access: TENANT_ADMINS,
    testMode: 'TWIN',
    sessionOnly: true,
    summary: 'Show the current AppSecret. Requires the password. Audited',
    params: tenantParams,
    body: Type.Object(reauthentication, CLOSED),
    answer: Type.Object({ appSecret: Type.String() }),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    async handle({ deps, live, person, signedIn, by, address }, { params, body }) {
      await reauthenticate(live.deps, person, { ...body, ...sessionCredential(signedIn), address })
      return { appSecret: await viewSecret(deps, params.tenantId, by) }
    },
  }),
  route('POST /tenants/:tenantId/secret/reset', {
    access: TENANT_ADMINS,
    testMode: 'TWIN',
    sessionOnly: true,
    summary: 'Replace the AppSecret. The old one stays valid for the grace period, 0 (the default) to 24 h',
    params: tenantParams,
    body: Type.Object(
      { ...reauthentication, grace_s: Type.Optional(Type.Integer({ minimum: 0, maximum: GRACE_MAX_S, default: 0 })) },
      CLOSED,
    ),
    answer: Type.Object({ appSecret: Type.String(), oldValidUntil: nullable(time()) }),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    async handle({ deps, live, person, signedIn, by, address }, { params, body }) {
      await reauthenticate(live.deps, person, { ...body, ...sessionCredential(signedIn), address })
      const graceMs = body.grace_s === undefined ? undefined : body.grace_s * 1000
      return resetSecret(deps, params.tenantId, { graceMs }, by)
    },
  }),
]
