import { afterEach, describe, expect, test } from 'vitest'
import { type FakeGateway, fakeGateway, ok, refusal, type Script } from '../test/fake-gateway.ts'
import { DealerEsim } from './client.ts'

let gateway: FakeGateway | undefined
afterEach(() => gateway?.close())

const ALLOCATING = { orderNo: 'O1', orderStatus: 'ALLOCATING' }
const which = { orderNo: 'O1' }

async function client(script: Script) {
  gateway = await fakeGateway(script)
  return new DealerEsim(gateway)
}

describe('when the time limit is reached', () => {
  test('a hanging query is aborted, and the previous answer is returned', async () => {
    const esim = await client((_operation, _body, arrival) => (arrival === 1 ? ok(ALLOCATING) : 'hang'))
    expect(await esim.waitForOrder(which, { waitMs: 400 })).toEqual(ALLOCATING)
    expect(gateway?.seen).toHaveLength(2)
  }, 5_000)

  test('a wait without any answer ends as TIMED_OUT, even between two attempts', async () => {
    for (const script of [(): 'hang' => 'hang', () => refusal(503, '000002', {}, { 'Retry-After': '30' })]) {
      const esim = await client(script)
      await expect(esim.waitForOrder(which, { waitMs: 100 })).rejects.toMatchObject({
        code: 'TIMED_OUT',
        message: expect.stringContaining('100 ms'),
      })
      await gateway?.close()
    }
  }, 5_000)
})

test('a wait of 0 sends one query without a separate time limit', async () => {
  const esim = await client(() => ok(ALLOCATING))
  expect(await esim.waitForOrder(which, { waitMs: 0 })).toEqual(ALLOCATING)
  expect(gateway?.seen).toHaveLength(1)
})

test("the caller's signal ends the wait as ABORTED, with or without an answer", async () => {
  const reason = new Error('the customer left')
  for (const answer of [ok(ALLOCATING), 'hang' as const]) {
    const controller = new AbortController()
    const esim = await client(() => {
      queueMicrotask(() => controller.abort(reason))
      return answer
    })
    await expect(esim.waitForOrder(which, { signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' })
    const before = esim.waitForOrder(which, { signal: controller.signal })
    await expect(before).rejects.toMatchObject({ code: 'ABORTED', cause: reason })
    await gateway?.close()
  }
})

test('a wait longer than a timer supports is accepted, and an invalid wait is rejected', async () => {
  const esim = await client((_operation, _body, arrival) =>
    ok({ ...ALLOCATING, ...(arrival > 1 && { orderStatus: 'DELIVERED' }) }),
  )
  expect(await esim.waitForOrder(which, { waitMs: 2 ** 40 })).toMatchObject({ orderStatus: 'DELIVERED' })
  for (const waitMs of [Number.NaN, -1]) {
    await expect(esim.waitForOrder(which, { waitMs })).rejects.toThrow(/waitMs must be/)
  }
})
