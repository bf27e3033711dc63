import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Result } from '../bench/compare.ts'
import { markdown } from '../bench/report.ts'
import { root } from './local-gateway.ts'

/* The page of the bench's figures stays what the bench would write for them, also where a word of it is mended by hand. */

const page = readFileSync(join(root, 'bench/RESULTS.md'), 'utf8')
const told = new Map([...page.matchAll(/^- `(.+?)`: (.*)\.$/gm)].map(([, name = '', words = '']) => [name, words]))
const cells = [...page.matchAll(/^\| (`.*) \|$/gm)].map(([, row = '']) => row.split(' | '))

let what = ''
const results = cells.map(([name, ratio, range, aim, ours, against, measured]): Result => {
  const [, median, mark] = /^\*\*([\d.]+)\*\*( [✓✗])?$/.exec(ratio!)!
  const [min, max] = range!.split(' to ').map(Number)
  const only = (value: string) => ({ median: Number(value), min: Number.NaN, max: Number.NaN })
  // Whoever has no line of its own is explained by the one before.
  what = told.get(name!.replaceAll('`', '')) ?? what
  return {
    ...{ name: name!.replaceAll('`', ''), what, notes: [], aim: aim!.trim(), measured: measured as Result['measured'] },
    ...{ ratio: { median: Number(median), min: min!, max: max! }, ours: only(ours!), against: only(against!) },
    met: mark === undefined ? undefined : mark === ' ✓',
  }
})

test('bench/RESULTS.md is what the bench writes for its figures', () => {
  expect(results.length).toBeGreaterThan(20)
  const settings = /^Measured with: (.*)\.$/m.exec(page)![1]!
  expect(markdown(results, [settings])).toBe(page)
})

test.each(results)('$name is marked as its ratio and its aim have it', ({ ratio, aim, met }) => {
  const [, sign, value] = /^([≥≤]) ([\d.]+)$/.exec(aim) ?? []
  const isMet = sign === '≥' ? ratio.median >= Number(value) : ratio.median <= Number(value)
  expect(met).toBe(aim === '' ? undefined : isMet)
})
