import Type, { type Static } from 'typebox'
import { LINE_COUNT_MAX, ORDER_ESIMS_MAX, ORDER_LINES_MAX, REMARK_LENGTH_MAX } from '../limits.ts'
import { ORDER_STATUSES, ORDER_TYPES } from './enumerations.ts'
import { profile } from './profiles.ts'
import {
  CLOSED,
  currencyCode,
  cursor,
  money,
  name,
  nextCursor,
  nullable,
  pageSize,
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
const orderType = () => Type.Enum(ORDER_TYPES, { description: 'NEW delivers eSIMs; TOPUP adds to one.' })

export const orderAnswer = Type.Object({
  orderNo: Type.String(),
  transactionId: transactionIdOfOrder(),
  orderType: orderType(),
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

/** An order without its eSIMs and its history. */
const orderMembers = {
  orderNo: Type.String(),
  transactionId: transactionIdOfOrder(),
  orderType: orderType(),
  orderStatus: orderStatus(),
  amount: price({ description: 'The amount debited' }),
  refundedAmount: price({ description: 'The part of it that was refunded' }),
  currencyCode: currencyCode(),
  remark: nullable(Type.String()),
  createTime: time(),
  lastUpdateTime: time(),
  packageInfoList: Type.Array(orderLine),
}

export const queryAnswer = Type.Object({
  ...orderMembers,
  profileList: Type.Array(profile),
  statusHistory: Type.Array(Type.Object({ orderStatus: orderStatus(), time: time() })),
})
export type QueryAnswer = Static<typeof queryAnswer>

export const orderListRequest = Type.Object(
  {
    orderStatus: Type.Optional(orderStatus()),
    orderType: Type.Optional(orderType()),
    startTime: Type.Optional(time({ description: 'Placed at this time or later' })),
    endTime: Type.Optional(time({ description: 'Placed before this time' })),
    pageSize: Type.Optional(pageSize()),
    cursor: Type.Optional(cursor()),
  },
  CLOSED,
)
export type OrderListRequest = Static<typeof orderListRequest>

export const orderSummary = Type.Object(orderMembers)
export type OrderSummary = Static<typeof orderSummary>

export const orderListAnswer = Type.Object({ orderList: Type.Array(orderSummary), nextCursor: nextCursor() })
export type OrderListAnswer = Static<typeof orderListAnswer>
