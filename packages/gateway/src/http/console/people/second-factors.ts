import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import Type from 'typebox'
import { hasSecondFactor, ROLES } from '#people/person.ts'
import { listRequiredRoles, requireSecondFactor } from '#people/second-factor/required-factor.ts'
import { OPERATOR_ADMINS, OPERATORS, type Route, route } from '../kernel/route.ts'
import { CLOSED } from '../kernel/route-schemas.ts'
import { confirmedRoute } from './confirmed-route.ts'

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
  confirmedRoute('PUT /second-factors/:role', {
    access: OPERATOR_ADMINS,
    summary: 'Require a second factor for a role, or stop requiring it. Requires your password',
    params: Type.Object({ role: Type.String({ maxLength: 40 }) }, CLOSED),
    body: Type.Object({ required: Type.Boolean() }),
    async handle({ deps, person, by }, { params, body: { required } }) {
      const role = ROLES.find((known) => known === params.role)
      if (!role) throw notFound('role')
      // Before administrators require a second factor for their own role, they must have one themselves.
      if (required && role === person.role && !hasSecondFactor(person))
        throw new Refusal(409, 'SECOND_FACTOR_MISSING', 'Set up your own second factor first, on your account page.')
      await deps.db.tx(async (tx) => requireSecondFactor(tx, deps.ids, role, required, by))
    },
  }),
]
