import { expect, it } from 'vitest'
import { formatMoneyInput, isChanged, labelledError, markSaved, parseMoneyInput, parseQpsInput } from './form-values.ts'

it.each([
  ['1250.00', 12_500_000],
  [' 4.5 ', 45_000],
  ['-0.50', -5_000],
  ['0', 0],
])('the amount %j is read as %s ten-thousandths', (typed, amount) => {
  expect(parseMoneyInput(typed)).toEqual({ amount })
})

it.each([
  ['1,250', 'write it like 1250.00'],
  ['1,25', 'write it like 1250.00'],
  ['1.250,00', 'write it like 1250.00'],
  ['1 250', 'write it like 1250.00'],
  ['', 'write it like 1250.00'],
  ['1.00001', 'more than 4 decimal places'],
  ['900719925474.0992', 'the maximum is 900719925474.0991'],
])('the ambiguous or malformed amount %j is rejected with the right format', (typed, words) => {
  expect(parseMoneyInput(typed)).toEqual({ error: expect.stringContaining(words) })
})

it('a formatted amount is read back unchanged, and no amount is empty', () => {
  for (const amount of [12_500_000, 45_010, -1, 0])
    expect(parseMoneyInput(formatMoneyInput(amount))).toEqual({ amount })
  expect([formatMoneyInput(null), formatMoneyInput(undefined)]).toEqual(['', ''])
})

it('a form is changed while a field that can be edited differs from what was saved', () => {
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
])('the limit %j of requests per second is parsed as %s', (typed, limit) => {
  expect(parseQpsInput(typed)).toBe(limit)
})

it('an amount of a currency without decimal places is whole', () => {
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
])('an error about %s names the label of the field', (_, data) => {
  expect(labelledError({ data }, form)).toBe('Name: must not be empty.')
})

it('an error about something that is no field of the form is left as it is', () => {
  expect(labelledError({ data: { members: [{ member: 'prices.0', reason: 'is missing' }] } }, form)).toBeUndefined()
  expect(labelledError({ data: {} }, form)).toBeUndefined()
})
