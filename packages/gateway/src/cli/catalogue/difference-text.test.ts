import { expect, test } from 'vitest'
import type { DifferenceLine, DifferenceWarning } from '#catalogue/packages/package-difference.ts'
import { differenceText } from './difference-text.ts'

const price = (
  before: number | null,
  after: number | null,
  warnings: DifferenceWarning[] = [],
  cost: number | null = null,
): DifferenceLine => ({ kind: 'PRICE', currencyCode: 'USD', before, after, change: null, cost, warnings })
const from = (supplier: string, productCode: string, costPrice: number | null = null) => ({
  ...{ supplier, productCode, costPrice, costCurrency: costPrice === null ? null : 'USD' },
})

test.each<[string, DifferenceLine, string[]]>([
  ['a price that falls', price(49_000, 100, ['PRICE_FALLS']), ['! price: USD 4.90 → 0.01 (−99.8 %)']],
  ['a price that rises', price(45_000, 45_025), ['price: USD 4.50 → 4.5025 (+0.1 %)']],
  ['a price that was 0', price(0, 10_000), ['price: USD 0.00 → 1.00']],
  ['a removed price', price(49_000, null, ['PRICE_REMOVED']), ['! price: USD 4.90 removed']],
  ['a new price', price(null, 49_000), ['price: USD 4.90 (new)']],
  [
    'a price that falls below cost',
    price(30_000, 20_000, ['BELOW_COST'], 27_000),
    ['price: USD 3.00 → 2.00 (−33.3 %)', "! USD 2.00 is below the cheapest supplier's cost of 2.70"],
  ],
  [
    'a cost that rises above its price',
    price(20_000, 20_000, ['BELOW_COST'], 27_000),
    ["! USD 2.00 is below the cheapest supplier's cost of 2.70"],
  ],
  [
    'a retail price',
    { kind: 'RETAIL_PRICE', currencyCode: 'USD', before: null, after: 99_900, change: null, cost: null, warnings: [] },
    ['retail price: USD none → 9.99'],
  ],
  [
    'another supplier',
    { kind: 'SUPPLIER', place: 1, before: from('sandbox', 'ZA_1_7'), after: from('missing', 'P') },
    ['supplier 1: sandbox/ZA_1_7 → missing/P'],
  ],
  [
    'another cost',
    { kind: 'SUPPLIER', place: 1, before: from('a', 'P', 20_000), after: from('a', 'P', 30_000) },
    ['supplier 1: cost USD 2.00 → USD 3.00 (+50 %)'],
  ],
  ['a second supplier', { kind: 'SUPPLIER', place: 2, before: null, after: from('b', 'Q') }, ['supplier 2: b/Q (new)']],
  [
    'a removed supplier',
    { kind: 'SUPPLIER', place: 1, before: from('a', 'P'), after: null },
    ['supplier 1: a/P removed'],
  ],
  ['locations', { kind: 'PLACES', added: ['TW'], removed: ['KR'] }, ['locations: +TW −KR']],
  ['the order of locations', { kind: 'PLACES', added: [], removed: [] }, ['locations: in another order']],
  [
    'a long text',
    { kind: 'MEMBER', member: 'speed', before: null, after: 'x'.repeat(61) },
    [`speed: none → ${'x'.repeat(60)}…`],
  ],
  ['a boolean', { kind: 'MEMBER', member: 'ekycRequired', before: false, after: true }, ['ekycRequired: no → yes']],
])('the difference in %s is described for operators', (_, line, expected) => {
  const texts = differenceText(line).map(({ message, isMarked }) => (isMarked ? `! ${message}` : message))
  expect(texts).toEqual(expected)
})
