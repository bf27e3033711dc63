import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Person, ROLES } from '../../../people/person.ts'
import type { ConsoleDeps } from '../../kernel/route.ts'
import { EVERY_ROLE, type Route, route } from '../../kernel/route.ts'
import { nullable } from '../../kernel/schemas.ts'

/** The signed-in person, and what the pages need before they load anything else. */
export const me = Type.Object({
  personId: Type.String(),
  email: Type.String(),
  name: Type.String(),
  role: Type.Enum(ROLES),
  tenant: nullable(Type.Object({ tenantId: Type.String(), clientName: Type.String(), currencyCode: Type.String() })),
  passwordChangeRequired: Type.Boolean(),
  secondFactor: Type.Boolean(),
  by: Type.Enum(['session', 'token']),
  deployment: Type.Enum(['local', 'test', 'production']),
  /** The address of the dealer API, for the explorer's requests. */
  publicUrl: Type.String(),
})
export type Me = Static<typeof me>

export const meRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/session',
    access: 'session',
    summary: 'The signed-in person',
    answer: me,
    handle: ({ deps, person, signedIn }) => describeMe(deps, person, signedIn.credential.kind),
  }),
  route({
    method: 'GET',
    path: '/me',
    access: EVERY_ROLE,
    summary: 'The person of this access token',
    answer: me,
    handle: ({ deps, person, signedIn }) => describeMe(deps, person, signedIn.credential.kind),
  }),
]

export async function describeMe(deps: ConsoleDeps, person: Person, by: 'session' | 'token'): Promise<Me> {
  const [tenant] =
    person.tenantId === null
      ? []
      : await deps.db.query<{ tenantId: string; clientName: string; currencyCode: string }>(sql`
          select tenant_id, tenant_name as client_name, currency_code
          from tenants where tenant_id = ${person.tenantId}`)
  const { personId, email, name, role, passwordChangeRequired } = person
  return {
    personId,
    email,
    name,
    role,
    tenant: tenant ?? null,
    passwordChangeRequired,
    secondFactor: person.totpConfirmed,
    by,
    deployment: deps.config.deployment,
    publicUrl: deps.links.publicUrl,
  }
}
