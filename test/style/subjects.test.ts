import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Earlier commits do not follow the rule. */
const RULE_SINCE = '8ac2e89c680ad470aace692646f7ac1f92519b3f'

test.each([
  ['stock: refuse codes that a spreadsheet has cut', undefined],
  ['http: route requests in absolute form', undefined],
  ['Refuse codes that a spreadsheet has cut', /area: imperative/],
  ['things: refuse codes', /there is no area/],
  ['stock: refused codes', /imperative/],
  ['stock: refusing codes', /imperative/],
  ['stock: Refuse codes', /small letter/],
  ['stock: refuse codes.', /full stop/],
  [`stock: ${'refuse '.repeat(15)}`, /at most 100/],
])('%s', (subject, fault) => {
  const answer = check('--subject', subject)
  if (fault === undefined) expect(answer).toBe('')
  else expect(answer).toMatch(fault)
})

// A shallow clone, or one without git, does not have the commit.
const hasHistory = spawnSync('git', ['cat-file', '-e', RULE_SINCE]).status === 0

test.skipIf(!hasHistory)('every commit since the rule was introduced has a subject that follows the rule', () => {
  expect(check(`${RULE_SINCE}..HEAD`)).toBe('')
})

/** @returns what is wrong, or nothing */
function check(...args: string[]): string {
  return spawnSync(process.execPath, ['scripts/check-subjects.mjs', ...args], { encoding: 'utf8' }).stderr
}
