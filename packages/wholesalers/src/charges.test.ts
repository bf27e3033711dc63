import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chargeOf as airaloCharge } from './airalo/decode.ts'
import { order } from './esim-access/purchase.ts'
import { orderOf } from './esim-go/decode.ts'
import { amountOf, roundHalfUp } from './members.ts'
import { chargeOf as mobimatterCharge } from './mobimatter/decode.ts'
import type { Charge } from './supplier.ts'
import { chargeOf as zenditCharge } from './zendit/decode.ts'

/* A charge is what was debited, or unknown; it is never a retail price. fast-check prints the seed of a failure. */

/** An amount as an answer states it, with up to nine decimals, and the same amount in 1/10 000, rounded half up. */
interface Stated {
  stated: string | number
  amount: bigint
}

const decimals = fc.record({ units: fc.bigInt({ min: 1n, max: 10n ** 11n }), places: fc.integer({ min: 0, max: 9 }) })
const amounts: fc.Arbitrary<Stated> = fc
  .tuple(decimals, fc.boolean())
  .map(([{ units, places }, asText]) => statedAs(units, places, 1, asText))
const currencies = fc.constantFrom('USD', 'EUR', 'GBP', 'JPY')

/** @param divisor of the stated unit, such as 100 for cents */
function statedAs(units: bigint, places: number, divisor = 1, asText = false): Stated {
  const text = decimalText(units, places)
  return {
    // A number with this few digits is written as it was read.
    stated: asText ? text : Number(text),
    amount: roundHalfUp(units * 10_000n, 10n ** BigInt(places) * BigInt(divisor)),
  }
}

