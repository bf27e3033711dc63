import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { mailPersonLink } from '#alerts/mail/mail-queue.ts'
import { languageOf } from '#people/languages/people-language.ts'
import { changePerson, createPersonLink, invitePerson, removePersonSecondFactor } from '#people/manage-people.ts'
import {
  ADDRESS_LENGTH_MAX,
  ADDRESS_PATTERN,
  findPerson,
  hasSecondFactor,
  type ListedPerson,
  listPeople,
  lockUnchanged,
  mayManage,
  type Person,
  ROLES,
  type Role,
} from '#people/person.ts'
import { welcomeLink } from '#people/personal-link.ts'
import { unlinkProvider } from '#people/provider/provider-account.ts'
import { notSignedIn } from '#people/session.ts'
import { type Reauthentication, reauthenticate } from '#people/sign-in.ts'
import { getTenantId } from '#tenants/tenant-views.ts'
import { csvRoute, inOnePart } from '../kernel/csv-route.ts'
import { type Context, EVERY_ROLE, type Route, route, TENANT_ADMINS } from '../kernel/route.ts'
import {
  CLOSED,
  line,
  nullable,
  REAUTHENTICATIONS_PER_MINUTE,
  reauthentication,
  time,
  uuid,
} from '../kernel/route-schemas.ts'
import { sessionCredential } from './sign-in.ts'

const personRow = Type.Object({
  personId: Type.String(),
  tenantId: nullable(Type.String()),
  email: Type.String(),
  name: Type.String(),
  role: Type.Enum(ROLES),
  status: Type.Enum(['ACTIVE', 'DISABLED']),
  invited: Type.Boolean({ description: 'Has not chosen a password yet' }),
  secondFactor: Type.Boolean({ description: 'An authenticator or a passkey is set up' }),
  hasProviderAccount: Type.Boolean({ description: 'Linked to an account at the sign-in provider' }),
  lastSignInAt: nullable(time()),
  createdAt: time(),
})

export type PersonRow = Static<typeof personRow>

const params = Type.Object({ personId: uuid() }, CLOSED)
const filters = Type.Object({ tenantId: Type.Optional(uuid()) }, CLOSED)
const link = Type.Object({
  link: Type.String({ description: 'To pass on. Shown only once' }),
  mailed: Type.Boolean({ description: 'The link is also sent to the person by e-mail' }),
})

