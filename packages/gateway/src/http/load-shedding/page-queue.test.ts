import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { describe, expect, it, vi } from 'vitest'
import { createLoadShedder } from './load-shedder.ts'
import { createPageQueue, PIPELINED_MAX, WAITING_MAX } from './page-queue.ts'

describe('the page queue', () => {
  const connection = () => new PassThrough() as unknown as Socket
  const queueOf = (inProgress: number) =>
    createPageQueue({ clock: systemClock, requests: { inProgress: () => inProgress }, countRefused() {} })

  it('starts one request per turn in order of arrival, and the first request immediately', async () => {
    const pages = queueOf(0)
    const started: number[] = []
    const enter = (number: number) => pages.enter(connection(), () => started.push(number))
    for (let number = 0; number < 2; number++) enter(number)
    expect(started).toEqual([0])
    await turn()
    expect(started).toEqual([0, 1])
    enter(2)
    expect(started).toEqual([0, 1])
    await turn()
    expect(started).toEqual([0, 1, 2])
    await turn()
    enter(3)
    expect(started.at(-1)).toBe(3)
  })

  it('leaves two milliseconds between pages while dealers wait for answers', async () => {
    const pages = queueOf(1)
    const started: number[] = []
    const begunAt = performance.now()
    await Promise.all(
      Array.from(
        { length: 21 },
        () =>
          new Promise<void>((resolve) =>
            pages.enter(connection(), () => resolve(void started.push(performance.now()))),
          ),
      ),
    )
    expect(started).toHaveLength(21)
    expect(started.at(-1)! - begunAt).toBeGreaterThan(30)
  })

  it('refuses requests beyond its length, and logs their number once a second', async () => {
    const refused: unknown[] = []
    const log = { warn: (fields: object) => void refused.push(fields) } as unknown as Log
    const { pages } = createLoadShedder({ clock: systemClock, log })
    let started = 0
    const enter = () => pages.enter(connection(), () => started++)
    const entered = Array.from({ length: 1 + WAITING_MAX + 2 }, enter)
    expect(entered.filter((isEntered) => !isEntered)).toHaveLength(2)
    await turn()
    expect(enter()).toBe(true)
    while (started < 1 + WAITING_MAX + 1) await turn()
    await vi.waitFor(() => expect(refused).toEqual([{ refused: 2 }]), 20_000)
  })

  it('holds only a few requests from one connection, and none from a closed connection', async () => {
    const pages = queueOf(0)
    let started = 0
    const enter = (socket: Socket) => pages.enter(socket, () => started++)
    const [greedy, gone, other] = [connection(), connection(), connection()]
    for (let request = 0; request < 1 + PIPELINED_MAX; request++) enter(greedy)
    expect(greedy.destroyed).toBe(false)
    enter(greedy)
    expect(greedy.destroyed).toBe(true)
    enter(gone)
    gone.destroy()
    enter(other)
    await turn()
    expect(started).toBe(2)
  })
})
