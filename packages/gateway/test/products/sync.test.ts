import { type Fault, type Form, SIMULATOR_KINDS, type Simulator } from '@dealer-esim/wholesaler-simulators'
import type { SupplierProduct, UnreadableEntry } from '@dealer-esim/wholesalers/supplier.ts'
import { readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM } from '#platform/audit/audit.ts'
import { acceptCatalogue } from '#products/sync/accept-catalogue.ts'
import { claimSync, runSync } from '#products/sync/run-sync.ts'
import { getSync } from '#products/sync/sync-state.ts'
import { createProductsTestbed, type ProductsTestbed } from './products-testbed.ts'

/* A supplier's catalogue becomes its products; a broken or implausible one changes nothing. */

let testbed: ProductsTestbed
let simulator: Simulator

beforeAll(async () => {
  testbed = await createProductsTestbed()
  simulator = await testbed.addWholesaler('whole', 'zendit', 60)
})
afterAll(() => testbed.close())

/** Every stored product and cost. */
async function stored() {
  const products = await testbed.db.query<{ productCode: string }>({
    text: 'select * from supplier_products order by supplier, product_code',
  })
  const costs = await testbed.db.query({
    text: 'select * from supplier_product_costs order by supplier, product_code, since',
  })
  return { products, costs }
}

async function firstCode(): Promise<string> {
  const [row] = await testbed.db.query<{ productCode: string }>({
    text: `select product_code from supplier_products where supplier = 'whole' and is_listed order by 1 limit 1`,
  })
  return row!.productCode
}

async function costsOf(productCode: string) {
  const rows = await testbed.db.query<{ cost: bigint | null }>({
    text: `select cost from supplier_product_costs where product_code = $1 order by since`,
    values: [productCode],
  })
  return rows.map(({ cost }) => cost)
}

describe('a sync', () => {
  it('stores every product with its cost', async () => {
    expect(await testbed.sync('whole')).toMatchObject({
      outcome: 'DONE',
      listed: 60,
      added: 60,
      changed: 0,
      removed: 0,
    })
    const { products, costs } = await stored()
    expect(products).toHaveLength(60)
    expect(costs).toHaveLength(60)
    const [sold] = await testbed.db.query<{ cost: bigint }>({
      text: `select cost from supplier_products where product_code = $1`,
      values: [await firstCode()],
    })
    expect(sold!.cost).toBeGreaterThan(0n)
    expect(await getSync(testbed.db, 'whole')).toMatchObject({ outcome: 'DONE', listed: 60, isRunning: false })
  })

  it('writes no rows if nothing has changed', async () => {
    const before = await stored()
    expect(await testbed.sync('whole')).toMatchObject({ outcome: 'DONE', added: 0, changed: 0, removed: 0 })
    expect(await stored()).toEqual(before)
  })

  it('keeps the cost history, and the history of a product that leaves and returns', async () => {
    const code = await firstCode()
    const [cost] = await costsOf(code)
    simulator.changeProduct({ code, price: Number(cost) + 100 })
    expect(await testbed.sync('whole')).toMatchObject({ added: 0, changed: 1, removed: 0 })
    simulator.changeProduct({ code, isListed: false })
    expect(await testbed.sync('whole')).toMatchObject({ added: 0, changed: 0, removed: 1 })
    simulator.changeProduct({ code, isListed: true })
    expect(await testbed.sync('whole')).toMatchObject({ added: 1, changed: 0, removed: 0 })
    expect(await costsOf(code)).toEqual([cost, cost! + 100n, null, cost! + 100n])
  })

  it('is run by one node at a time, and a node without its lease writes nothing', async () => {
    const claim = (await claimSync(testbed.db, ['whole'], true))!
    expect(await claimSync(testbed.db, ['whole'], true)).toBeUndefined()
    await testbed.db.query({ text: `update supplier_syncs set lease_until = now() - interval '1 second'` })
    const later = (await claimSync(testbed.db, ['whole'], true))!
    const code = await firstCode()
    simulator.changeProduct({ code, price: 77_700 })
    const before = await stored()
    const { supplier } = testbed.suppliers.get('whole')!
    expect(await runSync(testbed, claim, supplier)).toEqual({ outcome: 'LOST' })
    expect(await stored()).toEqual(before)
    expect(await runSync(testbed, later, supplier)).toMatchObject({ outcome: 'DONE', changed: 1 })
  })
})

