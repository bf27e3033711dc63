import { expect, it } from 'vitest'
import { NEW_RULE } from './sale-rule-form.ts'
import { ruleSentence } from './sale-rule-sentence.ts'

it('says the conditions and the price of a rule as typed', () => {
  expect(ruleSentence(NEW_RULE)).toBe('With eSIM. Price: cost + 25%, rounded up to .99, USD')
  expect(
    ruleSentence({
      ...NEW_RULE,
      ...{ suppliers: 'trial', countries: 'jp kr', volumeMin: '1', volumeMax: '5', daysMax: '30', name: 'travel' },
      ...{ dayPass: 'NONE', fixed: '0.5', rounding: 'none' },
    }),
  ).toBe(
    'trial · JP, KR · With eSIM · 1 to 5 GB · up to 30 days · No day passes · named “travel”. Price: cost + 25%, + USD\u00a00.50',
  )
})

it('says that a rule without a condition takes all products', () => {
  expect(ruleSentence({ ...NEW_RULE, packageType: '' })).toMatch(/^All products\. Price: cost/)
})

it('says nothing of amounts and currencies that are not understood', () => {
  expect(ruleSentence({ ...NEW_RULE, fixed: 'a dollar' })).toBeUndefined()
  expect(ruleSentence({ ...NEW_RULE, currencyCode: 'US', fixed: '1' })).toBeUndefined()
})
