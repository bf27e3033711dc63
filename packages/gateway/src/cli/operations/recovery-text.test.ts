import { expect, test } from 'vitest'
import { soldText } from './recovery-text.ts'

const SAID = { supplier: 'depot', sold: 0, onSale: 3, noneSold: false, alreadySold: [], ordered: [], held: [] }

test('codes that are on sale again come with a warning if none of their batch is marked as sold', () => {
  expect(soldText(SAID)).toBe('0 codes marked as sold, 3 codes for sale again.')
  expect(soldText({ ...SAID, noneSold: true }).split('\n')).toEqual([
    '0 codes marked as sold, 3 codes for sale again.',
    'No code of the batch is marked as sold. If any were sold since the backup, mark them now: recovery stock depot --sold FILE --evidence TEXT',
  ])
})
