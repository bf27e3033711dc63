import Type, { type Static } from 'typebox'
import { MODES, STATEMENT_KINDS } from './enumerations.ts'
import {
  CLOSED,
  currencyCode,
  cursor,
  keyLabel,
  money,
  nextCursor,
  nullable,
  pageSize,
  price,
  time,
} from './scalars.ts'

export const healthRequest = Type.Object({}, CLOSED)
export type HealthRequest = Static<typeof healthRequest>

export const healthAnswer = Type.Object({
  status: Type.Literal('UP'),
  mode: Type.Enum(MODES, { description: 'TEST: the AppKey is that of a test twin, which spends no money.' }),
  tenantId: Type.String(),
  clientName: Type.String(),
  keyLabel: keyLabel(),
  keyLimits: nullable(
    Type.Object(
      {
        perOrderMax: nullable(price()),
        perDayMax: nullable(price()),
        daySpent: price({ description: 'What its orders of this UTC day have debited, less refunds' }),
        dayResetTime: time({ description: 'The end of the day' }),
        totalMax: nullable(price()),
        totalSpent: price({ description: 'What all of its orders have debited, less refunds' }),
        expiresAt: nullable(time()),
      },
      { description: "The limits of the restricted key that signed the call; null: the tenant's own key." },
    ),
  ),
})
export type HealthAnswer = Static<typeof healthAnswer>

export const balanceRequest = Type.Object({}, CLOSED)
export type BalanceRequest = Static<typeof balanceRequest>

export const balanceAnswer = Type.Object({
  balance: money(),
  creditLimit: price({ description: 'How far below zero the balance may go' }),
  availableBalance: money({ description: 'The amount that can be spent: `balance` + `creditLimit`' }),
  currencyCode: currencyCode(),
  lowBalanceThreshold: nullable(price({ description: 'An alert is sent when the balance falls below this' })),
  lastUpdateTime: time(),
})
export type BalanceAnswer = Static<typeof balanceAnswer>

export const statementRequest = Type.Object(
  {
    startTime: Type.Optional(time({ description: 'Only entries at this time or later' })),
    endTime: Type.Optional(time({ description: 'Only entries before this time' })),
    kind: Type.Optional(Type.Enum(STATEMENT_KINDS)),
    pageSize: Type.Optional(pageSize()),
    cursor: Type.Optional(cursor()),
  },
  CLOSED,
)
export type StatementRequest = Static<typeof statementRequest>

export const statementEntry = Type.Object({
  entryNo: Type.String({
    pattern: '^[1-9][0-9]*$',
    description: 'Counts the entries of the tenant: 1, 2, 3 … without a gap. Only a filter leaves some out.',
    examples: ['1'],
  }),
  kind: Type.Enum(STATEMENT_KINDS),
  amount: money({ description: 'Negative for a debit' }),
  balanceAfter: money({ description: 'The balance after this entry' }),
  currencyCode: currencyCode(),
  orderNo: nullable(Type.String()),
  transactionId: nullable(Type.String({ description: "The dealer's own key of the order that the entry belongs to." })),
  esimTranNo: nullable(Type.String({ description: 'The eSIM that a top-up or a refund is for.' })),
  actionNo: nullable(Type.String({ description: 'The action that refunded the eSIM.' })),
  reference: nullable(Type.String({ description: "The operator's reference of a payment or an adjustment." })),
  keyLabel: keyLabel(),
  createTime: time(),
})
export type StatementEntry = Static<typeof statementEntry>

export const statementAnswer = Type.Object({ entryList: Type.Array(statementEntry), nextCursor: nextCursor() })
export type StatementAnswer = Static<typeof statementAnswer>
