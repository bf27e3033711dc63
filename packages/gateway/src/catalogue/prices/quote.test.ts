import { MONEY_MAX } from '@dealer-esim/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { coverageOf } from '../coverage.ts'
import { formatPercent, parsePercent } from './percent.ts'
import { Plan, type PlanRule } from './plan-rules.ts'
import { changeByPercent, parseRounding } from './price-engine.ts'
import { type OwnPrice, quote, tariffOf } from './quote.ts'

const money = fc.bigInt(0n, BigInt(MONEY_MAX))
const percent = fc.bigInt(-1_500_000n, 10_000_000n)
const ITEM = { packageCode: 'A', routes: [], touchedAt: 1, coverage: coverageOf(['JP'], []) }
const NOW = 1_000
const ALWAYS = { validFrom: Number.NEGATIVE_INFINITY, validUntil: Number.POSITIVE_INFINITY }

describe('a price changed by a percentage', () => {
  test.each([
    ['45000', '-10', 40_500n],
    ['12345', '-10', 11_111n], // 11 110.5: half is rounded up
    ['12344', '-10', 11_110n], // 11 109.6
    ['12346', '-10', 11_111n], // 11 111.4
    ['1', '-50', 1n], // 0.5
    ['1', '-50.0001', 0n],
    ['0', '1000', 0n],
    ['3', '-100', 0n],
    ['10000', '0.005', 10_001n], // 10 000.5
    ['10000', '0.0049', 10_000n],
  ])('%s changed by %s %% is rounded correctly', (price, change, expected) => {
    expect(changeByPercent(BigInt(price), parsePercent(change))).toBe(expected)
  })

  test('is rounded half up to the nearest whole amount, and is never below zero', () => {
    fc.assert(
      fc.property(money, percent, (price, change) => {
        const changed = changeByPercent(price, change)
        const exact = price * (1_000_000n + change) // in millionths
        if (changed === undefined) {
          expect(exact).toBeGreaterThan(BigInt(MONEY_MAX) * 1_000_000n)
          return
        }
        const off = changed * 1_000_000n - (exact < 0n ? 0n : exact)
        expect(off).toBeGreaterThan(-500_000n)
        expect(off).toBeLessThanOrEqual(500_000n)
      }),
    )
  })

  test('never falls when the list price or the percentage rises', () => {
    const orMax = (value: bigint | undefined) => value ?? BigInt(MONEY_MAX)
    fc.assert(
      fc.property(money, money, percent, percent, (a, b, p, q) => {
        const [low, high] = a < b ? [a, b] : [b, a]
        expect(orMax(changeByPercent(low, p))).toBeLessThanOrEqual(orMax(changeByPercent(high, p)))
        const [less, more] = p < q ? [p, q] : [q, p]
        expect(orMax(changeByPercent(a, less))).toBeLessThanOrEqual(orMax(changeByPercent(a, more)))
      }),
    )
  })
})

describe('a percentage as text', () => {
  test('is unchanged after formatting and parsing', () => {
    fc.assert(
      fc.property(fc.bigInt(-1_000_000n, 10_000_000n), (units) => {
        expect(parsePercent(formatPercent(units))).toBe(units)
        expect(parsePercent(`${formatPercent(units)}%`)).toBe(units)
      }),
    )
  })

  test.each(['', '%', '1e3', '1,5', '-100.0001', '1000.0001', '0.00001', '--1', 'NaN', ' 1'])(
    '%j is refused',
    (text) => {
      expect(() => parsePercent(text)).toThrow('"')
    },
  )
})

