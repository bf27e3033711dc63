import { QPS_LIMIT_MAX } from '@dealer-esim/contract'
import Type from 'typebox'
import { Refusal } from '../../../lib/refusal.ts'
import { isOperator } from '../../../people/person.ts'
import { ALLOWLIST_ENTRIES_MAX } from '../../../tenants/allowlist.ts'
import { changeSettings, type SettingsInput, TEXT_LENGTH_MAX } from '../../../tenants/settings.ts'
import { EVERY_ROLE, type Route, route, TENANT_ADMINS } from '../../kernel/route.ts'
import { CLOSED, done, money, nullable, tenantParams } from '../../kernel/schemas.ts'

const text = (member: keyof typeof TEXT_LENGTH_MAX) =>
  Type.Optional(nullable(Type.String({ maxLength: TEXT_LENGTH_MAX[member] })))

/** What a dealer's administrator decides alone. */
const own = {
  ipAllowlist: Type.Optional(Type.Array(Type.String({ maxLength: 60 }), { maxItems: ALLOWLIST_ENTRIES_MAX })),
  lowBalanceThreshold: Type.Optional(nullable(money())),
  legalName: text('legalName'),
  taxId: text('taxId'),
  billingAddress: text('billingAddress'),
  billingEmail: text('billingEmail'),
}

/** What costs the operator capacity or credit, and is the operator's word. */
const operators = {
  clientName: Type.Optional(Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX.clientName })),
  qpsLimit: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: QPS_LIMIT_MAX }))),
  creditLimit: Type.Optional(money()),
  dailySpendLimit: Type.Optional(nullable(money())),
}

export const settingsRoutes: Route[] = [
  route({
    method: 'PATCH',
    path: '/tenants/:tenantId/settings',
    who: TENANT_ADMINS,
    summary: "Change settings; name, QPS and limits are the operator's to change",
    params: tenantParams,
    body: Type.Object({ ...own, ...operators }, CLOSED),
    answer: done,
    async handle({ deps, person, by }, { params, body }) {
      if (!isOperator(person.role) && Object.keys(operators).some((name) => name in body))
        throw new Refusal(403, 'NOT_ALLOWED', 'Name, QPS limit, credit limit and spend limit are set by the operator.')
      const { creditLimit, dailySpendLimit, lowBalanceThreshold, ...rest } = body
      const amounts = { creditLimit, dailySpendLimit, lowBalanceThreshold }
      const wish: Record<string, unknown> = { ...rest }
      for (const [name, amount] of Object.entries(amounts)) {
        if (amount !== undefined) wish[name] = amount === null ? null : BigInt(amount)
      }
      await changeSettings(deps, params.tenantId, wish as SettingsInput, by)
      return {}
    },
  }),
  route({
    method: 'GET',
    path: '/my-address',
    who: EVERY_ROLE,
    summary: 'The address that the gateway sees you at',
    answer: Type.Object({ address: Type.String() }),
    handle: async ({ address }) => ({ address }),
  }),
]