/** Changes to access require the password, so that a stolen session cannot become permanent access. */
export const peopleRoutes: Route[] = [
  route('GET /people', {
    access: EVERY_ROLE,
    summary: "The operator's people, or those of a tenant",
    query: filters,
    answer: Type.Object({ people: Type.Array(personRow) }),
    handle: async (context, { query }) => ({ people: await listRows(context, query) }),
  }),
  csvRoute({
    path: '/people.csv',
    access: EVERY_ROLE,
    summary: "The operator's people, or those of a tenant, as CSV",
    query: filters,
    file: 'people',
    parts: (context, { query }) => inOnePart(listRows(context, query)),
    columns: {
      name: (row) => row.name,
      email: (row) => row.email,
      role: (row) => row.role,
      status: (row) => (row.invited && row.status === 'ACTIVE' ? 'INVITED' : row.status),
      secondFactor: (row) => row.secondFactor,
      lastSignInAt: (row) => row.lastSignInAt,
      createdAt: (row) => row.createdAt,
      id: (row) => row.personId,
    },
  }),
  route('POST /people', {
    access: TENANT_ADMINS,
    sessionOnly: true,
    summary: 'Invite a person. Requires the password. Returns the link to pass on',
    body: Type.Object(
      {
        ...reauthentication,
        email: Type.String({ maxLength: ADDRESS_LENGTH_MAX, pattern: ADDRESS_PATTERN }),
        name: line(100),
        role: Type.Enum(ROLES),
        tenantId: nullable(uuid()),
      },
      CLOSED,
    ),
    answer: Type.Object({ personId: Type.String(), ...link.properties }),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    async handle(context, { body: { password, code, confirmation, ...input } }) {
      const { deps, person, by, onlyTenant, request } = context
      const { tag: language } = languageOf(request)
      if (onlyTenant !== null && input.tenantId !== onlyTenant) throw notFound('tenant')
      if (!mayManage(person, input)) throw mayNotManage()
      if (input.tenantId !== null) await getTenantId(deps.db, input.tenantId)
      return reauthenticated(context, { password, code, confirmation }, async (tx) => {
        const { personId, linkToken } = await invitePerson(tx, deps.ids, input, by)
        const link = welcomeLink(deps.consoleUrl(), linkToken)
        return { personId, link, mailed: mailPersonLink(tx, deps, input, { kind: 'INVITATION', link, language }) }
      })
    },
  }),
  route('PATCH /people/:personId', {
    access: TENANT_ADMINS,
    sessionOnly: true,
    summary: "Change a person's name, role or status. Role and status require the password",
    params,
    body: Type.Object(
      {
        ...reauthentication,
        name: Type.Optional(line(100)),
        role: Type.Optional(Type.Enum(ROLES)),
        status: Type.Optional(Type.Enum(['ACTIVE', 'DISABLED'])),
      },
      CLOSED,
    ),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    async handle(context, { params, body: { password, code, confirmation, ...input } }) {
      const { deps, person, by } = context
      const other = await getManaged(context, params.personId)
      const change = (tx: Tx) => changePerson(tx, deps.ids, other.personId, input as Change, by)
      if (input.role === undefined && input.status === undefined) {
        await deps.db.tx(change)
        return
      }
      if (other.personId === person.personId)
        throw new Refusal(422, 'OWN_ACCOUNT', 'You cannot change your own role or disable your own account.')
      await reauthenticated(context, { password, code, confirmation }, change)
    },
  }),
  route('POST /people/:personId/link', {
    access: TENANT_ADMINS,
    sessionOnly: true,
    summary: 'Create a link with which the person chooses a password. Requires your password. Older links stop working',
    params,
    body: Type.Object(reauthentication, CLOSED),
    answer: link,
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    async handle(context, { params, body }) {
      const { deps, by, request } = context
      const { tag: language } = languageOf(request)
      const other = exceptSelf(context, await getManaged(context, params.personId))
      return reauthenticated(context, body, async (tx) => {
        const { linkToken, kind, person } = await createPersonLink(tx, deps.ids, other.personId, by)
        const link = welcomeLink(deps.consoleUrl(), linkToken)
        return { link, mailed: mailPersonLink(tx, deps, person, { kind, link, language }) }
      })
    },
  }),
  route('POST /people/:personId/second-factor/remove', {
    access: TENANT_ADMINS,
    sessionOnly: true,
    summary: 'Remove the second factor of a person who lost it. Requires your password',
    params,
    body: Type.Object(reauthentication, CLOSED),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    async handle(context, { params, body }) {
      const { deps, by } = context
      const other = exceptSelf(context, await getManaged(context, params.personId))
      await reauthenticated(context, body, (tx) => removePersonSecondFactor(tx, deps.ids, other.personId, by))
    },
  }),
  route('POST /people/:personId/provider/unlink', {
    access: TENANT_ADMINS,
    sessionOnly: true,
    summary:
      'Unlink a person from their account at the sign-in provider, and end the sessions that began there. The next sign-in links that of their address. Requires your password',
    params,
    body: Type.Object(reauthentication, CLOSED),
    answer: Type.Object({ unlinked: Type.Integer() }),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    async handle(context, { params, body }) {
      const { deps, by } = context
      const other = exceptSelf(context, await getManaged(context, params.personId))
      return {
        unlinked: await reauthenticated(context, body, (tx) => unlinkProvider(tx, deps.ids, other.personId, by)),
      }
    },
  }),
]

interface Change {
  name?: string
  role?: Role
  status?: Person['status']
}

/** Makes a change after the caller's password has been verified, unless the password changes in between. */
async function reauthenticated<Result>(
  { deps, person, signedIn, address }: Context,
  credentials: Omit<Reauthentication, 'sessionId'>,
  change: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  await reauthenticate(deps, person, { ...credentials, ...sessionCredential(signedIn), address })
  return deps.db.tx(async (tx) => {
    if (!(await lockUnchanged(tx, person))) throw notSignedIn()
    return change(tx)
  })
}

/** Gets a person whom the caller may manage. Other organisations do not exist for a dealer's people. */
async function getManaged({ deps, person, onlyTenant }: Context, personId: string): Promise<Person> {
  const other = await findPerson(deps.db, personId)
  if (!other || (onlyTenant !== null && other.tenantId !== onlyTenant)) throw notFound('person')
  if (!mayManage(person, other)) throw mayNotManage()
  return other
}

/** The account page has its own rules for these changes, which must not be bypassed here. */
function exceptSelf({ person }: Context, other: Person): Person {
  if (other.personId !== person.personId) return other
  throw new Refusal(422, 'OWN_ACCOUNT', 'Change your own password and second factor on your account page.')
}

function mayNotManage(): Refusal {
  return new Refusal(403, 'NOT_ALLOWED', "Only an operator administrator may manage the operator's people.")
}

async function listRows({ deps, onlyTenant }: Context, { tenantId }: { tenantId?: string }) {
  return (await listPeople(deps.db, onlyTenant ?? tenantId ?? null)).map(asRow)
}

function asRow(person: ListedPerson) {
  const { personId, tenantId, email, name, role, status } = person
  return {
    personId,
    tenantId,
    email,
    name,
    role,
    status,
    invited: person.passwordHash === null,
    secondFactor: hasSecondFactor(person),
    hasProviderAccount: person.hasProviderAccount,
    lastSignInAt: person.lastSignInAt,
    createdAt: person.createdAt,
  }
}