function decimalText(units: bigint, places: number): string {
  const digits = String(units).padStart(places + 1, '0')
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

function chargeIn(currencyCode: string, { amount }: Stated): Charge {
  return { amount, currencyCode }
}

describe('the charge', () => {
  it('for an Airalo order is the net price, else the total paid, else the unit price, never the retail price', () => {
    const members = fc.record({ net_price: amounts, total_amount_paid: amounts, unit_paid_price: amounts })
    const present = fc.subarray(['net_price', 'total_amount_paid', 'unit_paid_price'] as const)
    fc.assert(
      fc.property(members, present, amounts, currencies, (values, names, retail, currency) => {
        const stated = Object.fromEntries(names.map((name) => [name, values[name].stated]))
        const charge = airaloCharge({ currency, price: retail.stated, ...stated })
        expect(charge).toEqual(names[0] && chargeIn(currency, values[names[0]]))
      }),
      { numRuns: 500 },
    )
  })

  it('for a Zendit purchase is correct whether or not the cost includes the fee', () => {
    const purchases = fc.record({
      ...{ base: decimals, feeUnits: fc.bigInt({ min: 0n, max: 10n ** 6n }), isIncluded: fc.boolean() },
      ...{ hasBase: fc.boolean(), asText: fc.boolean(), divisor: fc.constantFrom(1, 100, 1_000) },
    })
    const check = (of: typeof purchases extends fc.Arbitrary<infer T> ? T : never, costCurrency: string) => {
      const { units, places } = of.base
      const state = (parts: bigint) => statedAs(parts, places, of.divisor, of.asText)
      const debited = state(units + of.feeUnits)
      const charge = zenditCharge({
        ...{ cost: (of.isIncluded ? debited : state(units)).stated, costCurrency, costCurrencyDivisor: of.divisor },
        costFee: state(of.feeUnits).stated,
        ...(of.hasBase && { costBase: state(units).stated }),
      })
      const isClear = of.feeUnits === 0n || (of.isIncluded && of.hasBase)
      expect(charge).toEqual(isClear ? chargeIn(costCurrency, debited) : undefined)
    }
    fc.assert(fc.property(purchases, currencies, check))
  })

  it('for a MobiMatter order is its wholesale price, in US dollars unless another currency is stated', () => {
    const currency = fc.option(currencies, { nil: undefined })
    fc.assert(
      fc.property(amounts, amounts, currency, fc.boolean(), (debited, retail, currencyCode, isStated) => {
        const orderLineItem = { retailPrice: retail.stated, ...(isStated && { wholesalePrice: debited.stated }) }
        const charge = mobimatterCharge({ currencyCode, orderLineItem })
        expect(charge).toEqual(isStated ? chargeIn(currencyCode ?? 'USD', debited) : undefined)
      }),
    )
  })

  it('for an eSIM Go order is the order’s total', () => {
    fc.assert(
      fc.property(amounts, amounts, currencies, fc.boolean(), (debited, retail, currency, isStated) => {
        const line = { item: 'B', pricePerUnit: retail.stated, subTotal: retail.stated }
        const total = isStated ? { total: debited.stated } : {}
        const found = orderOf({ orderReference: 'R', order: [line], currency, ...total })
        expect(found?.charged).toEqual(isStated ? chargeIn(currency, debited) : undefined)
      }),
    )
  })

  it('without a currency is unknown', () => {
    fc.assert(
      fc.property(amounts, fc.constantFrom('usd', 'US', 'DOLLAR', 840, null, undefined), ({ stated }, odd) => {
        const named = { currency: odd, costCurrency: odd, currencyCode: odd ?? 'none', costCurrencyDivisor: 100 }
        const order = {
          ...named,
          net_price: stated,
          cost: stated,
          total: stated,
          orderLineItem: { wholesalePrice: stated },
        }
        expect([airaloCharge(order), zenditCharge(order)]).toEqual([undefined, undefined])
        if (typeof odd !== 'number') expect(mobimatterCharge(order)).toBeUndefined()
        expect(orderOf({ ...order, orderReference: 'R', order: [{ item: 'B' }] })?.charged).toBeUndefined()
      }),
    )
  })

  it('for an eSIM Access order is the price that the wholesaler accepted, for each day of a day pass', async () => {
    const price = fc.integer({ min: 1, max: 100_000_000 })
    const orders = fc.record({
      ...{ current: price, known: price, sale: price, fraction: fc.constantFrom(0, 0.25, -0.25, 0.499_999) },
      ...{ periodNum: fc.constantFrom(undefined, 1, 3), currencyCode: currencies, guardCurrency: currencies },
    })
    await fc.assert(
      fc.asyncProperty(orders, async ({ current, known, sale, fraction, periodNum, currencyCode, guardCurrency }) => {
        let isBought = false
        const call = async (operation: string, body: { packageInfoList?: { price?: number }[] }) => {
          if (operation === 'package/list')
            return done({ packageList: [{ packageCode: 'P', price: current + fraction }] })
          if (operation === 'esim/query') return done({ esimList: [ROW], pager: { total: 1 } })
          const price = body.packageInfoList?.[0]?.price
          if (price !== undefined && price !== current) {
            return { kind: 'failed' as const, code: '200005', message: '200005: the price' }
          }
          isBought = true
          return done({ orderNo: 'B1', transactionId: 'KEY' })
        }
        const guard = { cost: BigInt(known), salePrice: BigInt(sale), currencyCode: guardCurrency }
        const request = { tenantId: 'T', orderId: 'O', itemNo: 1, key: 'KEY', productCode: 'P', guard, periodNum }
        const outcome = await order({ call: call as never, currencyCode, timeoutMs: 1_000 }, request as never)
        const amount = BigInt(current) * BigInt(periodNum ?? 1)
        const isCompared = guardCurrency === currencyCode
        expect(isBought).toBe(!isCompared || known === current || current <= sale)
        if (isBought) expect(outcome).toMatchObject({ kind: 'delivered', esim: { iccid: ROW.iccid } })
        else expect(outcome.kind).toBe('refused')
        if (outcome.kind === 'delivered')
          expect(outcome.esim.charged).toEqual(isCompared ? { amount, currencyCode } : undefined)
      }),
    )
  })
})

const ROW = { transactionId: 'KEY', iccid: '8948092102100000012', ac: 'LPA:1$smdp.example.com$M-1' }
const done = (obj: object) => ({ kind: 'done' as const, obj })

it('an amount with any number of decimals is rounded half up', () => {
  const long = fc.record({ units: fc.bigInt({ min: 0n, max: 10n ** 18n }), places: fc.integer({ min: 0, max: 15 }) })
  fc.assert(
    fc.property(long, ({ units, places }) => {
      const exact = roundHalfUp(units * 10_000n, 10n ** BigInt(places))
      expect(amountOf(decimalText(units, places))).toBe(exact <= BigInt(Number.MAX_SAFE_INTEGER) ? exact : undefined)
    }),
  )
  expect(['1.00005', '1.00004999', 1.2999999999999998].map(amountOf)).toEqual([10_001n, 10_000n, 13_000n])
  expect(['1e-7', '2.5e3', '-1.00005', '', 'x', null].map(amountOf)).toEqual([
    ...[0n, 25_000_000n, -10_001n],
    ...[undefined, undefined, undefined],
  ])
})
