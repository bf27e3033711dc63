import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fillLimits, rowsOfLimits } from '../bench/neighbours/limits-table.ts'
import { NEIGHBOURS } from '../bench/neighbours/neighbours.ts'
import { root } from './local-gateway.ts'

const page = readFileSync(join(root, 'docs/limits.md'), 'utf8')

test('the table of docs/limits.md has a row for each caller that the bench measures', () => {
  expect(rowsOfLimits(page)).toEqual(NEIGHBOURS.map(({ name }) => name))
})

test('the bench writes its figures into the table, and leaves rows that it did not measure', () => {
  const ratio = { median: 1.26, min: 1, max: 2 }
  const filled = fillLimits(page, [{ name: 'neighbours: receipts', ratio }])
  const changed = filled.split('\n').filter((line, index) => line !== page.split('\n')[index])
  expect(changed).toEqual([expect.stringMatching(/^\| `receipts` \|.*\| 1\.3 \|$/)])
  expect(rowsOfLimits(filled)).toEqual(rowsOfLimits(page))
})
