import { expect, test } from 'vitest'
import { type Code, codes, failureCodes, isCode } from './codes.ts'

/** Contract section 8, copied by hand, so that the table cannot drift from the published contract. */
const HTTP: Record<Code, number> = {
  '000000': 200,
  '000001': 500,
  '000002': 503,
  '000101': 400,
  '000102': 400,
  '000103': 405,
  '000104': 400,
  '000105': 400,
  '000106': 400,
  '000107': 400,
  '000108': 400,
  '000109': 404,
  '000110': 415,
  '000111': 413,
  '101001': 401,
  '101002': 403,
  '101003': 401,
  '101004': 401,
  '101005': 403,
  '101006': 409,
  '101007': 429,
  '101008': 403,
  '101009': 403,
  '200002': 409,
  '200005': 422,
  '200006': 422,
  '200007': 402,
  '200011': 422,
  '200012': 409,
  '200013': 404,
  '200014': 422,
  '200015': 422,
  '200017': 422,
  '200018': 422,
  '200019': 422,
  '310241': 422,
  '310244': 422,
  '310245': 422,
  '310403': 404,
  '400101': 422,
  '400102': 422,
}

test('every code has the HTTP status in the published contract', () => {
  expect(Object.fromEntries(Object.entries(codes).map(([code, { http }]) => [code, http]))).toEqual(HTTP)
})

test.each(Object.entries(codes))('%s has a unique name, a message and a remedy', (code, { name, message, remedy }) => {
  expect(name).toMatch(/^[A-Z]+(_[A-Z]+)*$/)
  expect(Object.values(codes).filter((other) => other.name === name)).toHaveLength(1)
  expect(remedy).toMatch(/^[A-Zd].{10,}\.$/)
  if (code !== '000000') expect(message).toMatch(/^[A-Z].{20,}\.$/)
})

test('a 5xx status is used only if nothing happened or the outcome is unknown', () => {
  expect(failureCodes.filter((code) => codes[code].http >= 500)).toEqual(['000001', '000002'])
})

test('names of built-in object properties are not accepted as codes', () => {
  for (const text of ['', '0', '999999', '__proto__', 'constructor', 'toString']) expect(isCode(text)).toBe(false)
})
