import Type, { type Static } from 'typebox'
import type { Tx } from '../../../lib/postgres/db.ts'
import { notFound, Refusal } from '../../../lib/refusal.ts'
import { mailPersonLink } from '../../../mail/queue.ts'
import { welcomeLink } from '../../../people/link.ts'
import { changePerson, dropSecondFactor, invitePerson, makePersonLink } from '../../../people/manage.ts'
import type { Role } from '../../../people/person.ts'
import { lockProven, mayManage, type Person, peopleOf, personById, ROLES } from '../../../people/person.ts'
import { signedOut } from '../../../people/session.ts'
import { signInAgain } from '../../../people/sign-in.ts'
import { getTenantId } from '../../../tenants/tenant-views.ts'
import { type Context, EVERY_ROLE, type Route, route, TENANT_ADMINS } from '../../kernel/route.ts'
import { CLOSED, done, line, nullable, PROOFS_PER_MINUTE, proof, time, uuid } from '../../kernel/schemas.ts'

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

/** Without signs that separate, quote or begin a formula, and without any that a terminal obeys. */
const PLAIN = '[^\\s@;,<>"()=\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]+'
const EMAIL = `^${PLAIN}@${PLAIN}$`

const params = Type.Object({ personId: uuid() }, CLOSED)
const link = Type.Object({
  link: Type.String({ description: 'To hand over; shown this once' }),
  mailed: Type.Boolean({ description: 'It is also sent to the person by e-mail' }),
})

/** Whoever may sign in outlives the session that let them in: one that was stolen must not become lasting. */
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
    summary: 'Invite a person, after the password; answers the link to hand over',
    body: Type.Object(
      {
        ...proof,
        email: Type.String({ maxLength: 254, pattern: EMAIL }),
        name: line(100),
        role: Type.Enum(ROLES),
        tenantId: nullable(uuid()),
      },
      CLOSED,
    ),
    answer: Type.Object({ personId: Type.String(), ...link.properties }),
    ratePerMinute: PROOFS_PER_MINUTE,
    async handle(context, { body: { password, code, ...asked } }) {
      const { deps, person, by, onlyTenant } = context
      if (onlyTenant !== null && asked.tenantId !== onlyTenant) throw notFound('tenant')
      if (!mayManage(person, asked)) throw notTheirs()
      if (asked.tenantId !== null) await getTenantId(deps.db, asked.tenantId)
      return proven(context, { password, code }, async (tx) => {
        const { personId, linkToken } = await invitePerson(tx, deps.ids, asked, by)
        const link = welcomeLink(deps.consoleUrl(), linkToken)
        return { personId, link, mailed: mailPersonLink(tx, deps, asked, { kind: 'INVITATION', link }) }
      })
    },
  }),
  route({
    method: 'PATCH',
    path: '/people/:personId',
    who: TENANT_ADMINS,
    sessionOnly: true,
    summary: "Change a person's name, role or status; the two last after the password",
    params,
    body: Type.Object(
      {
        password: Type.Optional(proof.password),
        code: proof.code,
        name: Type.Optional(line(100)),
        role: Type.Optional(Type.Enum(ROLES)),
        status: Type.Optional(Type.Enum(['ACTIVE', 'DISABLED'])),
      },
      CLOSED,
    ),
    answer: done,
    ratePerMinute: PROOFS_PER_MINUTE,
    async handle(context, { params, body: { password, code, ...asked } }) {
      const { deps, person, by } = context
      const other = await managed(context, params.personId)
      const change = (tx: Tx) => changePerson(tx, deps.ids, other.personId, asked as Change, by)
      if (asked.role === undefined && asked.status === undefined) {
        await deps.db.tx(change)
        return {}
      }
      if (other.personId === person.personId)
        throw new Refusal(422, 'OWN_ACCOUNT', 'You cannot change your own role or disable yourself.')
      if (password === undefined)
        throw new Refusal(422, 'PASSWORD_REQUIRED', 'A role or status changes after your password. Send it, too.')
      await proven(context, { password, code }, change)
      return {}
    },
  }),
  route({
    method: 'POST',
    path: '/people/:personId/link',
    who: TENANT_ADMINS,
    sessionOnly: true,
    summary: 'A new link by which the person chooses a password, after yours; older ones stop working',
    params,
    body: Type.Object(proof, CLOSED),
    answer: link,
    ratePerMinute: PROOFS_PER_MINUTE,
    async handle(context, { params, body }) {
      const { deps, by } = context
      const other = notSelf(context, await managed(context, params.personId))
      return proven(context, body, async (tx) => {
        const { linkToken, kind, person } = await makePersonLink(tx, deps.ids, other.personId, by)
        const link = welcomeLink(deps.consoleUrl(), linkToken)
        return { link, mailed: mailPersonLink(tx, deps, person, { kind, link }) }
      })
    },
  }),
  route({
    method: 'POST',
    path: '/people/:personId/second-factor/remove',
    who: TENANT_ADMINS,
    sessionOnly: true,
    summary: 'Remove the second factor of a person who lost it, after the password',
    params,
    body: Type.Object(proof, CLOSED),
    answer: done,
    ratePerMinute: PROOFS_PER_MINUTE,
    async handle(context, { params, body }) {
      const { deps, by } = context
      const other = notSelf(context, await managed(context, params.personId))
      await proven(context, body, (tx) => dropSecondFactor(tx, deps.ids, other.personId, by))
      return {}
    },
  }),
]

interface Change {
  name?: string
  role?: Role
  status?: Person['status']
}

/** Makes a change once the caller has proved again who they are; nothing comes of a password that was replaced meanwhile. */
async function proven<Result>(
  { deps, person, address }: Context,
  given: { password: string; code?: string | undefined },
  change: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  await signInAgain(deps, person, { ...given, address })
  return deps.db.tx(async (tx) => {
    if (!(await lockProven(tx, person))) throw signedOut()
    return change(tx)
  })
}

/** The person, if the caller may manage them; to a dealer's people everybody else is notFound. */
async function managed({ deps, person, onlyTenant }: Context, personId: string): Promise<Person> {
  const other = await personById(deps.db, personId)
  if (!other || (onlyTenant !== null && other.tenantId !== onlyTenant)) throw notFound('person')
  if (!mayManage(person, other)) throw notTheirs()
  return other
}

/** What the account page asks the password for is not to be had past it by a stolen session. */
function notSelf({ person }: Context, other: Person): Person {
  if (other.personId !== person.personId) return other
  throw new Refusal(422, 'OWN_ACCOUNT', 'Change your own password and second factor on your account page.')
}

function notTheirs(): Refusal {
  return new Refusal(403, 'NOT_ALLOWED', "Only an operator administrator manages the operator's own people.")
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
