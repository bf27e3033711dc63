import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DealerEsim } from '@dealer-esim/sdk'
import { expect, test } from 'vitest'
import { PHP_FOLDERS, phpSdk } from '#scripts/generate/php-sdk.ts'
import { postmanCollection, postmanEnvironment } from '#scripts/generate/postman-collection.ts'
import { pythonSdk } from '#scripts/generate/python-sdk.ts'
import { sdkModel } from '#scripts/generate/sdk-model.ts'
import { root } from '../local-gateway.ts'
import { methodOf } from './drivers.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')

const generated = { ...pythonSdk(), ...phpSdk() }

test.each(Object.entries(generated))('%s matches the contract (`npm run sdks` generates it)', (path, text) => {
  expect(read(path)).toBe(text)
})

test.each(PHP_FOLDERS)('%s contains only generated files', (folder) => {
  const files = readdirSync(join(root, folder)).map((name) => `${folder}/${name}`)
  expect(files.filter((path) => !(path in generated))).toEqual([])
})

test.each([
  ['docs/postman.json', postmanCollection()],
  ['docs/postman-environment.json', postmanEnvironment()],
])('%s matches the contract (`npm run postman` generates it)', (path, document) => {
  expect(read(path)).toBe(`${JSON.stringify(document, null, 2)}\n`)
})

test('a method has one name in all languages', () => {
  const names = sdkModel().operations.flatMap(({ method, rows }) => [method, rows?.method].filter(Boolean))
  const esim = new DealerEsim({ baseUrl: 'http://127.0.0.1:1', appKey: 'key', appSecret: 'secret' })
  expect(names.filter((name) => methodOf(esim, name!) === undefined)).toEqual([])
})

test.each(['python', 'php'])('the package for %s contains the licence', (language) => {
  expect(read(`sdks/${language}/LICENSE`)).toBe(read('LICENSE'))
})

test('the SDKs have the version of the gateway', () => {
  const { version } = JSON.parse(read('package.json'))
  expect(read('sdks/python/pyproject.toml')).toContain(`\nversion = "${version}"\n`)
})
