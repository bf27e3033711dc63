import { describe, expect, it } from 'vitest'
import { NEW_RULE, parseRule, typedRule } from './sale-rule-form.ts'

describe('the sale rule form', () => {
  it('submits a saved rule unchanged if nobody edits it', () => {
    const rule = {
      position: 7,
      suppliers: ['b', 'a'],
      filter: {
        countries: ['JP', 'KR'],
        countriesMax: 1,
        volumeMin: 1024 ** 3,
        volumeMax: 5.5 * 1024 ** 3,
        unlimited: false,
        daysMin: 1,
        daysMax: 30,
        packageType: 'BASE' as const,
        dayPass: true,
        name: 'travel',
      },
      currencyCode: 'EUR',
      percent: '12.5',
      fixed: 5_000,
      minMargin: 10_000,
      rounding: '.49/.99',
      nameTemplate: '{place}',
      codeTemplate: '{area}_{data}',
      supplierOrder: 'FIXED' as const,
      whenCostsChange: 'OFF_SALE' as const,
      dayPassDaysMax: 15,
    }
    expect(parseRule(typedRule(rule))).toEqual({ rule })
  })

  it('an empty condition selects everything', () => {
    const parsed = parseRule({ ...NEW_RULE, packageType: '' })
    expect('rule' in parsed && parsed.rule).toMatchObject({
      suppliers: null,
      filter: { countries: null, countriesMax: null, volumeMin: null, unlimited: null, packageType: null, name: null },
    })
  })

  it('shows malformed amounts next to their inputs', () => {
    expect(parseRule({ ...NEW_RULE, fixed: 'a dollar', minMargin: '1,5,0' })).toEqual({
      errors: { fixed: expect.any(String), minMargin: expect.any(String) },
    })
  })
})
