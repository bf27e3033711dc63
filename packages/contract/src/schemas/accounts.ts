import Type, { type Static } from 'typebox'
import { CLOSED, currencyCode, money, nullable, price, time } from './scalars.ts'

export const healthRequest = Type.Object({}, CLOSED)
export type HealthRequest = Static<typeof healthRequest>

export const healthAnswer = Type.Object({
  status: Type.Literal('UP'),
  tenantId: Type.String(),
  clientName: Type.String(),
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
