import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { absent, Refusal } from '../lib/refusal.ts'
import { mailPersonLink } from '../mail/person-link.ts'
import { changePerson, dropSecondFactor, invitePerson, makePersonLink } from '../people/manage.ts'
import { type Person, peopleOf, personById } from '../people/person.ts'
import { mayManage, ROLES, type Role } from '../people/role.ts'
import { type Context, EVERY_ROLE, type Route, route, TENANT_ADMINS } from './route.ts'
import { CLOSED, done, line, nullable, time, uuid } from './schemas.ts'

const personRow = Type.Object({
  personId: Type.String(),
  tenantId: nullable(Type.String()),
  email: Type.String(),
  name: Type.String(),
  role: Type.Enum(ROLES),
  status: Type.Enum(['ACTIVE', 'DISABLED']),
  invited: Type.Boolean({ description: 'Has not chosen a password yet' }),
  secondFactor: Type.Boolean(),
  lastSignInAt: nullable(time()),
  createdAt: time(),
})

export type PersonRow = Static<typeof personRow>

const params = Type.Object({ personId: uuid() }, CLOSED)
const link = Type.Object({
  link: Type.String({ description: 'To hand over; shown this once' }),
  mailed: Type.Boolean({ description: 'It is also sent to the person by e-mail' }),
})

export const peopleRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/people',
    who: EVERY_ROLE,
    summary: "The operator's people, or those of a tenant",
    query: Type.Object({ tenantId: Type.Optional(uuid()) }, CLOSED),
    answer: Type.Object({ people: Type.Array(personRow) }),
    async handle({ deps, onlyTenant }, { query }) {
      const people = await peopleOf(deps.db, onlyTenant ?? query.tenantId ?? null)
      return { people: people.map(asRow) }
    },
  }),
  route({
    method: 'POST',
    path: '/people',
    who: TENANT_ADMINS,
    sessionOnly: true,
    summary: 'Invite a person; answers the link to hand over',
    body: Type.Object(
      {
        email: Type.String({ maxLength: 254, pattern: '^[^\\s@]+@[^\\s@]+$' }),
        name: line(100),
        role: Type.Enum(ROLES),
        tenantId: nullable(uuid()),
      },
      CLOSED,
    ),
    answer: Type.Object({ personId: Type.String(), ...link.properties }),
    async handle({ deps, person, by, onlyTenant }, { body }) {
      if (onlyTenant !== null && body.tenantId !== onlyTenant) throw absent('tenant')
      if (!mayManage(person, body)) throw notTheirs()
      if (body.tenantId !== null) await mustExist(deps, body.tenantId)
      return deps.db.tx(async (tx) => {
        const { personId, linkToken } = await invitePerson(tx, deps.ids, by, body)
        const link = linkOf(deps, linkToken)
        return { personId, link, mailed: mailPersonLink(tx, deps, body, { kind: 'INVITATION', link }) }
      })
    },
  }),
  route({
    method: 'PATCH',
    path: '/people/:personId',
    who: TENANT_ADMINS,
    sessionOnly: true,
    summary: "Change a person's name, role or status",
    params,
    body: Type.Object(
      {
        name: Type.Optional(line(100)),
        role: Type.Optional(Type.Enum(ROLES)),
        status: Type.Optional(Type.Enum(['ACTIVE', 'DISABLED'])),
      },
      CLOSED,
    ),
    answer: done,
    async handle(context, { params, body }) {
      const { deps, person, by } = context
      const other = await managed(context, params.personId)
      if (other.personId === person.personId && (body.role || body.status))
        throw new Refusal(422, 'OWN_ACCOUNT', 'You cannot change your own role or disable yourself.')
      await deps.db.tx((tx) => changePerson(tx, deps.ids, by, other.personId, body as Change))
      return {}
    },
  }),
  route({
    method: 'POST',
    path: '/people/:personId/link',
    who: TENANT_ADMINS,
    sessionOnly: true,
    summary: 'A new link by which the person chooses a password; older ones stop working',
    params,
    answer: link,
    async handle(context, { params }) {
      const { deps, by } = context
      const other = notSelf(context, await managed(context, params.personId))
      return deps.db.tx(async (tx) => {
        const { linkToken, kind, person } = await makePersonLink(tx, deps.ids, by, other.personId)
        const link = linkOf(deps, linkToken)
        return { link, mailed: mailPersonLink(tx, deps, person, { kind, link }) }
      })
    },
  }),
  route({
    method: 'DELETE',
    path: '/people/:personId/second-factor',
    who: TENANT_ADMINS,
    sessionOnly: true,
    summary: 'Remove the second factor of a person who lost it',
    params,
    answer: done,
    async handle(context, { params }) {
      const { deps, by } = context
      const other = notSelf(context, await managed(context, params.personId))
      await deps.db.tx((tx) => dropSecondFactor(tx, deps.ids, by, other.personId))
      return {}
    },
  }),
]

interface Change {
  name?: string
  role?: Role
  status?: Person['status']
}

/** The person, if the caller may manage them; to a dealer's people everybody else is absent. */
async function managed({ deps, person, onlyTenant }: Context, personId: string): Promise<Person> {
  const other = await personById(deps.db, personId)
  if (!other || (onlyTenant !== null && other.tenantId !== onlyTenant)) throw absent('person')
  if (!mayManage(person, other)) throw notTheirs()
  return other
}

/** What the account page asks the password for is not to be had past it by a stolen session. */
function notSelf({ person }: Context, other: Person): Person {
  if (other.personId !== person.personId) return other
  throw new Refusal(422, 'OWN_ACCOUNT', 'Change your own password and second factor on your account page.')
}

async function mustExist(deps: Context['deps'], tenantId: string): Promise<void> {
  const rows = await deps.db.query(sql`select 1 from tenants where tenant_id = ${tenantId}`)
  if (rows.length === 0) throw absent('tenant')
}

function notTheirs(): Refusal {
  return new Refusal(403, 'NOT_ALLOWED', "Only an operator administrator manages the operator's own people.")
}

/** The token stands after `#`: browsers do not send that part, so it never reaches a server's log. */
function linkOf(deps: Context['deps'], token: string): string {
  return `${deps.consoleUrl()}/welcome#${token}`
}

function asRow(person: Person) {
  const { personId, tenantId, email, name, role, status } = person
  return {
    personId,
    tenantId,
    email,
    name,
    role,
    status,
    invited: person.passwordHash === null,
    secondFactor: person.totpConfirmed,
    lastSignInAt: person.lastSignInAt,
    createdAt: person.createdAt,
  }
}
