import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { BEGUN_A_TURN, openTurns, PIPELINED_MAX, WAITING_MAX } from './turns.ts'

const quiet = () => {}
const connection = () => new PassThrough() as unknown as Socket

test('few begin in one turn, in their order, and the first ones at once', async () => {
  const turns = openTurns(quiet)
  const begun: number[] = []
  const wait = (number: number) => turns.wait(connection(), () => begun.push(number))
  for (let number = 0; number < 2 * BEGUN_A_TURN + 1; number++) wait(number)
  expect(begun).toEqual([0, 1, 2, 3])
  await turn()
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  wait(9)
  expect(begun).toHaveLength(8)
  await turn()
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  await turn()
  wait(10)
  expect(begun.at(-1)).toBe(10)
})

test('too many are told so, and counted', async () => {
  const told: number[] = []
  const turns = openTurns((refused) => told.push(refused))
  let begun = 0
  const wait = () => turns.wait(connection(), () => begun++)
  const taken = Array.from({ length: BEGUN_A_TURN + WAITING_MAX + 2 }, wait)
  expect(taken.filter((isTaken) => !isTaken)).toHaveLength(2)
  await turn()
  expect(wait()).toBe(true)
  while (begun < BEGUN_A_TURN + WAITING_MAX + 1) await turn()
  await vi.waitFor(() => expect(told).toEqual([2]), { timeout: 3_000 })
})

test('one connection holds few places, and none when it is gone', async () => {
  const turns = openTurns(quiet)
  let begun = 0
  const wait = (socket: Socket) => turns.wait(socket, () => begun++)
  const [greedy, gone, other] = [connection(), connection(), connection()]
  for (let request = 0; request < BEGUN_A_TURN + PIPELINED_MAX; request++) wait(greedy)
  expect(greedy.destroyed).toBe(false)
  wait(greedy)
  expect(greedy.destroyed).toBe(true)
  wait(gone)
  gone.destroy()
  wait(other)
  await turn()
  expect(begun).toBe(BEGUN_A_TURN + 1)
})
