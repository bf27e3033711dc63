import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM } from '#platform/audit/audit.ts'
import { claimSync, runSync } from '#products/sync/run-sync.ts'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { type ConsoleTestbed, signedInAs, startConsole } from '../http/console/console-testbed.ts'

/* Products, sale rules and exchange rates, as used by the console. */

let testbed: ConsoleTestbed
let simulator: Simulator
let operator: Awaited<ReturnType<typeof signedInAs>>

beforeAll(async () => {
  testbed = await startConsole()
  simulator = await createSimulator('zendit', { catalogueSize: 120 })
  const dailySpendLimit = { amount: '100.00', currencyCode: 'USD' }
  const config = { url: simulator.url, ...simulator.credentials, dailySpendLimit }
  await addSupplier(testbed.deps, { name: 'zen', type: 'zendit', config }, SYSTEM)
  await testbed.deps.suppliers.refresh()
  operator = await signedInAs(testbed, 'OPERATOR_STAFF')
})
afterAll(async () => {
  await testbed.stop()
  await simulator.close()
})

/** Runs everything that is due, as a worker does. */
async function work() {
  const claim = await claimSync(testbed.db, ['zen'])
  if (claim) await runSync(testbed.deps, claim, testbed.deps.suppliers.get('zen')!.supplier)
}

async function get(path: string) {
  const answer = await operator.call('GET', path)
  expect(answer.status).toBe(200)
  return answer.body
}

describe('products', () => {
  it('are read on demand, with progress, and listed page by page with filters', async () => {
    expect(await operator.call('POST', '/suppliers/zen/sync')).toMatchObject({ status: 200, body: { outcome: null } })
    await work()
    const { syncs } = await get('/supplier-syncs')
    expect(syncs).toMatchObject([
      { supplier: 'zen', outcome: 'DONE', listed: 120, productsRead: 120, everyMinutes: 360 },
    ])
    const first = await get('/supplier-products')
    const second = await get(`/supplier-products?cursor=${first.nextCursor}`)
    const third = await get(`/supplier-products?cursor=${second.nextCursor}`)
    const codes = [first, second, third].flatMap(({ products }) =>
      products.map((row: { productCode: string }) => row.productCode),
    )
    expect(new Set(codes).size).toBe(120)
    expect(third.nextCursor).toBeNull()
    const { products } = await get('/supplier-products?supplier=zen&country=JP&keyword=3gb&isSold=false')
    expect(products).toMatchObject([
      { supplier: 'zen', countries: expect.arrayContaining(['JP']), volume: 3_000_000_000 },
      ...products.slice(1),
    ])
    expect(await get('/supplier-products?isListed=false')).toEqual({ products: [], nextCursor: null, searchedTo: null })
    const { costs } = await get(`/supplier-products/costs?supplier=zen&productCode=${products[0].productCode}`)
    expect(costs).toMatchObject([{ cost: products[0].cost, currencyCode: 'USD' }])
  })

  it('are read as often as an operator has set, but not from a supplier without a catalogue', async () => {
    const set = (everyMinutes: number | null) => operator.call('PUT', '/suppliers/zen/sync', { everyMinutes })
    expect((await set(null)).body).toMatchObject({ everyMinutes: null, dueAt: null })
    expect((await set(60)).body).toMatchObject({ everyMinutes: 60, dueAt: expect.any(String) })
    expect(await set(1)).toMatchObject({ status: 400 })
    expect(await operator.call('POST', '/suppliers/sandbox/sync')).toMatchObject({ body: { code: 'NO_CATALOGUE' } })
  })

  it('of a held catalogue are accepted by stating the time at which it was held', async () => {
    simulator.addFault({ kind: 'catalogue-prices-x100', operation: 'catalogue' })
    await operator.call('POST', '/suppliers/zen/sync')
    await work()
    simulator.clearFaults()
    const [{ heldAt, outcome, message }] = (await get('/supplier-syncs')).syncs
    expect({ outcome, message }).toMatchObject({
      outcome: 'HELD',
      message: expect.stringContaining('120 of 120 costs'),
    })
    const notRead = async () => (await operator.call('POST', '/sale-rules/preview', {})).body.notRead
    expect(await notRead()).toEqual([{ supplier: 'zen', reason: 'HELD' }])
    const accept = (time: string) => operator.call('POST', '/suppliers/zen/sync/accept', { heldAt: time })
    expect(await accept('2026-01-01T00:00:00.000Z')).toMatchObject({ status: 409, body: { code: 'NOT_HELD' } })
    expect(await accept(heldAt)).toMatchObject({ status: 200, body: { outcome: 'DONE', heldAt: null } })
    expect(await notRead()).toEqual([])
    await testbed.db.query({ text: `insert into supplier_syncs (supplier, due_at) values ('sandbox', 'infinity')` })
    expect(await notRead()).toEqual([{ supplier: 'sandbox', reason: 'NEVER' }])
    await testbed.db.query({ text: `delete from supplier_syncs where supplier = 'sandbox'` })
  })
})

