import Type, { type Static } from 'typebox'
import { LINE_COUNT_MAX, ORDER_ESIMS_MAX, ORDER_LINES_MAX, REMARK_LENGTH_MAX } from '../limits.ts'
import { ORDER_STATUSES } from './enumerations.ts'
import { profile } from './profiles.ts'
import {
  CLOSED,
  currencyCode,
  money,
  name,
  nullable,
  price,
  quantity,
  time,
  transactionId,
  transactionIdOfOrder,
} from './scalars.ts'
import { TEXT_PATTERNS } from './text-patterns.ts'

export const orderLineRequest = Type.Object(
  {
    packageCode: name({ examples: ['JP_1_7'] }),
    count: Type.Integer({ minimum: 1, maximum: LINE_COUNT_MAX }),
    price: Type.Optional(
      price({ description: 'Guard: the expected price of one eSIM; if the price differs, nothing is bought' }),
    ),
  },
  CLOSED,
)
export type OrderLineRequest = Static<typeof orderLineRequest>

export const orderRequest = Type.Object(
  {
    transactionId: transactionId(),
    packageInfoList: Type.Array(orderLineRequest, {
      minItems: 1,
      maxItems: ORDER_LINES_MAX,
      description: `At most ${ORDER_ESIMS_MAX} eSIMs in total, and no package twice.`,
    }),
    amount: Type.Optional(price({ description: 'Guard: the expected total; if the total differs, nothing is bought' })),
    remark: Type.Optional(
      Type.String({
        maxLength: REMARK_LENGTH_MAX,
        pattern: TEXT_PATTERNS.text.pattern,
        description: "The dealer's own note.",
      }),
    ),
  },
  CLOSED,
)
export type OrderRequest = Static<typeof orderRequest>

const orderStatus = () => Type.Enum(ORDER_STATUSES)

export const orderAnswer = Type.Object({
  orderNo: Type.String(),
  transactionId: transactionIdOfOrder(),
  orderStatus: orderStatus(),
  amount: price({ description: 'The amount debited' }),
  currencyCode: currencyCode(),
  balanceAfter: money({ description: 'The balance after this debit' }),
  createTime: time(),
})
export type OrderAnswer = Static<typeof orderAnswer>

export const queryRequest = Type.Object(
  {
    orderNo: Type.Optional(name({ description: 'Either `orderNo` or `transactionId` is required.' })),
    transactionId: Type.Optional(transactionId()),
  },
  CLOSED,
)
export type QueryRequest = Static<typeof queryRequest>

export const orderLine = Type.Object({
  packageCode: Type.String(),
  packageName: Type.String(),
  count: quantity(),
  price: price({ description: 'The price of one eSIM' }),
  deliveredCount: quantity(),
  failedCount: quantity({ description: 'eSIMs that the supplier refused; they are refunded.' }),
  failureReason: nullable(Type.String()),
})
export type OrderLine = Static<typeof orderLine>

export const queryAnswer = Type.Object({
  orderNo: Type.String(),
  transactionId: transactionIdOfOrder(),
  orderStatus: orderStatus(),
  amount: price({ description: 'The amount debited' }),
  refundedAmount: price({ description: 'The part of it that was refunded' }),
  currencyCode: currencyCode(),
  remark: nullable(Type.String()),
  createTime: time(),
  lastUpdateTime: time(),
  packageInfoList: Type.Array(orderLine),
  profileList: Type.Array(profile),
  statusHistory: Type.Array(Type.Object({ orderStatus: orderStatus(), time: time() })),
})
export type QueryAnswer = Static<typeof queryAnswer>
