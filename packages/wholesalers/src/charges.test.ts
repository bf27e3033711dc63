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

const CENTS = 100
const cents = fc.integer({ min: 1, max: 1_000_000 })
/** What was debited, and a higher retail price. */
const prices = fc.record({ debited: cents, margin: cents }).map(({ debited, margin }) => {
  return { debited, retail: debited + margin }
})

function expectDebited(charge: Charge | undefined, debitedCents: number): void {
  if (charge !== undefined) expect(charge).toEqual({ amount: BigInt(debitedCents) * 100n, currencyCode: 'USD' })
}

describe('the charge', () => {
  it('of an order at Airalo is the net price or what was paid, in whichever of them the answer has', () => {
    const present = fc.record({ net: fc.boolean(), total: fc.boolean(), unit: fc.boolean(), asText: fc.boolean() })
    const check = (
      { debited, retail }: { debited: number; retail: number },
      members: typeof present extends fc.Arbitrary<infer T> ? T : never,
    ) => {
      const paid = debited / CENTS
      const charge = airaloCharge({
        currency: 'USD',
        price: members.asText ? (retail / CENTS).toFixed(2) : retail / CENTS,
        ...(members.net && { net_price: paid }),
        ...(members.total && { total_amount_paid: paid }),
        ...(members.unit && { unit_paid_price: paid }),
      })
      expectDebited(charge, debited)
      expect(charge !== undefined).toBe(members.net || members.total || members.unit)
    }
    fc.assert(fc.property(prices, present, check))
  })

  it('of a purchase at Zendit holds whether its cost includes the fee or not', () => {
    const fees = fc.record({ fee: fc.integer({ min: 0, max: 500 }), isIncluded: fc.boolean(), hasBase: fc.boolean() })
    const check = (
      base: number,
      { fee, isIncluded, hasBase }: { fee: number; isIncluded: boolean; hasBase: boolean },
    ) => {
      const charge = zenditCharge({
        ...{ cost: isIncluded ? base + fee : base, costFee: fee, costCurrency: 'USD', costCurrencyDivisor: CENTS },
        ...(hasBase && { costBase: base }),
      })
      expectDebited(charge, base + fee)
      if (fee === 0) expect(charge).toBeDefined()
    }
    fc.assert(fc.property(cents, fees, check))
  })

  it('of an order at MobiMatter is its wholesale price', () => {
    fc.assert(
      fc.property(prices, fc.boolean(), ({ debited, retail }, isStated) => {
        const orderLineItem = { retailPrice: retail / CENTS, ...(isStated && { wholesalePrice: debited / CENTS }) }
        const charge = mobimatterCharge({ currencyCode: 'USD', orderLineItem })
        expectDebited(charge, debited)
        expect(charge !== undefined).toBe(isStated)
      }),
    )
  })

  it('of an order at eSIM Go is its total', () => {
    fc.assert(
      fc.property(prices, fc.boolean(), ({ debited, retail }, isStated) => {
        const line = { item: 'B', pricePerUnit: retail / CENTS, subTotal: retail / CENTS }
        const total = isStated ? { total: debited / CENTS } : {}
        const found = orderOf({ orderReference: 'R', order: [line], currency: 'USD', ...total })
        expectDebited(found?.charged, debited)
        expect(found?.charged !== undefined).toBe(isStated)
      }),
    )
  })

  it('of an order at eSIM Access is the price that the wholesaler has accepted', async () => {
    const offers = fc.record({ current: cents, known: cents, sale: cents })
    await fc.assert(
      fc.asyncProperty(offers, async ({ current, known, sale }) => {
        let debited: number | undefined
        const call = async (operation: string, body: { packageInfoList?: { price?: number }[] }) => {
          if (operation === 'package/list') return done({ packageList: [{ packageCode: 'P', price: current * 100 }] })
          if (operation === 'esim/query') return done({ esimList: [ROW], pager: { total: 1 } })
          const price = body.packageInfoList?.[0]?.price
          if (price !== undefined && price !== current * 100) {
            return { kind: 'failed' as const, code: '200005', message: '200005: the price' }
          }
          debited = current
          return done({ orderNo: 'B1', transactionId: 'KEY' })
        }
        const guard = { cost: BigInt(known) * 100n, salePrice: BigInt(sale) * 100n, currencyCode: 'USD' }
        const request = { tenantId: 'T', orderId: 'O', itemNo: 1, key: 'KEY', productCode: 'P', guard }
        const outcome = await order({ call: call as never, currencyCode: 'USD', timeoutMs: 1_000 }, request)
        if (outcome.kind === 'delivered') expectDebited(outcome.esim.charged, debited!)
        else expect({ kind: outcome.kind, debited }).toEqual({ kind: 'refused', debited: undefined })
      }),
    )
  })
})

const ROW = { transactionId: 'KEY', iccid: '8948092102100000012', ac: 'LPA:1$smdp.example.com$M-1' }
const done = (obj: object) => ({ kind: 'done' as const, obj })

it('an amount with any number of decimals is rounded half up', () => {
  const decimals = fc.record({
    units: fc.bigInt({ min: 0n, max: 10n ** 18n }),
    places: fc.integer({ min: 0, max: 15 }),
  })
  fc.assert(
    fc.property(decimals, ({ units, places }) => {
      const digits = String(units).padStart(places + 1, '0')
      const text = places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
      const exact = roundHalfUp(units * 10_000n, 10n ** BigInt(places))
      expect(amountOf(text)).toBe(exact <= BigInt(Number.MAX_SAFE_INTEGER) ? exact : undefined)
    }),
  )
  expect(['1e-7', '2.5e3', '-1.00005', '', 'x', null].map(amountOf)).toEqual([
    ...[0n, 25_000_000n, -10_001n],
    ...[undefined, undefined, undefined],
  ])
})
