import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import type { Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { findDocuments } from '#catalogue/packages/read-packages.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { parseRate, setRate } from '#products/rules/exchange-rates.ts'
import { syncLoop } from '#products/sync/sync-loop.ts'
import { getSync, requestSync, setSyncInterval } from '#products/sync/sync-state.ts'
import { waitUntil } from '../harness/shop.ts'
import { createProductsTestbed, type ProductsTestbed } from './products-testbed.ts'

/* Workers read catalogues when they are due. */

let testbed: ProductsTestbed
let simulator: Simulator
let loops: Running[] = []

beforeAll(async () => {
  testbed = await createProductsTestbed()
  simulator = await testbed.addWholesaler('whole', 'zendit', 40)
})
afterEach(async () => {
  await Promise.all(loops.map((loop) => loop.stop(5_000)))
  loops = []
})
afterAll(() => testbed.close())

const work = () => loops.push(syncLoop(testbed))
const state = () => getSync(testbed.db, 'whole')
const reads = () => simulator.counters().requestsByOperation.catalogue ?? 0
const finishedAfter = (time: Date | null) =>
  waitUntil(async () => {
    const now = await state()
    return !now.isRunning && now.finishedAt !== null && (time === null || now.finishedAt > time) && now
  })

it('a new supplier’s catalogue is read immediately by one of several workers, and then every six hours', async () => {
  work()
  work()
  await waitUntil(() => state().catch(() => undefined))
  const done = await finishedAfter(null)
  expect(done).toMatchObject({ outcome: 'DONE', listed: 40, everyMinutes: 360 })
  expect(done.dueAt!.getTime() - done.finishedAt!.getTime()).toBe(360 * 60_000)
  expect(reads()).toBe(1)
})

it('a worker reads a catalogue on demand, and retries after 15 minutes if that fails', async () => {
  work()
  const { finishedAt } = await state()
  simulator.addFault({ kind: 'server-error-before', operation: 'catalogue' })
  await requestSync(testbed, 'whole', SYSTEM)
  const failed = await finishedAfter(finishedAt)
  simulator.clearFaults()
  expect(failed).toMatchObject({ outcome: 'FAILED', listed: 40, message: expect.stringContaining('cannot be read') })
  expect(failed.dueAt!.getTime() - failed.finishedAt!.getTime()).toBe(15 * 60_000)
})

it('a worker that stops hands its catalogue over to another worker', async () => {
  simulator.addFault({ kind: 'slow-answer', operation: 'catalogue', delayMs: 8_000, times: 1 })
  work()
  const { finishedAt } = await state()
  await requestSync(testbed, 'whole', SYSTEM)
  await waitUntil(async () => (await state()).isRunning)
  await loops.pop()!.stop(5_000)
  expect(await state()).toMatchObject({ isRunning: false })
  work()
  expect(await finishedAfter(finishedAt)).toMatchObject({ outcome: 'DONE' })
  simulator.clearFaults()
})

it('package prices follow a changed exchange rate', async () => {
  const rule = {
    currencyCode: 'EUR',
    percent: '10',
    filter: { countries: ['JP'] },
    whenCostsChange: 'REPRICE' as const,
  }
  const pair = { costCurrency: 'USD', saleCurrency: 'EUR' }
  await setRate(testbed, pair, { rate: parseRate('0.9'), ratedAt: new Date() }, SYSTEM)
  await testbed.setRule('euro', rule)
  const { lines } = await testbed.apply()
  const { packageCode, priceAfter } = lines[0]!
  await setRate(testbed, pair, { rate: parseRate('0.95'), ratedAt: new Date() }, SYSTEM)
  work()
  await waitUntil(async () => {
    const found = (await findDocuments(testbed.db, [packageCode])).get(packageCode)
    return found!.prices[0]!.price > priceAfter!
  })
})

it('a catalogue that an operator took off the schedule is still read on demand', async () => {
  await setSyncInterval(testbed, 'whole', null, SYSTEM)
  expect(await state()).toMatchObject({ dueAt: null })
  const { finishedAt } = await state()
  work()
  await requestSync(testbed, 'whole', SYSTEM)
  expect(await finishedAfter(finishedAt)).toMatchObject({ outcome: 'DONE', dueAt: null })
})
