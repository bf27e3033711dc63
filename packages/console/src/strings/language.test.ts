import { expect, it } from 'vitest'
import { chooseLanguage } from './language.ts'

it('the console chooses the first available preferred language, and uses its region for numbers', () => {
  expect(chooseLanguage(['de-CH', 'en-GB', 'fr'], ['en', 'fr'])).toEqual({ language: 'en', locale: 'en-GB' })
  expect(chooseLanguage(['pt-BR', 'en'], ['en', 'pt', 'pt-BR'])).toEqual({ language: 'pt-BR', locale: 'pt-BR' })
  expect(chooseLanguage(['pt-PT', 'en'], ['en', 'pt'])).toEqual({ language: 'pt', locale: 'pt-PT' })
})

it('the console chooses English if no preferred language is available', () => {
  expect(chooseLanguage(['tlh', 'eo'], ['en', 'fr'])).toEqual({ language: 'en', locale: 'en' })
  expect(chooseLanguage([], ['en'])).toEqual({ language: 'en', locale: 'en' })
})
