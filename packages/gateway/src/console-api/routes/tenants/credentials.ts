import Type from 'typebox'
import { signInAgain } from '../../../people/sign-in.ts'
import { GRACE_MAX_MS, resetSecret, viewSecret } from '../../../tenants/secret.ts'
import { type Route, route, TENANT_ADMINS } from '../../kernel/route.ts'
import { CLOSED, nullable, PROOFS_PER_MINUTE, proof, tenantParams, time } from '../../kernel/schemas.ts'

const GRACE_MAX_S = GRACE_MAX_MS / 1000

/** Whoever sees or replaces a secret proves first who they are: a stolen session must not be enough. */
export const credentialRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/tenants/:tenantId/secret/view',
    who: TENANT_ADMINS,
    sessionOnly: true,
    summary: 'Show the current AppSecret; audited',
    params: tenantParams,
    body: Type.Object(proof, CLOSED),
    answer: Type.Object({ appSecret: Type.String() }),
    ratePerMinute: PROOFS_PER_MINUTE,
    async handle({ deps, person, by, address }, { params, body }) {
      await signInAgain(deps, person, { ...body, address })
      return { appSecret: await viewSecret(deps, params.tenantId, by) }
    },
  }),
  route({
    method: 'POST',
    path: '/tenants/:tenantId/secret/reset',
    who: TENANT_ADMINS,
    sessionOnly: true,
    summary: 'Replace the AppSecret; the old one verifies for the grace period, 0 (the default) to 24 h',
    params: tenantParams,
    body: Type.Object(
      { ...proof, grace_s: Type.Optional(Type.Integer({ minimum: 0, maximum: GRACE_MAX_S, default: 0 })) },
      CLOSED,
    ),
    answer: Type.Object({ appSecret: Type.String(), oldValidUntil: nullable(time()) }),
    ratePerMinute: PROOFS_PER_MINUTE,
    async handle({ deps, person, by, address }, { params, body }) {
      await signInAgain(deps, person, { ...body, address })
      const graceMs = body.grace_s === undefined ? undefined : body.grace_s * 1000
      return resetSecret(deps, params.tenantId, { graceMs }, by)
    },
  }),
]
