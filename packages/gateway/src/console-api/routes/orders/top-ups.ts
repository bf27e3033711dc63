import { orderNoOf, PERIOD_NUM_MAX } from '@dealer-esim/contract'
import Type, { type Static } from 'typebox'
import { audit, type By } from '../../../audit/audit.ts'
import { ApiError } from '../../../lib/api-error.ts'
import { findEsimToTopUp } from '../../../profiles/find-to-top-up.ts'
import { listPackagesFor } from '../../../profiles/list-packages.ts'
import { getTenantView } from '../../../tenants/tenant-views.ts'
import { type ConsoleDeps, type Route, route } from '../../kernel/route.ts'
import { CLOSED, money, nullable, profileParams } from '../../kernel/schemas.ts'

const topUpPackage = Type.Object({
  packageCode: Type.String(),
  name: Type.String(),
  price: money(),
  currencyCode: Type.String(),
  periodNumMin: nullable(Type.Integer({ description: 'Of a day pass, which is priced by the day' })),
  periodNumMax: nullable(Type.Integer()),
})
export type TopUpPackage = Static<typeof topUpPackage>

const placedTopUp = Type.Object({
  orderNo: Type.String(),
  orderStatus: Type.String(),
  amount: money(),
  currencyCode: Type.String(),
})

/** Far more than fit one eSIM: coverage and supplier are the same. */
const PAGE_SIZE_MAX = 500

/** The roles that may spend a dealer's balance. */
const BUYERS = ['DEALER_ADMIN', 'DEALER_STAFF'] as const

/** Top-ups by the dealer's own people, exactly as by the dealer API. */
export const topUpRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/tenants/:tenantId/profiles/:profileId/top-up-packages',
    access: BUYERS,
    summary: 'The packages that can be added to an eSIM now, at this dealer’s prices',
    params: profileParams,
    answer: Type.Object({ packages: Type.Array(topUpPackage) }),
    async handle({ deps }, { params: { tenantId, profileId } }) {
      const buyer = await getBuyer(deps, tenantId)
      const request = { type: 'TOPUP' as const, esimTranNo: profileId, pageSize: PAGE_SIZE_MAX }
      const { packageList } = await listPackagesFor(deps, await deps.catalogue.latest(), buyer, request)
      const packages = packageList
        .filter((each) => each.status === 'ON_SALE')
        .map(({ packageCode, name, price, currencyCode, periodNumMin, periodNumMax }) => {
          return { packageCode, name, price, currencyCode, periodNumMin, periodNumMax }
        })
      return { packages }
    },
  }),
  route({
    method: 'POST',
    path: '/tenants/:tenantId/profiles/:profileId/top-ups',
    access: BUYERS,
    summary: 'Top up an eSIM. A repeat with the same transactionId debits nothing. Audited',
    params: profileParams,
    body: Type.Object(
      {
        packageCode: Type.String({ minLength: 1, maxLength: 64 }),
        transactionId: Type.String({ pattern: '^(?!rt-sha256:)[A-Za-z0-9_.:-]{1,64}$' }),
        amount: Type.Integer({ minimum: 0, description: 'Refused if the price has changed' }),
        periodNum: Type.Optional(Type.Integer({ minimum: 1, maximum: PERIOD_NUM_MAX })),
      },
      CLOSED,
    ),
    answer: placedTopUp,
    async handle({ deps, by }, { params: { tenantId, profileId }, body }) {
      const tenant = await getBuyer(deps, tenantId)
      if ((await findEsimToTopUp(deps.db, tenantId, { esimTranNo: profileId })) === undefined)
        throw new ApiError('310403')
      const orderId = deps.ids.uuid()
      await auditTopUp(deps, { tenantId, orderId, profileId, ...body }, by)
      const request = { ...body, esimTranNo: profileId }
      const verdict = await deps.orderPlacer.place({ orderType: 'TOPUP', tenant, request, orderId })
      if (verdict.kind === 'refused') throw new ApiError(verdict.code, verdict.parts)
      const { orderNo, orderStatus, amount, currencyCode } = verdict.answer
      return { orderNo, orderStatus, amount, currencyCode }
    },
  }),
]

/** @throws Refusal for an unknown tenant, ApiError 101005 for a suspended one: its people cannot buy either */
async function getBuyer(deps: Pick<ConsoleDeps, 'db' | 'cipher'>, tenantId: string) {
  const { status, currencyCode } = await getTenantView(deps, tenantId)
  if (status !== 'ACTIVE') throw new ApiError('101005')
  return { tenantId, currencyCode }
}

/** Written before the order, so that no debit by a person lacks an entry; a refused top-up has one too. */
async function auditTopUp(
  deps: Pick<ConsoleDeps, 'db' | 'ids'>,
  { tenantId, orderId, ...after }: { tenantId: string; orderId: string; profileId: string; transactionId: string },
  by: By,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    audit(tx, deps.ids, { tenantId, ...by, action: 'order.top_up_esim', subject: orderNoOf(orderId), after })
  })
}