describe('the quote', () => {
  const rule = fc.record({
    packageCode: fc.constantFrom('A', ''),
    value: fc.oneof(
      fc.record({ percent, currencyCode: fc.constant('') }),
      fc.record({ price: money, currencyCode: fc.constantFrom('USD', 'EUR') }),
    ),
    removed: fc.boolean(),
  })
  const plan = fc.array(rule, { maxLength: 6 })
  const list = fc.option(fc.record({ price: money, retailPrice: fc.option(money), removed: fc.boolean() }))
  const own = fc.option(fc.record({ price: money, removed: fc.boolean() }))

  // The order of precedence, in its simplest form.
  test('uses the first of own price, plan, group plan and list price that exists', () => {
    fc.assert(
      fc.property(own, fc.option(plan), fc.option(plan), list, (own, tenantPlan, groupPlan, list) => {
        const live = (rules: typeof tenantPlan) => {
          const byScope = new Map((rules ?? []).map((r) => [`${r.packageCode}/${r.value.currencyCode}`, r]))
          return ['A/USD', 'A/', '/USD', '/'].flatMap((key) => byScope.get(key) ?? []).filter((r) => !r.removed)
        }
        const listed = list && !list.removed ? list.price : undefined
        const candidates = [
          own && !own.removed ? own.price : undefined,
          ...[...live(tenantPlan), ...live(groupPlan)].map(({ value }) =>
            'price' in value ? value.price : listed === undefined ? undefined : changed(listed, value.percent),
          ),
          listed,
        ]
        const first = candidates.find((price) => price !== undefined)
        const expected = first === 'beyond' ? undefined : first
        const tariff = tariffWith(own, tenantPlan, groupPlan)
        const prices = list ? [{ currencyCode: 'USD', firstAt: 1, updatedAt: 1, ...list }] : []
        expect(quote(tariff, { ...ITEM, prices }, NOW).price).toBe(expected)
      }),
      { numRuns: 500 },
    )
  })

  const changed = (price: bigint, percent: bigint) => changeByPercent(price, percent) ?? 'beyond'

  test('has no price if a percentage exceeds the maximum, even if another rule exists', () => {
    const rules = [
      { packageCode: 'A', removed: false, value: { currencyCode: '', percent: 100_000n } },
      { packageCode: '', removed: false, value: { currencyCode: '', percent: -500_000n } },
    ]
    const prices = [
      { currencyCode: 'USD', firstAt: 1, updatedAt: 1, price: BigInt(MONEY_MAX), retailPrice: null, removed: false },
    ]
    const item = { ...ITEM, prices }
    expect(quote(tariffWith(null, rules, null), item, NOW)).toMatchObject({ price: undefined, source: null })
    expect(quote(tariffWith(null, rules.slice(1), null), item, NOW)).toMatchObject({ source: 'PLAN' })
  })

  describe('from a percentage', () => {
    const priced = (amount: bigint) => ({
      currencyCode: 'USD',
      firstAt: 1,
      updatedAt: 1,
      price: amount,
      retailPrice: null,
      removed: false,
    })
    const routeOf = (cost: bigint | null, costCurrency: string | null) => ({
      supplier: 's',
      productCode: 'P',
      cost,
      costCurrency,
    })
    const quoteOf = (value: Rules[number]['value'], routes = [routeOf(20_000n, 'USD')], prices = [priced(50_000n)]) => {
      const rules = [{ packageCode: '', removed: false, value }]
      return quote(tariffWith(null, rules, null), { ...ITEM, prices, routes, touchedAt: 9 }, NOW)
    }

    test('of the list price is rounded to the nearest price that the rounding allows', () => {
      expect(quoteOf({ currencyCode: '', percent: -120_000n, rounding: '.99' }).price).toBe(39_900n)
      expect(quoteOf({ currencyCode: '', percent: -10_000n, rounding: '.99' }).price).toBe(49_900n)
      expect(quoteOf({ currencyCode: '', percent: -1_000_000n, rounding: '.99' }).price).toBe(9_900n)
    })

    test('of the cost adds it to the first supplier’s cost, rounds up, and follows that cost', () => {
      const ofCost = { currencyCode: '', percent: 100_000n, basis: 'COST' as const, rounding: '.49/.99' }
      expect(quoteOf(ofCost)).toMatchObject({ price: 24_900n, source: 'PLAN', changedAt: 9 })
      expect(quoteOf(ofCost, [routeOf(23_000n, 'USD'), routeOf(10_000n, 'USD')]).price).toBe(29_900n)
    })

    test('of the cost falls back to the list price if the cost is unknown or in a different currency', () => {
      const ofCost = { currencyCode: '', percent: 100_000n, basis: 'COST' as const }
      for (const routes of [[], [routeOf(null, null)], [routeOf(1n, 'EUR')]]) {
        expect(quoteOf(ofCost, routes)).toMatchObject({ price: 50_000n, source: 'LIST', changedAt: 9 })
      }
      expect(quoteOf(ofCost, [routeOf(1n, 'USD')], []).price).toBeUndefined()
    })
  })

  type Rules = {
    packageCode: string
    removed: boolean
    value: { currencyCode: string; percent?: bigint; price?: bigint; basis?: 'LIST' | 'COST'; rounding?: string }
  }[]

  function tariffWith(
    own: { price: bigint; removed: boolean } | null,
    tenantPlan: Rules | null,
    groupPlan: Rules | null,
  ) {
    const planOf = (rules: Rules | null) =>
      new Plan().with(
        (rules ?? []).map(({ packageCode, removed, value }): PlanRule => {
          const { currencyCode, percent = null, price = null, basis = 'LIST', rounding = 'none' } = value
          return {
            ...{ scope: packageCode === '' ? 'ALL' : 'PACKAGE', target: packageCode, ...ALWAYS },
            ...{ currencyCode, percent, price, removed, firstAt: 1, updatedAt: 1 },
            ...{ basis, rounding: parseRounding(rounding) },
          }
        }),
      )
    const given = (owner: string, target: string) => ({ owner, target, removed: false, firstAt: 1, updatedAt: 1 })
    const ownPrices = new Map<string, OwnPrice>(own ? [['A', { ...own, firstAt: 1, updatedAt: 1 }]] : [])
    return tariffOf(
      {
        plans: new Map([
          ['T', planOf(tenantPlan)],
          ['G', planOf(groupPlan)],
        ]),
        tenantPlans: new Map(tenantPlan ? [['me', [given('me', 'T')]]] : []),
        tenantGroups: new Map([['me', [given('me', 'group')]]]),
        groupPlans: new Map(groupPlan ? [['group', [given('group', 'G')]]] : []),
        ownPrices: new Map([['me', ownPrices]]),
      },
      { tenantId: 'me', currencyCode: 'USD' },
    )
  }
})