describe('sale rules', () => {
  const rule = { currencyCode: 'USD', percent: '20', rounding: '.99', filter: { countries: ['JP'], countriesMax: 1 } }

  it('are previewed as drafts, saved, applied as previewed, and deleted', async () => {
    const draft = { ruleName: 'japan', rule }
    const drafted = await operator.call('POST', '/sale-rules/preview', { draft })
    expect(drafted.body).toMatchObject({ doubtful: 0, products: 120, linesLeftOut: 0 })
    expect(drafted.body.counts.ADDED).toBe(drafted.body.lines.length)
    expect((await get('/sale-rules')).rules).toEqual([])
    const effect = (await operator.call('POST', '/sale-rules/effect', draft)).body
    const prices = drafted.body.lines.map((line: { priceAfter: number }) => line.priceAfter)
    const margins = drafted.body.lines.map((line: { margin: number; priceAfter: number }) =>
      Math.floor((line.margin * 100) / line.priceAfter),
    )
    expect(effect).toMatchObject({
      ...{ currencyCode: 'USD', packages: drafted.body.counts.ADDED, lowestPrice: Math.min(...prices) },
      ...{ lowestMargin: Math.min(...margins), highestMargin: Math.max(...margins) },
    })
    expect(effect.examples.map((one: { price: number }) => one.price)).toEqual(
      [...effect.examples.map((one: { price: number }) => one.price)].sort((a, b) => a - b),
    )
    expect(effect.examples.at(-1).price).toBe(Math.max(...prices))
    const nothing = { ruleName: 'none', rule: { ...rule, filter: { countries: ['AQ'] } } }
    expect((await operator.call('POST', '/sale-rules/effect', nothing)).body).toMatchObject({
      packages: 0,
      lowestPrice: null,
    })
    expect(await operator.call('POST', '/sale-rules/effect', { ...draft, rule: { percent: 'x' } })).toMatchObject({
      status: 422,
    })
    const apply = () => operator.call('POST', '/sale-rules/apply', { basis: drafted.body.basis })
    expect(await apply()).toMatchObject({ status: 409, body: { code: 'PREVIEW_OUTDATED' } })
    expect((await operator.call('PUT', '/sale-rules/japan', rule)).body).toMatchObject({ isApplied: false, rule })
    expect(await apply()).toMatchObject({ status: 200, body: { added: drafted.body.counts.ADDED, changed: 0 } })
    expect((await get('/sale-rules')).rules).toMatchObject([{ ruleName: 'japan', isApplied: true }])
    expect(await operator.call('PUT', '/sale-rules/japan', { percent: 'x' })).toMatchObject({ status: 422 })
    await operator.call('PUT', '/sale-rules/japan', { filter: { daysMin: 30 } })
    const less = await operator.call('POST', '/sale-rules/preview', { change: 'OFF_SALE' })
    expect(less.body.lines.length).toBe(less.body.counts.OFF_SALE)
    expect(less.body.lines[0]).toMatchObject({
      change: 'OFF_SALE',
      reason: expect.stringContaining('No supplier lists'),
    })
    expect(await get('/sale-rules/preview.csv')).toMatch(/^packageCode,change,/)
    const [{ packageCode }] = less.body.lines
    const released = await operator.call('POST', '/sale-rules/release', { packageCodes: [packageCode] })
    expect(released.body).toEqual({ released: [packageCode] })
    expect(await operator.call('DELETE', '/sale-rules/japan?keepPackages=true')).toMatchObject({ status: 200 })
    const kept = await operator.call('POST', '/sale-rules/preview', {})
    expect(kept.body.counts).toMatchObject({ OFF_SALE: 0, BLOCKED: 0 })
  })
})

it('exchange rates are entered with their date, and removed', async () => {
  const pair = { costCurrency: 'EUR', saleCurrency: 'USD' }
  const ratedAt = '2026-11-20T00:00:00.000Z'
  expect(await operator.call('PUT', '/exchange-rates', { ...pair, rate: '1.08', ratedAt })).toMatchObject({
    status: 200,
  })
  expect((await get('/exchange-rates')).rates).toMatchObject([{ ...pair, rate: '1.08', ratedAt }])
  expect(await operator.call('PUT', '/exchange-rates', { ...pair, rate: '-1', ratedAt })).toMatchObject({ status: 422 })
  expect(await operator.call('DELETE', '/exchange-rates?costCurrency=EUR&saleCurrency=USD')).toMatchObject({
    status: 200,
  })
  expect((await get('/exchange-rates')).rates).toEqual([])
})
