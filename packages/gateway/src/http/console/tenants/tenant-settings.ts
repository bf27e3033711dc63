import { QPS_LIMIT_MAX } from '@dealer-esim/contract'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type from 'typebox'
import { isOperator } from '#people/person.ts'
import { ALLOWLIST_ENTRIES_MAX } from '#tenants/allowlist.ts'
import { SELLS_THROUGH } from '#tenants/change-tenant.ts'
import { changeSettings, type SettingsInput, TEXT_LENGTH_MAX } from '#tenants/tenant-settings.ts'
import { EVERY_ROLE, type Route, route, TENANT_ADMINS } from '../kernel/route.ts'
import { CLOSED, money, nullable, tenantParams } from '../kernel/route-schemas.ts'

const text = (member: keyof typeof TEXT_LENGTH_MAX) =>
  Type.Optional(nullable(Type.String({ maxLength: TEXT_LENGTH_MAX[member] })))

/** Settings that a dealer's administrators may change themselves. */
const dealerSettings = {
  ipAllowlist: Type.Optional(Type.Array(Type.String({ maxLength: 60 }), { maxItems: ALLOWLIST_ENTRIES_MAX })),
  lowBalanceThreshold: Type.Optional(nullable(money())),
  sellsThrough: Type.Optional(Type.Enum(SELLS_THROUGH)),
  legalName: text('legalName'),
  taxId: text('taxId'),
  billingAddress: text('billingAddress'),
  billingEmail: text('billingEmail'),
}

/** Settings that only the operator may change, because they cost the operator capacity, credit or safety. */
const operatorSettings = {
  clientName: Type.Optional(Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX.clientName })),
  unsignedRequests: Type.Optional(Type.Boolean()),
  qpsLimit: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: QPS_LIMIT_MAX }))),
  creditLimit: Type.Optional(money()),
  dailySpendLimit: Type.Optional(nullable(money())),
}

export const settingsRoutes: Route[] = [
  route('PATCH /tenants/:tenantId/settings', {
    access: TENANT_ADMINS,
    testMode: 'TWIN',
    summary: 'Change settings. Only the operator may change name, QPS, limits and unsigned requests',
    params: tenantParams,
    body: Type.Object({ ...dealerSettings, ...operatorSettings }, CLOSED),
    async handle({ deps, person, by }, { params, body }) {
      if (!isOperator(person.role) && Object.keys(operatorSettings).some((name) => name in body))
        throw new Refusal(
          403,
          'NOT_ALLOWED',
          'Only the operator can set the name, QPS limit, credit limit, daily spend limit and unsigned requests.',
        )
      const { creditLimit, dailySpendLimit, lowBalanceThreshold, ...rest } = body
      const amounts = { creditLimit, dailySpendLimit, lowBalanceThreshold }
      const input: Record<string, unknown> = { ...rest }
      for (const [name, amount] of Object.entries(amounts)) {
        if (amount !== undefined) input[name] = amount === null ? null : BigInt(amount)
      }
      await changeSettings(deps, params.tenantId, input as SettingsInput, by)
    },
  }),
  route('GET /my-address', {
    access: EVERY_ROLE,
    testMode: 'SAME',
    summary: 'Your address as the gateway sees it',
    answer: Type.Object({ address: Type.String() }),
    handle: async ({ address }) => ({ address }),
  }),
]
