import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BEGUN_A_TURN, openTurns } from './turns.ts'

test('few begin in one turn, in their order, and the first ones at once', async () => {
  const turns = openTurns()
  const begun: number[] = []
  for (let number = 0; number < 2 * BEGUN_A_TURN + 1; number++) turns.wait(() => begun.push(number))
  expect(begun).toEqual([0, 1, 2, 3])
  await turn()
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  turns.wait(() => begun.push(9))
  expect(begun).toHaveLength(8)
  await turn()
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  await turn()
  turns.wait(() => begun.push(10))
  expect(begun.at(-1)).toBe(10)
})