describe('a catalogue with unreadable entries', () => {
  /** The wholesaler's catalogue, changed entry by entry. */
  function syncChanged(change: (product: SupplierProduct, index: number) => SupplierProduct | UnreadableEntry | null) {
    const { supplier } = testbed.suppliers.get('whole')!
    async function* catalogue() {
      let index = 0
      for await (const product of readableProducts(supplier)) {
        const changed = change(product, index++)
        if (changed !== null) yield changed
      }
    }
    return testbed.syncFrom('whole', { catalogue })
  }

  it('is read without those entries, whose products stay unchanged', async () => {
    await testbed.sync('whole')
    const before = await stored()
    const code = before.products[0]!.productCode
    const result = await syncChanged((product) =>
      product.productCode === code ? { productCode: code, entry: code, reason: 'its cost is unreadable' } : product,
    )
    expect(result).toMatchObject({ outcome: 'DONE', listed: 60, changed: 0, removed: 0, unreadable: 1, kept: 1 })
    expect(await stored()).toEqual(before)
    const named = [{ entry: code, reason: 'its cost is unreadable' }]
    expect(await getSync(testbed.db, 'whole')).toMatchObject({ unreadable: 1, kept: 1, unreadableEntries: named })
    expect(await testbed.sync('whole')).toMatchObject({ unreadable: 0, kept: 0, unreadableEntries: [] })
  })

  it('keeps every missing product while any entry does not identify its product', async () => {
    const before = await stored()
    const result = await syncChanged((product, index) =>
      index < 2 ? { entry: `entry ${index + 1}`, reason: 'it is not an object' } : index < 4 ? null : product,
    )
    expect(result).toMatchObject({ outcome: 'DONE', listed: 60, removed: 0, unreadable: 2, kept: 4 })
    expect(await stored()).toEqual(before)
  })

  it('still updates the other products and adds new ones', async () => {
    const result = await syncChanged((product, index) => {
      if (index === 0) return { entry: 'entry 1', reason: 'it is not an object' }
      if (index === 1) return { ...product, cost: product.cost + 100n }
      return index === 2 ? { ...product, productCode: 'NEW' } : product
    })
    expect(result).toMatchObject({ outcome: 'DONE', listed: 61, added: 1, changed: 1, removed: 0, kept: 2 })
    await testbed.sync('whole')
  })

  it('leaves out different products with the same code, and any product that the tables cannot store', async () => {
    const before = await stored()
    const [first] = before.products
    const result = await syncChanged((product, index) => {
      if (index === 1) return { ...product, productCode: first!.productCode }
      return index === 2 ? { ...product, durationDays: 0 } : product
    })
    expect(result).toMatchObject({ outcome: 'DONE', unreadable: 2, removed: 1 })
    await testbed.sync('whole')
  })

  it('alerts operators once if more than a fifth of the products could not be read', async () => {
    const alerts = (await testbed.alerts('SUPPLIER_CATALOGUE')).length
    const odd = (product: SupplierProduct, index: number) =>
      index < 13 ? { productCode: product.productCode, entry: product.productCode, reason: 'its unit is odd' } : product
    for (let round = 0; round < 2; round++) expect(await syncChanged(odd)).toMatchObject({ outcome: 'DONE', kept: 13 })
    const later = await testbed.alerts('SUPPLIER_CATALOGUE')
    expect(later).toHaveLength(alerts + 1)
    expect(later.at(-1)).toMatch(
      /^Part of the catalogue of whole could not be read: 13 entries are unreadable, such as/,
    )
    await testbed.sync('whole')
  })

  it('is held with a reason if no readable entry is left', async () => {
    const result = await syncChanged(({ productCode }) => ({ productCode, entry: productCode, reason: 'no net price' }))
    expect(result).toMatchObject({
      outcome: 'HELD',
      message: expect.stringMatching(/^it is empty; 60 entries are unreadable, such as \S+: no net price/),
    })
    await testbed.sync('whole')
  })
})

