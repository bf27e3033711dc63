import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const folder = join(import.meta.dirname, '../..')
const forms = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.tsx'))
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
  .filter(({ text }) => text.includes('<ReauthenticationFields'))

it('every form that submits a password also submits the confirmation that may replace it', () => {
  expect(forms.length).toBeGreaterThan(8)
  const incomplete = forms.flatMap(({ name, text }) =>
    (text.match(/\{[^{}]*(?<!['/])\bpassword\b(?!')[^{}]*\}/g) ?? [])
      .filter((names) => !/\bconfirmation\b/.test(names))
      .map((names) => `${name}: ${names}`),
  )
  expect(incomplete).toEqual([])
})
