import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { codeOf, nameOf, type OfferedProduct } from './package-templates.ts'
import { planPackages, type Rates, rateKey } from './plan-packages.ts'
import { mergeRule, parseRule, type SaleRuleInput } from './sale-rule.ts'

const GB = 1_000_000_000n
const ruleOf = (ruleName: string, input: SaleRuleInput = {}) =>
  parseRule(ruleName, mergeRule(undefined, { currencyCode: 'USD', percent: '10', ...input }))
const NO_RATES: Rates = new Map()

function product(parts: Partial<OfferedProduct> = {}): OfferedProduct {
  return {
    ...{ supplier: 'a', productCode: 'P', name: 'Japan 1GB', packageType: 'BASE', countries: ['JP'] },
    ...{ volume: GB, isDayPass: false, durationDays: 7, cost: 20_000n, currencyCode: 'USD', ...parts },
  }
}

/** The package that one rule makes from these products, or the reason why it makes none. */
function planOne(products: OfferedProduct[], input: SaleRuleInput = {}, rates = NO_RATES) {
  const { packages, blocked, skipped } = planPackages([ruleOf('r', input)], products, rates)
  const [made] = packages.values()
  return made ?? [...blocked.values()][0] ?? Object.entries(skipped).find(([, count]) => count > 0)?.[0]
}

it('a package takes its fair use policy from its product', () => {
  const fupPolicy = '1 Mbps after 2 GB a day'
  expect(planOne([product({ volume: null, fupPolicy })])).toMatchObject({ input: { fupPolicy } })
  for (const none of [null, undefined]) {
    expect(planOne([product({ fupPolicy: none })])).not.toHaveProperty('input.fupPolicy')
  }
})

it('a package includes only the calls and SMS that all its suppliers include', () => {
  const included = '100 minutes of calls and 20 SMS'
  const other = { supplier: 'b', productCode: 'B', cost: 30_000n }
  expect(planOne([product({ included })])).toMatchObject({ included, input: { smsStatus: 1 } })
  expect(planOne([product({ included }), product({ ...other, included })])).toMatchObject({ included })
  const some = planOne([product({ included }), product(other)])
  expect(some).toMatchObject({ included: undefined })
  expect(some).not.toHaveProperty('input.smsStatus')
})

it('a package takes its fair use policy from any supplier that has one', () => {
  const other = product({ supplier: 'b', productCode: 'B', cost: 30_000n, fupPolicy: '1 Mbps after 2 GB a day' })
  expect(planOne([product(), other])).toMatchObject({ input: { fupPolicy: '1 Mbps after 2 GB a day' } })
})

describe('a regional product that does not name its countries', () => {
  const region = (name: string, parts: Partial<OfferedProduct> = {}) =>
    product({ countries: [`!RG-${name}`], ...parts })

  it('is sold as regional, with the region name', () => {
    expect(planOne([region('Western Europe')])).toMatchObject({
      packageCode: 'RG-WESTERN-EUROPE_1GB_7',
      input: { name: 'Western Europe 1 GB 7 days', locationCodes: ['!RG'] },
    })
    // Its countries are unknown, so it is not offered in each of them.
    expect(planOne([region('Global')])).toMatchObject({ input: { name: 'Global 1 GB 7 days', locationCodes: ['!RG'] } })
  })

  it('is never combined with another region, and does not count as a single country', () => {
    const others = [region('Asia'), region('Africa', { supplier: 'b' })]
    expect(planOne(others, { codeTemplate: 'X' })).toMatch(/differ in coverage/)
    expect(planOne([region('Asia')], { filter: { countriesMax: 300 } })).toBeUndefined()
    expect(planOne([region('Asia')], { filter: { countries: ['JP'] } })).toBeUndefined()
  })
})

describe('products from several suppliers', () => {
  const b = product({ supplier: 'b', productCode: 'B', cost: 19_000n, volume: 1024n ** 3n })

  it('form one package with the smallest volume and the cheapest supplier first', () => {
    expect(planOne([product(), b])).toMatchObject({
      ...{ packageCode: 'JP_1GB_7', price: 20_900n, cost: 19_000n },
      suppliers: [
        { supplier: 'b', productCode: 'B', costPrice: 19_000 },
        { supplier: 'a', costPrice: 20_000 },
      ],
      input: { volume: 1_000_000_000 },
    })
  })

  it('keep the supplier order fixed by the rule', () => {
    expect(planOne([product(), b], { supplierOrder: 'FIXED', suppliers: ['a', 'b'] })).toMatchObject({
      price: 22_000n,
      suppliers: [{ supplier: 'a' }, { supplier: 'b' }],
    })
  })

  it('are compared in the sale currency, with converted costs rounded up', () => {
    const euro = product({ supplier: 'e', cost: 18_001n, currencyCode: 'EUR' })
    expect(planOne([euro])).toBe('NO_RATE')
    const made = planOne([product(), euro], {}, new Map([[rateKey('EUR', 'USD'), 1_100_000n]]))
    expect(made).toMatchObject({ cost: 19_802n, suppliers: [{ costPrice: 18_001, costCurrency: 'EUR' }, {}] })
  })

  it('from the same supplier are represented by the cheapest product', () => {
    const dear = product({ productCode: 'DEAR', cost: 30_000n })
    expect(planOne([dear, product()])).toMatchObject({ suppliers: [{ productCode: 'P' }] })
  })

  it.each<[string, Partial<OfferedProduct>]>([
    ['coverage', { countries: ['KR'] }],
    ['size', { volume: 2n * GB }],
    ['days', { durationDays: 8 }],
    ['kind', { packageType: 'TOPUP' }],
    ['daily volume', { isDayPass: true }],
  ])('that differ in %s are never combined', (_, parts) => {
    const products = [product(), product({ supplier: 'b', ...parts })]
    const made = planOne(products, { codeTemplate: 'X', filter: { packageType: null } })
    expect(made).toMatch(/differ in coverage, data, days or kind/)
  })

  it('produce the same packages in any order', () => {
    const some = fc.record({
      supplier: fc.constantFrom('a', 'b', 'c'),
      productCode: fc.constantFrom('P', 'Q', 'R'),
      countries: fc.constantFrom<string[]>(['JP'], ['JP', 'KR']),
      volume: fc.constantFrom(GB, 1024n ** 3n, null),
      cost: fc.bigInt(0n, 3n),
    })
    fc.assert(
      fc.property(fc.array(some, { maxLength: 12 }), fc.func(fc.integer()), (parts, orderOf) => {
        const unique = [...new Map(parts.map((one) => [`${one.supplier} ${one.productCode}`, product(one)])).values()]
        const shuffled = unique.toSorted((x, y) => orderOf(x) - orderOf(y))
        const rules = [ruleOf('r')]
        const planned = (products: OfferedProduct[]) =>
          new Map(
            [...planPackages(rules, products, NO_RATES).packages].map(([code, { suppliers }]) => [code, suppliers]),
          )
        expect(planned(shuffled)).toEqual(planned(unique))
      }),
    )
  })
})

