import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BEGUN_A_TURN, openTurns, WAITING_MAX } from './turns.ts'

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

test('too many are told so', async () => {
  const turns = openTurns()
  let begun = 0
  const taken = Array.from({ length: BEGUN_A_TURN + WAITING_MAX + 1 }, () => turns.wait(() => begun++))
  expect(taken.filter((isTaken) => !isTaken)).toHaveLength(1)
  await turn()
  expect(turns.wait(() => begun++)).toBe(true)
  while (begun < BEGUN_A_TURN + WAITING_MAX + 1) await turn()
})
