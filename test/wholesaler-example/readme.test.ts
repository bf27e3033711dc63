import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createOutbound, type Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Supplier, SupplierRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { readable } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listFiles, ROOT, readLines } from '../style/repository.ts'
import { API_KEY, type ExampleServer, ICCID, startExampleServer } from './example-server.ts'
import { findSources, importExample, listTypeFaults } from './worked-example.ts'

const WHOLESALERS = ['airalo', 'esim-access', 'esim-go', 'mobimatter', 'zendit']
const PACKAGE = join(ROOT, 'packages/wholesalers')
const readme = readFileSync(join(PACKAGE, 'README.md'), 'utf8')
const sources = findSources(readme)

/** The names in the first column of each table. */
const tables = readme.split(/\n\n/).flatMap((paragraph) =>
  paragraph.startsWith('| file')
    ? [
        paragraph
          .split('\n')
          .slice(2)
          .flatMap((row) => [...row.split('|')[1]!.matchAll(/`(.+?)`/g)].map(([, name = '']) => name)),
      ]
    : [],
)
const [beside = [], common = [], others = [], entered = []] = tables

function sourcesIn(folder: string): string[] {
  const names = readdirSync(join(PACKAGE, 'src', folder))
  return names.filter((name) => /(?<!\.test)\.ts$/.test(name))
}

describe('the README', () => {
  const layouts = WHOLESALERS.map((name) => sourcesIn(name).map((file) => (file === `${name}.ts` ? '<name>.ts' : file)))
  const shared = layouts.reduce((left, right) => left.filter((file) => right.includes(file)))

  it('lists the files beside the wholesalers’ folders', () => {
    expect([...beside].sort()).toEqual(sourcesIn('.').sort())
  })

  it('lists the files that every wholesaler has, and those that only some have', () => {
    expect([...common].sort()).toEqual([...shared].sort())
    const more = new Set(layouts.flat().filter((file) => !shared.includes(file)))
    expect([...others].sort()).toEqual([...more].sort())
  })

  it('lists every file that mentions the five wholesalers, and only files that exist', () => {
    const naming = listFiles(/\.(ts|tsx|json|md)$/).filter((path) => {
      if (/^packages\/wholesalers\/|^test\/wholesaler-example\/|^CHANGELOG\.md$/.test(path)) return false
      const text = readLines(path).join('\n')
      return WHOLESALERS.every((name) => text.includes(name))
    })
    expect(naming.filter((path) => !entered.includes(path))).toEqual([])
    expect(entered.filter((path) => path !== 'docs/<name>.md' && !existsSync(join(ROOT, path)))).toEqual([])
  })

  it('has an example with the files that every wholesaler has', () => {
    const named = [...sources.keys()].map((file) => (file === 'example.ts' ? '<name>.ts' : file))
    expect(named.sort()).toEqual([...shared].sort())
  })

  it('has an example that compiles with the repository’s options', () => {
    expect(listTypeFaults(sources)).toEqual([])
  })
})

