import { expect, it } from 'vitest'
import { formatMoneyInput, isChanged, labelledError, markSaved, parseMoneyInput, parseQpsInput } from './form-values.ts'

it.each([
  ['1250.00', 12_500_000],
  [' 4.5 ', 45_000],
  ['-0.50', -5_000],
  ['0', 0],
])('the amount %j is parsed as %s ten-thousandths', (typed, amount) => {
  expect(parseMoneyInput(typed)).toEqual({ amount })
})

it.each([
  ['1,250', 'use the form 1250.00'],
  ['1,25', 'use the form 1250.00'],
  ['1.250,00', 'use the form 1250.00'],
  ['1 250', 'use the form 1250.00'],
  ['', 'use the form 1250.00'],
  ['1.00001', 'more than 4 decimal places'],
  ['900719925474.0992', 'the maximum is 900719925474.0991'],
])('the ambiguous or malformed amount %j is rejected with a message that explains why', (typed, words) => {
  expect(parseMoneyInput(typed)).toEqual({ error: expect.stringContaining(words) })
})

it('a formatted amount parses back unchanged, and a missing amount is shown as empty', () => {
  for (const amount of [12_500_000, 45_010, -1, 0])
    expect(parseMoneyInput(formatMoneyInput(amount))).toEqual({ amount })
  expect([formatMoneyInput(null), formatMoneyInput(undefined)]).toEqual(['', ''])
})

it('a form counts as changed while an editable field differs from its saved value', () => {
  const text = { type: 'text', value: 'a', defaultValue: 'a', disabled: false }
  const box = {
    type: 'checkbox',
    value: 'on',
    defaultValue: 'on',
    checked: true,
    defaultChecked: true,
    disabled: false,
  }
  const button = { type: 'submit', disabled: false }
  const form = { elements: [text, box, button] }
  expect(isChanged(form)).toBe(false)
  text.value = 'b'
  expect(isChanged(form)).toBe(true)
  expect(
    isChanged({
      elements: [
        { ...text, readOnly: true },
        { ...text, disabled: true },
      ],
    }),
  ).toBe(false)
  text.value = 'a'
  box.checked = false
  expect(isChanged(form)).toBe(true)
  markSaved(form)
  expect(isChanged(form)).toBe(false)
})

it.each([
  [undefined, null],
  ['0', 0],
  ['250', 250],
  ['1000000', undefined],
  ['-1', undefined],
  ['2.5', undefined],
])('the rate limit %j is parsed as %s requests per second', (typed, limit) => {
  expect(parseQpsInput(typed)).toBe(limit)
})

it('an amount must be whole in a currency without decimal places', () => {
  expect(parseMoneyInput('1000', 'JPY')).toEqual({ amount: 10_000_000 })
  expect(parseMoneyInput('1000.5', 'JPY')).toEqual({ error: expect.stringContaining('whole amount') })
})

const form = {
  elements: {
    namedItem: (name: string) => (name === 'clientName' ? { labels: [{ textContent: 'Name *' }] } : null),
  },
}

it.each([
  ['members of the request', { members: [{ member: 'clientName', reason: 'must not be empty' }] }],
  ['details', { details: [{ field: 'clientName', reason: 'must not be empty.' }] }],
  ['fields', { fields: { clientName: 'must not be empty' } }],
])('an error about %s starts with the field label', (_, data) => {
  expect(labelledError({ data }, form)).toBe('Name: must not be empty.')
})

it('an error that concerns no form field gets no label', () => {
  expect(labelledError({ data: { members: [{ member: 'prices.0', reason: 'is missing' }] } }, form)).toBeUndefined()
  expect(labelledError({ data: {} }, form)).toBeUndefined()
})
