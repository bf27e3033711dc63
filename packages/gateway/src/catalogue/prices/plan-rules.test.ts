import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { coverageOf } from '../coverage.ts'
import { Plan, type PlanRule } from './plan-rules.ts'
import { changeByPercent, NO_ROUNDING } from './price-engine.ts'
import { quote, type Tariff } from './quote.ts'

const ITEM = {
  packageCode: 'A',
  prices: [{ currencyCode: 'USD', price: 100_000n, retailPrice: null, removed: false, firstAt: 1, updatedAt: 1 }],
  routes: [
    { supplier: 'first', productCode: 'P', cost: null, costCurrency: null },
    { supplier: 'second', productCode: 'P', cost: null, costCurrency: null },
  ],
  touchedAt: 1,
  coverage: coverageOf(['JP'], []),
}
const EVER = { validFrom: Number.NEGATIVE_INFINITY, validUntil: Number.POSITIVE_INFINITY }

function ruleOf(members: Partial<PlanRule>): PlanRule {
  return {
    ...{ scope: 'ALL', target: '', currencyCode: '', percent: -1n, basis: 'LIST', rounding: NO_ROUNDING, price: null },
    ...{ ...EVER, removed: false, firstAt: 1, updatedAt: 1, ...members },
  }
}

function tariffOf(rules: readonly PlanRule[]): Tariff {
  const plan = new Plan().with(rules)
  const period = { plan, planName: 'P', by: 'PLAN' as const, from: 0, until: Number.POSITIVE_INFINITY }
  return { currencyCode: 'USD', ownPrices: new Map(), plans: [period], formerPlans: [], changedAt: 0 }
}

const priceAt = (now: number, ...rules: PlanRule[]) => quote(tariffOf(rules), ITEM, now).price

const TARGETS = { PACKAGE: 'A', LOCATION: 'JP', SUPPLIER: 'first', ALL: '' } as const
const percentOf = (scope: keyof typeof TARGETS, percent: bigint) => ruleOf({ scope, target: TARGETS[scope], percent })

describe('price plan rules', () => {
  test('apply in order of scope, narrowest first: package, location, first supplier, all', () => {
    const rules = [percentOf('ALL', 10_000n), percentOf('SUPPLIER', 20_000n), percentOf('LOCATION', 30_000n)]
    expect(priceAt(1, rules[0]!)).toBe(101_000n)
    expect(priceAt(1, ...rules.slice(0, 2))).toBe(102_000n)
    expect(priceAt(1, ...rules)).toBe(103_000n)
    expect(priceAt(1, ...rules, percentOf('PACKAGE', 40_000n))).toBe(104_000n)
  })

  test('for a supplier apply only to packages that try this supplier first', () => {
    expect(priceAt(1, ruleOf({ scope: 'SUPPLIER', target: 'second', percent: 20_000n }))).toBe(100_000n)
  })

  test.each([
    ['a package of one country', ['JP'], 'JP'],
    ['a package of several countries', ['JP', 'KR'], '!RG'],
    ['a package of one country that is sold as a region', ['!RG', 'JP'], '!RG'],
    ['a global package', ['!GL', 'JP', 'KR'], '!GL'],
    ['a global package without countries', ['!GL'], '!GL'],
  ])('%s follows the rules for exactly one location', (_, codes, location) => {
    const rules = ['JP', 'KR', '!RG', '!GL'].map((target) => ruleOf({ scope: 'LOCATION', target, percent: 10_000n }))
    const item = { ...ITEM, coverage: coverageOf(codes, []) }
    expect(quote(tariffOf(rules), item, 1).decidedBy?.rule.target).toBe(location)
  })

  test('with the same scope yield to the one that started last, even if a percentage replaces a fixed price', () => {
    const always = ruleOf({ scope: 'PACKAGE', target: 'A', currencyCode: 'USD', percent: null, price: 70_000n })
    const summer = ruleOf({ scope: 'PACKAGE', target: 'A', percent: -500_000n, validFrom: 100, validUntil: 200 })
    expect([99, 100, 199, 200].map((now) => priceAt(now, always, summer))).toEqual([70_000n, 50_000n, 50_000n, 70_000n])
  })

  test('begin and end at their set times, and the change feed reports both', () => {
    const rules = [ruleOf({ percent: -500_000n, validFrom: 100, validUntil: 200 })]
    const changedAt = (now: number) => quote(tariffOf(rules), ITEM, now).changedAt
    expect([99, 100, 199, 200].map((now) => priceAt(now, ...rules))).toEqual([100_000n, 50_000n, 50_000n, 100_000n])
    expect([99, 100, 199, 200].map(changedAt)).toEqual([1, 100, 100, 200])
  })

  // The order of precedence, in its simplest form.
  test('are compared by scope, start and kind, and the first valid rule decides', () => {
    const scope = fc.constantFrom('PACKAGE' as const, 'LOCATION' as const, 'SUPPLIER' as const, 'ALL' as const)
    const value = fc.oneof(
      fc.record({ percent: fc.bigInt(-900_000n, 900_000n) }),
      fc.record({ price: fc.bigInt(1n, 99n) }),
    )
    const draft = fc.record({
      scope,
      value,
      from: fc.constantFrom(Number.NEGATIVE_INFINITY, 10, 20),
      until: fc.constantFrom(15, 25, Number.POSITIVE_INFINITY),
      removed: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 8 }), fc.integer({ min: 5, max: 30 }), (drafts, now) => {
        const rules = drafts
          .filter(({ scope, value, from, until }) => from < until && !('price' in value && isPercentOnly(scope)))
          .map(({ scope, value, from, until, removed }) => {
            const amount = 'price' in value ? { price: value.price, percent: null, currencyCode: 'USD' } : value
            return ruleOf({ scope, target: TARGETS[scope], ...amount, validFrom: from, validUntil: until, removed })
          })
        // Later rules replace earlier ones with the same identity.
        const stored = [...new Map(rules.map((rule) => [identity(rule), rule])).values()]
        const [first] = stored
          .filter((rule) => !rule.removed && rule.validFrom <= now && now < rule.validUntil)
          .sort(
            (a, b) =>
              ORDER.indexOf(a.scope) - ORDER.indexOf(b.scope) ||
              (a.validFrom === b.validFrom ? 0 : b.validFrom - a.validFrom) ||
              Number(a.price === null) - Number(b.price === null),
          )
        const expected = !first ? 100_000n : (first.price ?? changeByPercent(100_000n, first.percent!))
        expect(priceAt(now, ...rules)).toBe(expected)
      }),
      { numRuns: 500 },
    )
  })
})

const ORDER = ['PACKAGE', 'LOCATION', 'SUPPLIER', 'ALL']

function isPercentOnly(scope: string): boolean {
  return scope === 'LOCATION' || scope === 'SUPPLIER'
}

function identity({ scope, currencyCode, validFrom }: PlanRule): string {
  return `${scope} ${currencyCode} ${validFrom}`
}
