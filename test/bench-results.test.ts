import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Result } from '../bench/compare.ts'
import { fillLimits, rowsOfLimits } from '../bench/neighbours/limits-table.ts'
import { NEIGHBOURS } from '../bench/neighbours/neighbours.ts'
import { markdown } from '../bench/report.ts'
import { root } from './local-gateway.ts'

/* RESULTS.md must still match what the bench would write after its wording has been edited by hand. */

const page = readFileSync(join(root, 'bench/RESULTS.md'), 'utf8')
const explanations = new Map(
  [...page.matchAll(/^- `(.+?)`: (.*)\.$/gm)].map(([, name = '', text = '']) => [name, text]),
)
const cells = [...page.matchAll(/^\| (`.*) \|$/gm)].map(([, row = '']) => row.split(' | '))

let what = ''
const results = cells.map(([name, ratio, range, aim, ours, against, measured]): Result => {
  const [, median, mark] = /^\*\*([\d.]+)\*\*( [✓✗])?$/.exec(ratio!)!
  const [min, max] = range!.split(' to ').map(Number)
  const only = (value: string) => ({ median: Number(value), min: Number.NaN, max: Number.NaN })
  // A figure without its own explanation shares that of the figure before.
  what = explanations.get(name!.replaceAll('`', '')) ?? what
  return {
    ...{ name: name!.replaceAll('`', ''), what, notes: [], aim: aim!.trim(), measured: measured as Result['measured'] },
    ...{ ratio: { median: Number(median), min: min!, max: max! }, ours: only(ours!), against: only(against!) },
    met: mark === undefined ? undefined : mark === ' ✓',
  }
})

test('bench/RESULTS.md matches what the bench writes from its figures', () => {
  expect(results.length).toBeGreaterThan(20)
  const settings = /^Measured with: (.*)\.$/m.exec(page)![1]!
  expect(markdown(results, [settings])).toBe(page)
})

test.each(results)('the mark for $name matches its ratio and its target', ({ ratio, aim, met }) => {
  const [, sign, value] = /^([≥≤]) ([\d.]+)$/.exec(aim) ?? []
  const isMet = sign === '≥' ? ratio.median >= Number(value) : ratio.median <= Number(value)
  expect(met).toBe(aim === '' ? undefined : isMet)
})

const limitsPage = readFileSync(join(root, 'docs/limits.md'), 'utf8')

test('the table in docs/limits.md has a row for each caller that the bench measures', () => {
  expect(rowsOfLimits(limitsPage)).toEqual(NEIGHBOURS.map(({ name }) => name))
})

test('the bench writes its figures into the table, but does not change rows that it did not measure', () => {
  const ratio = { median: 1.26, min: 1, max: 2 }
  const filled = fillLimits(limitsPage, [{ name: 'neighbours: receipts', ratio }])
  const changed = filled.split('\n').filter((line, index) => line !== limitsPage.split('\n')[index])
  expect(changed).toEqual([expect.stringMatching(/^\| `receipts` \|.*\| 1\.3 \|$/)])
  expect(rowsOfLimits(filled)).toEqual(rowsOfLimits(limitsPage))
})
