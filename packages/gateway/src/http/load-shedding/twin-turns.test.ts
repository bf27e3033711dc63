import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTwinTurns, TWINS_WAITING_MAX } from './twin-turns.ts'

describe('the turns of test twins', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())
  const startedAt: number[] = []
  function create() {
    startedAt.length = 0
    const begun = Date.now()
    const turns = createTwinTurns({ monotonic: () => Date.now() }, () => {})
    const send = async () => {
      await turns.take()
      startedAt.push(Date.now() - begun)
    }
    return { turns, send }
  }

  it('come immediately while no live dealer sends requests', async () => {
    const { send } = create()
    await Promise.all(Array.from({ length: 200 }, send))
    expect(startedAt).toEqual(Array(200).fill(0))
  })

  it('are 20 ms apart while one does, and immediate again a tenth of a second later', async () => {
    const { turns, send } = create()
    turns.noteLive()
    const sent = Array.from({ length: 8 }, send)
    await vi.advanceTimersByTimeAsync(1_000)
    await Promise.all(sent)
    expect(startedAt).toEqual([0, 20, 40, 60, 80, 100, 100, 100])
    await send()
    expect(startedAt.at(-1)).toBe(1_000)
  })

  it('are refused if too many wait', async () => {
    const { turns, send } = create()
    turns.noteLive()
    const sent = Array.from({ length: 1 + TWINS_WAITING_MAX }, send)
    await expect(send()).rejects.toMatchObject({ code: '000002' })
    await vi.advanceTimersByTimeAsync(1_000)
    await Promise.all(sent)
    expect(startedAt).toHaveLength(1 + TWINS_WAITING_MAX)
  })
})
