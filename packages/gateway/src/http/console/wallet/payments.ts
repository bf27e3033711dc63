import Type, { type Static } from 'typebox'
import { getTenantView } from '#tenants/tenant-views.ts'
import {
  BANK_DETAILS_LENGTH_MAX,
  findPaymentSettings,
  listPaymentSettings,
  PAYMENT_URL_LENGTH_MAX,
  setPaymentSettings,
} from '#wallet/requests/payment-settings.ts'
import {
  getOperatorDetails,
  OPERATOR_DETAILS_LENGTH_MAX,
  setOperatorDetails,
} from '#wallet/statement/operator-details.ts'
import { EVERY_ROLE, OPERATOR_ADMINS, OPERATORS, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, tenantParams } from '../kernel/route-schemas.ts'
import { confirmedRoute } from '../people/confirmed-route.ts'

/** Several lines, without other control characters. */
const lines = (maxLength: number) =>
  nullable(Type.String({ maxLength, pattern: '^[^\\u0000-\\u0009\\u000b-\\u001f\\u007f]*$' }))

const currencyCode = () => Type.String({ pattern: '^[A-Z]{3}$' })
const settings = {
  bankDetails: lines(BANK_DETAILS_LENGTH_MAX),
  paymentUrl: nullable(line(PAYMENT_URL_LENGTH_MAX)),
}
const operatorSettings = { ...settings, secondPersonAbove: nullable(money()) }
const currencySettings = Type.Object({ currencyCode: Type.String(), ...operatorSettings })
export type CurrencyPaymentSettings = Static<typeof currencySettings>

const details = {
  legalName: nullable(line(OPERATOR_DETAILS_LENGTH_MAX.legalName)),
  taxId: nullable(line(OPERATOR_DETAILS_LENGTH_MAX.taxId)),
  address: lines(OPERATOR_DETAILS_LENGTH_MAX.address),
}
const operatorDetails = Type.Object(details)
export type OperatorDetailsView = Static<typeof operatorDetails>

const paymentDetails = Type.Object({ currencyCode: Type.String(), ...settings })
export type PaymentDetails = Static<typeof paymentDetails>

export const paymentRoutes: Route[] = [
  route('GET /payment-settings', {
    access: OPERATORS,
    summary: 'How dealers pay, by currency, and above which amount two people confirm a payment',
    answer: Type.Object({ currencies: Type.Array(currencySettings) }),
    handle: async ({ deps }) => ({ currencies: await listPaymentSettings(deps.db) }),
  }),
  confirmedRoute('PUT /payment-settings/:currencyCode', {
    access: OPERATOR_ADMINS,
    summary: 'Set how dealers of a currency pay. Requires the password: dealers send money there. Audited',
    params: Type.Object({ currencyCode: currencyCode() }, CLOSED),
    body: Type.Object(operatorSettings),
    answer: currencySettings,
    async handle({ deps, by }, { params, body }) {
      const limit = body.secondPersonAbove === null ? null : BigInt(body.secondPersonAbove)
      return setPaymentSettings(deps, { ...params, ...body, secondPersonAbove: limit }, by)
    },
  }),
  route('GET /tenants/:tenantId/payment-details', {
    access: EVERY_ROLE,
    summary: 'How this dealer pays',
    params: tenantParams,
    answer: paymentDetails,
    async handle({ deps }, { params }) {
      const { currencyCode } = await getTenantView(deps, params.tenantId)
      const found = await findPaymentSettings(deps.db, currencyCode)
      return { currencyCode, bankDetails: found?.bankDetails ?? null, paymentUrl: found?.paymentUrl ?? null }
    },
  }),
  route('GET /operator-details', {
    access: OPERATORS,
    summary: 'The operator’s legal details, as statements show them',
    answer: operatorDetails,
    handle: ({ deps }) => getOperatorDetails(deps.db),
  }),
  route('PUT /operator-details', {
    access: OPERATOR_ADMINS,
    summary: 'Set the operator’s legal details. Issued statements keep the earlier ones. Audited',
    body: Type.Object(details, CLOSED),
    answer: operatorDetails,
    handle: ({ deps, by }, { body }) => setOperatorDetails(deps, body, by),
  }),
]