describe('a rule', () => {
  it.each<[string, NonNullable<SaleRuleInput['filter']>, boolean]>([
    ['a country', { countries: ['KR', 'JP'] }, true],
    ['another country', { countries: ['KR'] }, false],
    ['a size within the range', { volumeMin: 1_000_000_000, volumeMax: 1_073_741_824 }, true],
    ['a size above the range', { volumeMax: 999_999_999 }, false],
    ['unlimited ones', { unlimited: true }, false],
    ['days within the range', { daysMin: 7, daysMax: 7 }, true],
    ['more days', { daysMin: 8 }, false],
    ['top-ups', { packageType: 'TOPUP' }, false],
    ['day passes', { dayPass: true }, false],
    ['a name', { name: 'jApAn' }, true],
    ['a code', { name: 'p' }, true],
    ['another name', { name: 'Korea' }, false],
  ])('selects by %s', (_, filter, isSelected) => {
    expect(planPackages([ruleOf('r', { filter })], [product()], NO_RATES).unselected).toBe(isSelected ? 0 : 1)
  })

  it('with a lower position gets a product first, and no two rules share a code', () => {
    const [first, second] = [ruleOf('first', { filter: { countries: ['KR'] } }), ruleOf('second')]
    const korea = product({ countries: ['KR'] })
    expect(planPackages([first, second], [korea], NO_RATES).packages.get('KR_1GB_7')).toMatchObject({
      ruleName: 'first',
    })
    const same = [ruleOf('one', { codeTemplate: 'X', suppliers: ['a'] }), ruleOf('two', { codeTemplate: 'X' })]
    const { blocked } = planPackages(same, [product(), product({ supplier: 'b' })], NO_RATES)
    expect(blocked.get('X')).toMatch(/The rules one and two both produce this code/)
  })

  it('does not sell products without a country or a cost', () => {
    expect(planOne([product({ countries: [] })])).toBe('NO_COUNTRY')
    expect(planOne([product({ countries: ['ZZ'] })])).toBe('NO_COUNTRY')
    expect(planOne([product({ cost: 0n })])).toBe('NO_COST')
    expect(planOne([product({ cost: 9_007_199_254_740_991n })])).toBe('PRICE_TOO_HIGH')
  })

  it('sells a day pass by the day, and an unlimited day pass for exactly one day', () => {
    const pass = product({ isDayPass: true, durationDays: 1 })
    expect(planOne([pass], { dayPassDaysMax: 60 })).toMatchObject({
      packageCode: 'JP_1GB-DAY_PASS',
      input: { dataType: 'DAILY', duration: 1, periodNumMin: 1, periodNumMax: 60 },
    })
    expect(planOne([{ ...pass, volume: null }])).toMatchObject({
      input: { dataType: 'UNLIMITED', volume: null, duration: 1, periodNumMin: null, periodNumMax: null },
    })
  })
})

describe('templates', () => {
  it.each<[string, Partial<OfferedProduct>, string]>([
    ['{place} {data} {days}', {}, 'Japan 1 GB 7 days'],
    [
      '{place} {data} {days}{topup}',
      { volume: null, durationDays: 1, packageType: 'TOPUP' },
      'Japan Unlimited 1 day top-up',
    ],
    [
      '{place} {data} {days}',
      { countries: ['JP', 'KR'], volume: 512n * 1024n ** 2n },
      'Japan and South Korea 512 MB 7 days',
    ],
    ['{name} by {supplier} ({product})', {}, 'Japan 1GB by a (P)'],
  ])('the template %s produces the expected package name', (template, parts, name) => {
    expect(nameOf(template, product(parts))).toBe(name)
  })

  it('produce distinct codes of at most 64 allowed characters', () => {
    expect(codeOf('{product}', product({ productCode: 'jp 1gb/ü' }))).toBe('jp-1gb-')
    const [one, other] = ['x'.repeat(70), `${'x'.repeat(69)}y`].map((code) =>
      codeOf('{product}', product({ productCode: code })),
    )
    expect([one!.length, other!.length]).toEqual([64, 64])
    expect(one).not.toBe(other)
    expect(codeOf('{area}', product({ countries: ['JP', 'KR'] }))).toMatch(/^R[0-9A-F]{8}$/)
  })
})
