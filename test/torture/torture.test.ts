import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ATTACKS } from './attacks.ts'
import { type Outcome, reportText } from './report.ts'

const RUN = { startedAt: new Date(0), minutes: 60, seed: 7, commit: 'abc', machine: '2 × processor' }
const HELD: Outcome = {
  rounds: 2,
  seconds: 10,
  tests: 8,
  notRun: 0,
  figures: { kills: 40, topUpsAndActions: 1_234 },
  found: [],
}

test('every attack names tests and a page that exist', () => {
  const root = new URL('../..', import.meta.url).pathname
  const missing = ATTACKS.flatMap(({ files, page }) => [...files, page]).filter((file) => !existsSync(root + file))
  expect(missing).toEqual([])
})

test('the report adds the figures up, and says what was not attacked', () => {
  const text = reportText(ATTACKS.slice(0, 2), [HELD, { ...HELD, rounds: 0, tests: 0, figures: {} }], RUN)
  expect(text).toContain('| counted in all | kills 40, top ups and actions 1 234 |')
  expect(text).toContain('| found | nothing lost, nothing doubled |')
  expect(text).toContain('2 rounds, 8 tests; kills 40, top ups and actions 1 234 | held |')
  expect(text).toContain('| not attacked |')
  expect(text).not.toContain('## Found')
})

test('the report names each promise that did not hold', () => {
  const found = ['seed 8: an order: expected 1 | to be 0']
  const text = reportText(ATTACKS.slice(0, 1), [{ ...HELD, found }], RUN)
  expect(text).toContain('| **1 found** |')
  expect(text).toContain('- seed 8: an order: expected 1 \\| to be 0\n')
})
