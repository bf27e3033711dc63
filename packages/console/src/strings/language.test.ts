import { expect, it } from 'vitest'
import { chooseLanguage } from './language.ts'

it('the console chooses the first available preferred language, and uses its region for numbers', () => {
  expect(chooseLanguage(['de-CH', 'en-GB', 'fr'], ['en', 'fr'])).toEqual({ language: 'en', locale: 'en-GB' })
  expect(chooseLanguage(['pt-BR', 'en'], ['en', 'pt', 'pt-BR'])).toEqual({ language: 'pt-BR', locale: 'pt-BR' })
  expect(chooseLanguage(['pt-PT', 'en'], ['en', 'pt'])).toEqual({ language: 'pt', locale: 'pt-PT' })
})

it.each([
  ['zh-CN', 'zh-Hans'],
  ['zh', 'zh-Hans'],
  ['zh-SG', 'zh-Hans'],
  ['zh-TW', 'en'],
  ['zh-Hant-HK', 'en'],
])('a browser in %s gets the texts of %s', (browser, language) => {
  expect(chooseLanguage([browser, 'en'], ['en', 'zh-Hans'])).toMatchObject({ language })
})

it('what the person chose is taken before what the browser prefers, with a locale of that language', () => {
  expect(chooseLanguage(['zh-CN', 'en-GB'], ['en', 'zh-Hans'], 'en')).toEqual({ language: 'en', locale: 'en-GB' })
  expect(chooseLanguage(['de'], ['en', 'zh-Hans'], 'zh-Hans')).toEqual({ language: 'zh-Hans', locale: 'zh-Hans' })
  expect(chooseLanguage(['zh-CN'], ['en', 'zh-Hans'], 'fr')).toEqual({ language: 'zh-Hans', locale: 'zh-CN' })
})

it('the console chooses English if no preferred language is available', () => {
  expect(chooseLanguage(['tlh', 'eo', 'not a tag'], ['en', 'fr'])).toEqual({ language: 'en', locale: 'en' })
  expect(chooseLanguage([], ['en'])).toEqual({ language: 'en', locale: 'en' })
})
