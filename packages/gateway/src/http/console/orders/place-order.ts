import { LINE_COUNT_MAX, ORDER_LINES_MAX, PERIOD_NUM_MAX, parseRequest } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import Type from 'typebox'
import { handOverOf } from '#orders/traveller.ts'
import { traveller } from '../esims/esims.ts'
import { BUYERS, type Route, route } from '../kernel/route.ts'
import { CLOSED, tenantParams } from '../kernel/route-schemas.ts'
import { getActiveBuyer, placedOrder, placeForPerson, transactionId } from './buyer.ts'

/** Bounds the orders from a page with a stuck key. */
const ORDERS_PER_MINUTE = 60

const bought = Type.Object(
  {
    packageCode: Type.String({ minLength: 1, maxLength: 64 }),
    count: Type.Integer({ minimum: 1, maximum: LINE_COUNT_MAX }),
    periodNum: Type.Optional(Type.Integer({ minimum: 1, maximum: PERIOD_NUM_MAX })),
  },
  CLOSED,
)

/** Orders by the dealer's own people, exactly as by the dealer API. */
export const placeOrderRoutes: Route[] = [
  route('POST /tenants/:tenantId/orders', {
    access: BUYERS,
    testMode: 'TWIN',
    summary: 'Buy eSIMs. A repeat with the same transactionId debits nothing. Audited',
    params: tenantParams,
    body: Type.Object(
      {
        transactionId: transactionId(),
        packageInfoList: Type.Array(bought, { minItems: 1, maxItems: ORDER_LINES_MAX }),
        amount: Type.Integer({ minimum: 0, description: 'Refused if the total has changed' }),
        deliverTo: Type.Optional(
          Type.Object(traveller, {
            ...CLOSED,
            description: 'Gets the eSIM of each line by e-mail once it is there. Each line then has count 1',
          }),
        ),
      },
      CLOSED,
    ),
    ratePerMinute: ORDERS_PER_MINUTE,
    answer: placedOrder,
    async handle({ deps, by }, { params, body }) {
      const tenant = await getActiveBuyer(deps, params.tenantId)
      const { deliverTo, ...order } = body
      const packageInfoList = order.packageInfoList.map((line) => ({ ...line, ...(deliverTo && { deliverTo }) }))
      const parsed = parseRequest('esim/order', { ...order, packageInfoList })
      if (!parsed.ok) throw new ApiError(parsed.code, { details: parsed.details })
      const request = parsed.value
      // The schema above has no such member.
      if (request.validateOnly) throw new Error('a purchase on the console cannot be a dry run')
      const handOver = await handOverOf(deps, params.tenantId, request.packageInfoList)
      const input = { tenant, request, orderId: deps.ids.uuid(), ...(handOver && { handOver }) }
      // Without the traveller: the log is read by more people, and kept for longer.
      return placeForPerson(deps, input, { action: 'order.place', after: order }, by)
    },
  }),
]
