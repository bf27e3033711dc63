import { ORDER_STATUSES, orderNoOf, PERIOD_NUM_MAX } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { findEsimToTopUp, listPackagesFor } from '#esims/list-fitting-packages.ts'
import { searchProfiles } from '#esims/search-profiles.ts'
import { listTopUpsOf } from '#orders/reading/top-ups-of-esim.ts'
import { BUYERS, EVERY_ROLE, type Route, route } from '../kernel/route.ts'
import { CLOSED, entryNo, money, nullable, profileParams, time } from '../kernel/route-schemas.ts'
import { getActiveBuyer, placedOrder, placeForPerson, transactionId } from '../orders/buyer.ts'

const topUpPackage = Type.Object({
  packageCode: Type.String(),
  name: Type.String(),
  price: money(),
  currencyCode: Type.String(),
  periodNumMin: nullable(Type.Integer({ description: 'Of a day pass, which is priced by the day' })),
  periodNumMax: nullable(Type.Integer()),
})
export type TopUpPackage = Static<typeof topUpPackage>

const esimTopUp = Type.Object({
  orderNo: Type.String(),
  entryNo: entryNo(),
  packageName: Type.String(),
  periodNum: nullable(Type.Integer()),
  orderStatus: Type.Enum(ORDER_STATUSES),
  amount: money(),
  refundedAmount: money(),
  currencyCode: Type.String(),
  createdAt: time(),
})
export type EsimTopUp = Static<typeof esimTopUp>

/** Far more than fit any one eSIM, because coverage and supplier must match. */
const PAGE_SIZE_MAX = 500

/** Top-ups by the dealer's own people, exactly as through the dealer API. */
export const topUpRoutes: Route[] = [
  route('GET /tenants/:tenantId/profiles/:profileId/top-ups', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'The latest top-ups of an eSIM, newest first',
    params: profileParams,
    answer: Type.Object({ topUps: Type.Array(esimTopUp) }),
    async handle({ deps }, { params }) {
      const [
        {
          profiles: [profile],
        },
        topUps,
      ] = await Promise.all([searchProfiles(deps.db, params, { limit: 1 }), listTopUpsOf(deps.db, params)])
      if (!profile) throw notFound('eSIM')
      return { topUps: topUps.map(({ orderId, ...row }) => ({ ...row, orderNo: orderNoOf(orderId) })) }
    },
  }),
  route('GET /tenants/:tenantId/profiles/:profileId/top-up-packages', {
    access: BUYERS,
    testMode: 'TWIN',
    summary: 'The packages that can be added to an eSIM now, at this dealer’s prices',
    params: profileParams,
    answer: Type.Object({ packages: Type.Array(topUpPackage) }),
    async handle({ deps }, { params: { tenantId, profileId } }) {
      const buyer = await getActiveBuyer(deps, tenantId)
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
  route('POST /tenants/:tenantId/profiles/:profileId/top-ups', {
    access: BUYERS,
    testMode: 'TWIN',
    summary: 'Top up an eSIM. A repeat with the same transactionId debits nothing. Audited',
    params: profileParams,
    body: Type.Object(
      {
        packageCode: Type.String({ minLength: 1, maxLength: 64 }),
        transactionId: transactionId(),
        amount: Type.Integer({ minimum: 0, description: 'Refused if the price has changed' }),
        periodNum: Type.Optional(Type.Integer({ minimum: 1, maximum: PERIOD_NUM_MAX })),
      },
      CLOSED,
    ),
    answer: placedOrder,
    async handle({ deps, by }, { params: { tenantId, profileId }, body }) {
      const tenant = await getActiveBuyer(deps, tenantId)
      if ((await findEsimToTopUp(deps.db, tenantId, { esimTranNo: profileId })) === undefined)
        throw new ApiError('310403')
      const request = { ...body, esimTranNo: profileId }
      const input = { orderType: 'TOPUP' as const, tenant, request, orderId: deps.ids.uuid() }
      return placeForPerson(deps, input, { action: 'order.top_up_esim', after: { profileId, ...body } }, by)
    },
  }),
]
