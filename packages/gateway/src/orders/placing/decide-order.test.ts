import { MONEY_MAX } from '@dealer-esim/contract'
import { expect, test } from 'vitest'
import type { Wallet } from '#wallet/ledger/lock-wallets.ts'
import { type DecisionContext, decideWallet } from './decide-order.ts'
import type { NewOrderInput } from './order-input.ts'

const NOW = new Date('2026-11-20T13:00:00.000Z')
const TENANT = { tenantId: '01939ab2-9c11-7d20-8a34-5b6c7d8e9f01', currencyCode: 'USD' }

/** The verdict on an order for one eSIM at this price. */
function verdictOn(price: bigint, wallet: Partial<Wallet>) {
  const before: Wallet = {
    ...TENANT,
    ...{ balance: 0n, creditLimit: 0n, dailySpendLimit: null, lowBalanceThreshold: null, lowBalanceAlertedPercent: 0 },
    ...{ spentOn: '2026-11-20', spent: 0n, version: 1n, updatedAt: NOW },
    ...wallet,
  }
  const offer = { packageCode: 'P', packageName: 'P', price, periodNumMin: null, periodNumMax: null, cancelPolicy: {} }
  const input: NewOrderInput = {
    ...{ tenant: TENANT, orderId: '01939ab2-9c11-7d20-8a34-5b6c7d8e9f02' },
    request: { transactionId: 'T', packageInfoList: [{ packageCode: 'P', count: 1 }] },
  }
  const context = { now: NOW, catalogue: { offer: () => offer }, existing: new Map(), available: () => undefined }
  return decideWallet(before, [input], context as unknown as DecisionContext).verdicts[0]!
}

test('a refusal states amounts exactly in JSON, even for the largest price and the lowest balance', () => {
  const max = BigInt(MONEY_MAX)
  for (const balance of [-1n, -max]) {
    expect(verdictOn(max, { balance })).toMatchObject({
      ...{ kind: 'refused', code: '200007' },
      parts: { data: { currentBalance: Number(balance), requiredAmount: MONEY_MAX, shortfall: MONEY_MAX } },
    })
  }
  expect(verdictOn(max, { balance: 1n })).toMatchObject({ parts: { data: { shortfall: MONEY_MAX - 1 } } })
  expect(verdictOn(max, { balance: 0n, creditLimit: max })).toMatchObject({ kind: 'placed' })
})

test('an order may use up the entire balance and the entire daily limit', () => {
  expect(verdictOn(10n, { balance: -5n, creditLimit: 15n, dailySpendLimit: 30n, spent: 20n }).kind).toBe('placed')
  expect(verdictOn(11n, { balance: -5n, creditLimit: 15n })).toMatchObject({
    ...{ code: '200007', parts: { data: { shortfall: 1 } } },
  })
  expect(verdictOn(10n, { balance: 100n, dailySpendLimit: 30n, spent: 21n })).toMatchObject({
    ...{
      code: '200014',
      parts: { data: { scope: 'TENANT_DAY', limit: 30, spent: 21, resetTime: '2026-11-21T00:00:00.000Z' } },
    },
  })
  expect(verdictOn(30n, { balance: 100n, dailySpendLimit: 30n, spent: 30n, spentOn: '2026-11-19' }).kind).toBe('placed')
})
