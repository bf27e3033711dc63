import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import Type from 'typebox'
import { hasSecondFactor, ROLES } from '#people/person.ts'
import { listRequiredRoles, requireSecondFactor } from '#people/second-factor/required-factor.ts'
import { reauthenticate } from '#people/sign-in.ts'
import { OPERATOR_ADMINS, OPERATORS, type Route, route } from '../kernel/route.ts'
import { CLOSED, REAUTHENTICATIONS_PER_MINUTE, reauthentication } from '../kernel/route-schemas.ts'
import { sessionCredential } from './sign-in.ts'

export const secondFactorRoutes: Route[] = [
  route('GET /second-factors', {
    access: OPERATORS,
    summary: 'For each role, whether its people must have a second factor',
    answer: Type.Object({ roles: Type.Array(Type.Object({ role: Type.Enum(ROLES), required: Type.Boolean() })) }),
    async handle({ deps }) {
      const required = await listRequiredRoles(deps.db)
      return { roles: ROLES.map((role) => ({ role, required: required.includes(role) })) }
    },
  }),
  route('PUT /second-factors/:role', {
    access: OPERATOR_ADMINS,
    sessionOnly: true,
    summary: 'Require a second factor for a role, or stop requiring it. Requires your password',
    params: Type.Object({ role: Type.String({ maxLength: 40 }) }, CLOSED),
    body: Type.Object({ ...reauthentication, required: Type.Boolean() }, CLOSED),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    async handle({ deps, person, signedIn, by, address }, { params, body: { required, ...credentials } }) {
      const role = ROLES.find((known) => known === params.role)
      if (!role) throw notFound('role')
      await reauthenticate(deps, person, { ...credentials, ...sessionCredential(signedIn), address })
      // Before administrators require a second factor for their own role, they must have one themselves.
      if (required && role === person.role && !hasSecondFactor(person))
        throw new Refusal(409, 'SECOND_FACTOR_MISSING', 'Set up your own second factor first, on your account page.')
      await deps.db.tx(async (tx) => requireSecondFactor(tx, deps.ids, role, required, by))
    },
  }),
]
