import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { findTwin } from '#operations/twins/find-twin.ts'
import { hasSecondFactor, type Person, ROLES } from '#people/person.ts'
import { isSecondFactorMissing } from '#people/second-factor/required-factor.ts'
import type { SignInMethod } from '#people/session.ts'
import { getOperatorSettings } from '#platform/deployment/operator-options.ts'
import { SELLS_THROUGH } from '#tenants/change-tenant.ts'
import type { ConsoleDeps, SignedIn } from '../kernel/route.ts'
import { EVERY_ROLE, type Route, route } from '../kernel/route.ts'
import { nullable } from '../kernel/route-schemas.ts'

const ownTenant = Type.Object({
  tenantId: Type.String(),
  clientName: Type.String(),
  currencyCode: Type.String(),
  sellsThrough: Type.Enum(SELLS_THROUGH),
})

/** The signed-in person, and the data that pages need before they load anything else. */
export const me = Type.Object({
  personId: Type.String(),
  email: Type.String(),
  name: Type.String(),
  role: Type.Enum(ROLES),
  tenant: nullable(ownTenant),
  passwordChangeRequired: Type.Boolean(),
  secondFactor: Type.Boolean({ description: 'An authenticator or a passkey is set up' }),
  authenticator: Type.Boolean(),
  passkey: Type.Boolean(),
  secondFactorMissing: Type.Boolean({ description: 'The role requires a second factor, which must be set up first' }),
  hasPassword: Type.Boolean({ description: 'False for people who sign in through the provider only' }),
  signedInBy: nullable(Type.Enum(['PASSWORD', 'PASSKEY', 'PROVIDER'])),
  mutedAlerts: Type.Array(Type.String(), { description: 'Kinds of alerts that are not mailed to the person' }),
  language: nullable(Type.String({ description: 'What the person chose: zh-Hans. null: as the browser says' })),
  timeZone: nullable(Type.String({ description: 'What the person chose: Asia/Shanghai. null: as the browser says' })),
  by: Type.Enum(['session', 'token']),
  viewOnly: Type.Boolean({ description: 'An operator views the console as this tenant, and can change nothing' }),
  deployment: Type.Enum(['local', 'test', 'production']),
  /** The address of the dealer API, for the explorer's requests. */
  publicUrl: Type.String(),
  hasTwin: Type.Boolean({ description: 'The tenant has a test twin' }),
  mayCreateTwin: Type.Boolean(),
  isMailPossible: Type.Boolean({ description: 'The gateway has a mail server' }),
  hasCells: Type.Boolean({ description: 'The gateway knows other cells, whose figures the person may see' }),
})
export type Me = Static<typeof me>

export const meRoutes: Route[] = [
  route('GET /session', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary: 'The signed-in person',
    answer: me,
    handle: ({ deps, person, signedIn }) => describeMe(deps, person, signedIn.credential, signedIn.viewedTenantId),
  }),
  route('GET /me', {
    access: EVERY_ROLE,
    testMode: 'SAME',
    summary: 'The person of this access token',
    answer: me,
    handle: ({ deps, person, signedIn }) => describeMe(deps, person, signedIn.credential),
  }),
]

type Credential = Pick<SignedIn['credential'], 'kind'> & { signedInBy?: SignInMethod }

export async function describeMe(
  deps: ConsoleDeps,
  person: Person,
  credential: Credential,
  viewedTenantId: string | null = null,
): Promise<Me> {
  const [tenant] =
    person.tenantId === null
      ? []
      : await deps.db.query<Static<typeof ownTenant>>(sql`
          select tenant_id, tenant_name as client_name, currency_code, sells_through
          from tenants where tenant_id = ${person.tenantId}`)
  const { personId, email, name, role, passwordChangeRequired } = person
  const { signedInBy = null } = credential
  return {
    personId,
    email,
    name,
    role,
    tenant: tenant ?? null,
    passwordChangeRequired,
    secondFactor: hasSecondFactor(person),
    authenticator: person.totpConfirmed,
    passkey: person.hasPasskey,
    secondFactorMissing: isSecondFactorMissing(person, { byProvider: signedInBy === 'PROVIDER' }),
    hasPassword: person.passwordHash !== null,
    signedInBy,
    mutedAlerts: person.mutedAlerts,
    language: person.language,
    timeZone: person.timeZone,
    by: credential.kind,
    viewOnly: viewedTenantId !== null,
    deployment: deps.config.deployment,
    publicUrl: deps.links.publicUrl,
    hasTwin: person.tenantId !== null && (await findTwin(await deps.twins.open(), person.tenantId)) !== undefined,
    mayCreateTwin: await mayCreateTwin(deps, person),
    isMailPossible: deps.config.smtpUrl !== undefined,
    hasCells: person.tenantId === null && deps.config.cellsFile !== undefined,
  }
}

/** Operators who may change things, and dealers' administrators where the operator lets them. */
export async function mayCreateTwin({ db }: Pick<ConsoleDeps, 'db'>, { role }: Pick<Person, 'role'>): Promise<boolean> {
  if (role !== 'DEALER_ADMIN') return role === 'OPERATOR_ADMIN' || role === 'OPERATOR_STAFF'
  return (await getOperatorSettings(db)).twinsByDealers
}
