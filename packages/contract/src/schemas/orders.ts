import Type, { type Static } from 'typebox'
import { LINE_COUNT_MAX, ORDER_ESIMS_MAX, ORDER_LINES_MAX, PERIOD_NUM_MAX, REMARK_LENGTH_MAX } from '#limits.ts'
import { TEXT_PATTERNS } from '#text-patterns.ts'
import { ORDER_STATUSES, ORDER_TYPES } from './enumerations.ts'
import { profile } from './profiles.ts'
import {
  CLOSED,
  currencyCode,
  cursor,
  iccid,
  keyLabel,
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
import { handOverMembers, send } from './sends.ts'

const periodNum = () =>
  Type.Integer({
    minimum: 1,
    maximum: PERIOD_NUM_MAX,
    description: 'Days of a day pass. May be absent where `periodNumMin` of the package is 1; then it is 1.',
  })

const remark = () =>
  Type.String({
    maxLength: REMARK_LENGTH_MAX,
    pattern: TEXT_PATTERNS.text.pattern,
    description: "The dealer's own note.",
  })

export const orderLineRequest = Type.Object(
  {
    packageCode: name({ examples: ['JP_1_7'] }),
    count: Type.Integer({ minimum: 1, maximum: LINE_COUNT_MAX }),
    price: Type.Optional(
      price({
        description:
          'Guard: the expected price of one eSIM, of a day pass of one day; if the price differs, nothing is bought',
      }),
    ),
    periodNum: Type.Optional(periodNum()),
    ...handOverMembers,
  },
  CLOSED,
)
export type OrderLineRequest = Static<typeof orderLineRequest>

/** In a request that buys. A request with `true` has a separate schema (requests/dry-runs.ts). */
const validateOnly = () =>
  Type.Optional(
    Type.Unsafe<false>(
      Type.Boolean({
        description:
          '`true`: a dry run, which makes every check, returns what would be debited, and buys and reserves nothing. `transactionId` may then be absent.',
      }),
    ),
  )

export const orderMembersToBuy = {
  packageInfoList: Type.Array(orderLineRequest, {
    minItems: 1,
    maxItems: ORDER_LINES_MAX,
    description: `At most ${ORDER_ESIMS_MAX} eSIMs in total, and no package twice.`,
  }),
  amount: Type.Optional(price({ description: 'Guard: the expected total; if the total differs, nothing is bought' })),
  remark: Type.Optional(remark()),
}

export const orderRequest = Type.Object(
  { transactionId: transactionId(), ...orderMembersToBuy, validateOnly: validateOnly() },
  CLOSED,
)
export type OrderRequest = Static<typeof orderRequest>

const orderStatus = () => Type.Enum(ORDER_STATUSES)
const orderType = () => Type.Enum(ORDER_TYPES, { description: 'NEW delivers eSIMs; TOPUP adds to one.' })

const orderAnswerMembers = {
  orderNo: Type.String(),
  transactionId: transactionIdOfOrder(),
  orderType: orderType(),
  orderStatus: orderStatus(),
  amount: price({ description: 'The amount debited' }),
  currencyCode: currencyCode(),
  balanceAfter: money({ description: 'The balance after this debit' }),
  createTime: time({
    description: 'When the request arrived. The first entry of `statusHistory` is the time of the debit.',
  }),
}

export const orderAnswer = Type.Object(orderAnswerMembers)
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
  price: price({ description: 'The price of one eSIM, of a day pass for one day' }),
  periodNum: nullable(quantity({ description: 'Days of a day pass; null for other packages.' })),
  deliveredCount: quantity(),
  failedCount: quantity({ description: 'eSIMs that the supplier refused; they are refunded.' }),
  failureReason: nullable(Type.String()),
})
export type OrderLine = Static<typeof orderLine>

export const topupMembersToBuy = {
  esimTranNo: Type.Optional(name({ description: 'Either `esimTranNo` or `iccid` is required.' })),
  iccid: Type.Optional(iccid({ description: 'Of several eSIMs with this ICCID, the newest is topped up.' })),
  packageCode: name({ description: 'A package of type TOPUP that fits the eSIM.', examples: ['JP_1_7_TOPUP'] }),
  periodNum: Type.Optional(periodNum()),
  price: Type.Optional(price({ description: 'Guard: the expected price, of a day pass for one day' })),
  amount: Type.Optional(price({ description: 'Guard: the expected total' })),
  remark: Type.Optional(remark()),
}

export const topupRequest = Type.Object(
  { transactionId: transactionId(), ...topupMembersToBuy, validateOnly: validateOnly() },
  CLOSED,
)
export type TopupRequest = Static<typeof topupRequest>

export const topupAnswer = Type.Object({ ...orderAnswerMembers, esimTranNo: Type.String() })
export type TopupAnswer = Static<typeof topupAnswer>

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
  esimTranNo: nullable(Type.String({ description: 'The eSIM that a TOPUP adds to; null for NEW.' })),
  keyLabel: keyLabel(),
  createTime: time({
    description: 'When the request arrived. The first entry of `statusHistory` is the time of the debit.',
  }),
  lastUpdateTime: time(),
  packageInfoList: Type.Array(orderLine),
}

export const queryAnswer = Type.Object({
  ...orderMembers,
  profileList: Type.Array(profile),
  sendList: Type.Array(send, { description: 'What was sent to travellers, newest first.' }),
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