describe('the example', () => {
  let server: ExampleServer
  let outbound: Outbound
  let create: (apiKey: string) => Supplier
  let supplier: Supplier
  beforeAll(async () => {
    server = await startExampleServer()
    outbound = createOutbound()
    const { exampleSupplier } = await importExample(sources)
    create = (apiKey) =>
      exampleSupplier('example', { url: server.url, apiKey }, { outbound, db: { query: async () => [] } })
    supplier = create(API_KEY)
  })
  afterAll(async () => {
    await server.close()
    await outbound.close()
  })

  let serial = 0
  function requestOf(productCode: string): SupplierRequest {
    serial += 1
    return { tenantId: 'T', orderId: `ORDER-${serial}`, itemNo: 1, key: `ORDER-${serial}-1`, productCode }
  }
  const order = async (request: SupplierRequest) => (await supplier.order([request]))[0]!
  const query = async (request: SupplierRequest) => (await supplier.query([request], 'RESUME'))[0]!
  const ordersOf = ({ key }: SupplierRequest) => server.orders.filter(({ requestId }) => requestId === key)

  const DELIVERED = {
    kind: 'delivered',
    esim: {
      ...{ iccid: ICCID, smdpAddress: 'smdp.example.com', matchingId: 'M-1' },
      charged: { amount: 45_000n, currencyCode: 'USD' },
    },
  }

  it('delivers an eSIM with its price', async () => {
    expect(await order(requestOf('FR-1GB'))).toEqual(DELIVERED)
  })

  it('refuses, or retries for lack of money, only if the wholesaler says that nothing was sold', async () => {
    expect(await order(requestOf('SOLD-OUT'))).toMatchObject({ kind: 'refused' })
    expect(await order(requestOf('TOO-EXPENSIVE'))).toMatchObject({ kind: 'retry', noMoney: true })
    expect(await order(requestOf('UNDOCUMENTED'))).toMatchObject({ kind: 'unknown' })
    expect(await order({ ...requestOf('FR-1GB'), periodNum: 3 })).toMatchObject({ kind: 'refused' })
  })

  it('leaves an order’s outcome unknown if the connection is lost, and a query finds the eSIM', async () => {
    const request = requestOf('ANSWER-LOST')
    expect(await order(request)).toMatchObject({ kind: 'unknown', down: true })
    expect(await query(request)).toEqual(DELIVERED)
    expect(ordersOf(request)).toHaveLength(1)
  })

  it('may repeat an order that the wholesaler does not know, or that was not sent', async () => {
    expect(await query(requestOf('FR-1GB'))).toMatchObject({ kind: 'retry' })
    const [unpaid] = await create('another-key').order([requestOf('FR-1GB')])
    expect(unpaid).toMatchObject({ kind: 'retry', down: true })
  })

  it('leaves the outcome unknown after a failed query', async () => {
    const request = requestOf('FR-1GB')
    await order(request)
    const [outcome] = await create('another-key').query([request], 'RESUME')
    expect(outcome).toMatchObject({ kind: 'unknown' })
  })

  it('waits for an order that is delivered later', async () => {
    const request = requestOf('LATER')
    expect(await order(request)).toMatchObject({ kind: 'ordered', reference: request.key })
    expect(await query(request)).toMatchObject({ kind: 'ordered' })
  })

  it('tops up the intended eSIM', async () => {
    const topUp = { key: 'ORDER-0-1', iccid: ICCID, matchingId: 'M-1' }
    const request = { ...requestOf('FR-1GB'), topUp }
    expect(await supplier.topUp!([request])).toMatchObject([{ kind: 'toppedUp', charged: { amount: 45_000n } }])
    const another = { ...request, topUp: { ...topUp, iccid: '8999900000000000025' } }
    expect(await query(another)).toMatchObject({ kind: 'unknown' })
  })

  it('lists the orders since a given time', async () => {
    const request = requestOf('FR-1GB')
    await order(request)
    expect(await keysSince(new Date(Date.now() - 60_000))).toContain(request.key)
    expect(await keysSince(new Date(Date.now() + 60_000))).toEqual([])
  })
  async function keysSince(since: Date): Promise<string[]> {
    const keys: string[] = []
    for await (const { key, iccid } of readable(supplier.list!(since))) if (iccid === ICCID) keys.push(key)
    return keys
  }

  it('lists the products that have a price', async () => {
    const products = []
    for await (const product of supplier.catalogue!()) products.push(product)
    expect(products).toMatchObject([
      { productCode: 'FR-1GB', countries: ['FR'], volume: 1_000_000_000n, durationDays: 7, cost: 45_000n },
    ])
    await expect(supplierProducts(create('another-key'))).rejects.toThrow('cannot read /products')
  })
  async function supplierProducts(one: Supplier): Promise<void> {
    for await (const _ of one.catalogue!());
  }

  it('reads the balance and tests the account', async () => {
    expect(await supplier.balance!()).toEqual({ kind: 'balance', amount: 999_500n, currencyCode: 'USD' })
    expect(await supplier.test()).toBeUndefined()
    expect(await create('another-key').test()).toContain('Credentials: Example answered 401 NO_ACCESS')
  })
})
