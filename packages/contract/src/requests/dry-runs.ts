import Type, { type Static } from 'typebox'
import type { OperationName } from '#schemas/operations.ts'
import { orderMembersToBuy, topupMembersToBuy } from '#schemas/orders.ts'
import { CLOSED, currencyCode, money, nullable, price, quantity, transactionId } from '#schemas/scalars.ts'

const validateOnly = () => Type.Literal(true, { description: 'Nothing is bought and nothing is reserved.' })

/** `esim/order` with `validateOnly: true`: `transactionId` is optional, and is not used up. */
export const orderDryRun = Type.Object(
  { transactionId: Type.Optional(transactionId()), ...orderMembersToBuy, validateOnly: validateOnly() },
  CLOSED,
)
export type OrderDryRun = Static<typeof orderDryRun>

/** `esim/topup` with `validateOnly: true`. */
export const topupDryRun = Type.Object(
  { transactionId: Type.Optional(transactionId()), ...topupMembersToBuy, validateOnly: validateOnly() },
  CLOSED,
)
export type TopupDryRun = Static<typeof topupDryRun>

const dryRunLine = Type.Object({
  packageCode: Type.String(),
  packageName: Type.String(),
  count: quantity(),
  price: price({ description: 'The price of one eSIM, of a day pass for one day' }),
  periodNum: nullable(quantity({ description: 'Days of a day pass; null for other packages.' })),
  available: nullable(
    quantity({ description: 'eSIMs that can be delivered now; null if the supplier does not count them.' }),
  ),
})

const answerMembers = {
  validateOnly: validateOnly(),
  amount: price({ description: 'The amount that an order would debit now' }),
  currencyCode: currencyCode(),
  balanceAfter: money({ description: 'The balance that it would leave' }),
  packageInfoList: Type.Array(dryRunLine),
}

export const orderDryRunAnswer = Type.Object(answerMembers)
export type OrderDryRunAnswer = Static<typeof orderDryRunAnswer>

export const topupDryRunAnswer = Type.Object({ ...answerMembers, esimTranNo: Type.String() })
export type TopupDryRunAnswer = Static<typeof topupDryRunAnswer>

/** The operations that take `validateOnly`. A transactionId that is taken is answered as the operation itself answers it. */
export const dryRuns = {
  'esim/order': { request: orderDryRun, answer: orderDryRunAnswer },
  'esim/topup': { request: topupDryRun, answer: topupDryRunAnswer },
} as const

export type DryRunName = keyof typeof dryRuns
export type DryRunOf<N extends OperationName> = N extends DryRunName ? Static<(typeof dryRuns)[N]['request']> : never
export type DryRunAnswerOf<N extends OperationName> = N extends DryRunName
  ? Static<(typeof dryRuns)[N]['answer']>
  : never

export function hasDryRun(name: OperationName): name is DryRunName {
  return Object.hasOwn(dryRuns, name)
}
