import Type from 'typebox'
import { GRACE_MAX_MS, resetSecret, viewSecret } from '#tenants/app-secret.ts'
import { type Route, TENANT_ADMINS } from '../kernel/route.ts'
import { nullable, tenantParams, time } from '../kernel/route-schemas.ts'
import { confirmedRoute } from '../people/confirmed-route.ts'

const GRACE_MAX_S = GRACE_MAX_MS / 1000

/** Both require the password, because a stolen session must not be enough. */
export const credentialRoutes: Route[] = [
  confirmedRoute('POST /tenants/:tenantId/secret/view', {
    access: TENANT_ADMINS,
    testMode: 'TWIN',
    summary: 'Show the current AppSecret. Requires the password. Audited',
    params: tenantParams,
    answer: Type.Object({ appSecret: Type.String() }),
    handle: async ({ deps, by }, { params }) => ({ appSecret: await viewSecret(deps, params.tenantId, by) }),
  }),
  confirmedRoute('POST /tenants/:tenantId/secret/reset', {
    access: TENANT_ADMINS,
    testMode: 'TWIN',
    summary: 'Replace the AppSecret. The old one stays valid for the grace period, 0 (the default) to 24 h',
    params: tenantParams,
    body: Type.Object({
      grace_s: Type.Optional(Type.Integer({ minimum: 0, maximum: GRACE_MAX_S, default: 0 })),
    }),
    answer: Type.Object({ appSecret: Type.String(), oldValidUntil: nullable(time()) }),
    async handle({ deps, by }, { params, body }) {
      const graceMs = body.grace_s === undefined ? undefined : body.grace_s * 1000
      return resetSecret(deps, params.tenantId, { graceMs }, by)
    },
  }),
]
