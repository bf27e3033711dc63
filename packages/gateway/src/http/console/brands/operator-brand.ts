import Type, { type Static } from 'typebox'
import { brandMembers } from '#brands/brand-members.ts'
import { getOperatorBrand } from '#brands/list-brands.ts'
import { putOperatorBrand } from '#brands/put-brand.ts'
import { OPERATOR_ADMINS, OPERATORS, type Route, route } from '../kernel/route.ts'
import { CLOSED } from '../kernel/route-schemas.ts'
import { BODY_SIZE_MAX_BYTES, brandView, changeOf, LARGE_BODY_ADVICE, pictures } from './brands.ts'

const operatorBrand = Type.Object({
  ...brandView.properties,
  isSet: Type.Boolean({ description: 'Somebody has named it; else the name is the legal one' }),
})
export type OperatorBrandView = Static<typeof operatorBrand>

export const operatorBrandRoutes: Route[] = [
  route('GET /operator-brand', {
    access: OPERATORS,
    summary: 'The operator’s brand: its console, and its mails to people',
    answer: operatorBrand,
    handle: ({ deps }) => getOperatorBrand(deps.db),
  }),
  route('PUT /operator-brand', {
    access: OPERATOR_ADMINS,
    summary:
      'Set the operator’s brand. Its name, address, phone and hours are what dealers see as the contact. Audited',
    body: Type.Object({ ...brandMembers, pictures }, CLOSED),
    limit: 'upload',
    bodyLimit: BODY_SIZE_MAX_BYTES,
    largeBodyAdvice: LARGE_BODY_ADVICE,
    handle: ({ deps, by }, { body }) => putOperatorBrand(deps, changeOf(body), by),
  }),
]