describe('an implausible or unreadable catalogue', () => {
  it.each<[string, Fault['kind'], RegExp]>([
    ['empty', 'catalogue-empty', /is held: it is empty\. Nothing was changed/],
    ['suddenly short', 'catalogue-short', /is held: 54 of 60 products are missing\./],
    ['priced ×100', 'catalogue-prices-x100', /60 of 60 costs are more than three times as high or as low/],
    [
      'in another currency',
      'catalogue-other-currency',
      /60 products have another currency, such as .* USD before, .* JPY now/,
    ],
  ])('that is %s changes nothing, and an alert says what to do', async (_, kind, message) => {
    const before = await stored()
    simulator.addFault({ kind, operation: 'catalogue' })
    const result = await testbed.sync('whole')
    simulator.clearFaults()
    expect(result).toMatchObject({ outcome: 'HELD' })
    expect(await stored()).toEqual(before)
    const [alert] = (await testbed.alerts('SUPPLIER_CATALOGUE')).slice(-1)
    expect(alert).toMatch(message)
    expect(alert).toMatch(/accept it on the supplier’s page\.$/)
  })

  it.each<[string, Fault]>([
    ['is cut off', { kind: 'answer-cut', operation: 'catalogue' }],
    ['is not JSON', { kind: 'answer-garbled', operation: 'catalogue' }],
    ['does not come', { kind: 'server-error-before', operation: 'catalogue' }],
  ])('that %s changes nothing, and is reported once', async (_, fault) => {
    await testbed.sync('whole')
    const before = await stored()
    const alerts = (await testbed.alerts('SUPPLIER_CATALOGUE')).length
    simulator.addFault(fault)
    expect(await testbed.sync('whole')).toMatchObject({ outcome: 'FAILED' })
    expect(await testbed.sync('whole')).toMatchObject({ outcome: 'FAILED' })
    simulator.clearFaults()
    expect(await stored()).toEqual(before)
    const later = await testbed.alerts('SUPPLIER_CATALOGUE')
    expect(later).toHaveLength(alerts + 1)
    expect(later.at(-1)).toMatch(/^The catalogue of whole could not be read: .* test the supplier on its page\.$/)
  })

  it('is applied as read if an operator accepts it while it is held', async () => {
    simulator.addFault({ kind: 'catalogue-prices-x100', operation: 'catalogue' })
    const result = await testbed.sync('whole')
    simulator.clearFaults()
    if (result.outcome !== 'HELD') throw new Error(result.outcome)
    const [cost] = (await costsOf(await firstCode())).slice(-1)
    const wrong = acceptCatalogue(testbed, 'whole', new Date(result.heldAt.getTime() - 1), SYSTEM)
    await expect(wrong).rejects.toMatchObject({ status: 409, code: 'NOT_HELD' })
    expect(await acceptCatalogue(testbed, 'whole', result.heldAt, SYSTEM)).toMatchObject({ changed: 60, listed: 60 })
    expect((await costsOf(await firstCode())).slice(-1)).toEqual([cost! * 100n])
    const again = acceptCatalogue(testbed, 'whole', result.heldAt, SYSTEM)
    await expect(again).rejects.toMatchObject({ code: 'NOT_HELD' })
    expect(await getSync(testbed.db, 'whole')).toMatchObject({ outcome: 'DONE', heldAt: null, message: null })
  })
})

describe('the catalogue', () => {
  it.each(SIMULATOR_KINDS)('of %s is read in every form that the wholesaler may send', async (kind) => {
    const forms: Form[] = [
      'odd-entries',
      'odd-product',
      'keyed-lists',
      'long-decimals',
      'unit-words',
      'unlimited-marks',
    ]
    const name = `odd-${kind}`
    await testbed.addWholesaler(name, kind, 60)
    const usual = await testbed.sync(name)
    await testbed.addWholesaler(`${name}-2`, kind, 60, { forms })
    const odd = await testbed.sync(`${name}-2`)
    if (usual.outcome !== 'DONE' || odd.outcome !== 'DONE') throw new Error(`${usual.outcome}, ${odd.outcome}`)
    expect(usual.unreadable).toBe(0)
    // eSIM Access has two lists, each with one faulty product.
    expect(odd.listed).toBe(usual.listed - (kind === 'esim-access' ? 2 : 1))
    expect(odd.unreadableEntries.map(({ reason }) => reason)).toContain('it is not an object')
    const costs = (supplier: string) =>
      testbed.db.query({
        text: 'select product_code, cost from supplier_products where supplier = $1 order by product_code',
        values: [supplier],
      })
    expect(await costs(name)).toEqual(expect.arrayContaining(await costs(`${name}-2`)))
  })

  it('for an account with discount prices contains the discounted costs', async () => {
    await testbed.addWholesaler('net', 'airalo', 60)
    await testbed.addWholesaler('discount', 'airalo', 60, { forms: ['discount-pricing'] })
    expect(await testbed.sync('net')).toMatchObject({ outcome: 'DONE', unreadable: 0 })
    expect(await testbed.sync('discount')).toMatchObject({ outcome: 'DONE', unreadable: 0 })
    const costs = (supplier: string) =>
      testbed.db.query({
        text: 'select product_code, cost from supplier_products where supplier = $1 order by 1',
        values: [supplier],
      })
    expect(await costs('discount')).toEqual(await costs('net'))
  })
})
