import { expect, it } from 'vitest'
import { chooseLanguage } from './language.ts'

it('takes the first wanted language that is there, and writes numbers as its region does', () => {
  expect(chooseLanguage(['de-CH', 'en-GB', 'fr'], ['en', 'fr'])).toEqual({ language: 'en', locale: 'en-GB' })
  expect(chooseLanguage(['pt-BR', 'en'], ['en', 'pt', 'pt-BR'])).toEqual({ language: 'pt-BR', locale: 'pt-BR' })
  expect(chooseLanguage(['pt-PT', 'en'], ['en', 'pt'])).toEqual({ language: 'pt', locale: 'pt-PT' })
})

it('is English to whoever wants none that is there', () => {
  expect(chooseLanguage(['tlh', 'eo'], ['en', 'fr'])).toEqual({ language: 'en', locale: 'en' })
  expect(chooseLanguage([], ['en'])).toEqual({ language: 'en', locale: 'en' })
})
