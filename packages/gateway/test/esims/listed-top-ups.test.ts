import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import { createLog } from '@dealer-esim/lib/telemetry/json-log.ts'
import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import type { SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import { readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { addSupplier, type Shop, waitUntil } from '#test/harness/shop.ts'

/* A wholesaler states which top-ups an eSIM accepts. Here our own rule offers two, of which the eSIM accepts one. */

/** The operation that lists an eSIM's top-ups, besides catalogues. */
const LISTS = { airalo: 'topUps', 'esim-access': 'catalogue' } as const
type Kind = keyof typeof LISTS
const KINDS = Object.keys(LISTS) as Kind[]
/** Suppliers whose lists have entries that cannot be read. */
const ODD = { 'odd-airalo': 'airalo', 'odd-esim-access': 'esim-access' } as const
type Name = Kind | keyof typeof ODD
const NAMES = [...KINDS, ...(Object.keys(ODD) as Name[])]
const kindOf = (name: Name): Kind => (name in ODD ? ODD[name as keyof typeof ODD] : (name as Kind))

let database: TestDatabase
let node: Node
let dealer: Dealer
let loop: Running
const simulators = new Map<Name, Simulator>()
let logged = ''

beforeAll(async () => {
  database = await createTestDatabase()
  const lines = new PassThrough().setEncoding('utf8')
  lines.on('data', (text: string) => (logged += text))
  node = await startNode(database.url, {}, { log: createLog('info', lines) })
  for (const name of NAMES) {
    const kind = kindOf(name)
    const forms = name in ODD ? (['odd-entries'] as const) : []
    const simulator = await createSimulator(kind, { catalogueSize: 12, forms })
    simulators.set(name, simulator)
    await addSupplier(node.deps as unknown as Shop, name, kind, { url: simulator.url, ...simulator.credentials })
    await putPackages(node.deps, await packagesOf(name), OPERATOR)
  }
  dealer = await addDealer(node.deps)
  loop = fulfilmentLoop(node.deps)
})
afterAll(async () => {
  await loop.stop(5_000)
  await node.stop()
  for (const simulator of simulators.values()) await simulator.close()
  await database.drop()
})

/** A package for eSIMs, a top-up for them, and one for eSIMs of other countries. */
async function packagesOf(kind: Name) {
  const products: SupplierProduct[] = []
  for await (const product of readableProducts(node.deps.suppliers.get(kind)!.supplier)) products.push(product)
  const first = (packageType: string, isHome: boolean) =>
    products.find((one) => {
      const isSame = one.countries.join() === products[0]!.countries.join()
      return one.packageType === packageType && !one.isDayPass && isSame === isHome
    })!.productCode
  const one = (packageCode: string, productCode: string, packageType = 'TOPUP') =>
    packageInput({
      ...{ packageCode, packageType, status: 'ON_SALE', suppliers: [{ supplier: kind, productCode }] },
      prices: [{ currencyCode: 'USD', price: 1_000_000, retailPrice: null }],
    })
  return [
    one(`${kind}_BASE`, first('BASE', true), 'BASE'),
    one(`${kind}_TAKEN`, first('TOPUP', true)),
    one(`${kind}_OTHER`, first('TOPUP', false)),
  ]
}

let orders = 0

async function delivered(kind: Name): Promise<string> {
  const transactionId = `O-${++orders}`
  const packageInfoList = [{ packageCode: `${kind}_BASE`, count: 1 }]
  await call(node, dealer, 'esim/order', { body: JSON.stringify({ transactionId, packageInfoList }) })
  const [profile] = await waitUntil(async () => {
    const { data } = await call(node, dealer, 'esim/profile/list', { body: JSON.stringify({ transactionId }) })
    return data.profileList.length > 0 && data.profileList
  })
  return profile.esimTranNo
}

async function listed(esimTranNo: string): Promise<string[]> {
  const { code, data } = await call(node, dealer, 'package/list', {
    body: JSON.stringify({ type: 'TOPUP', esimTranNo, pageSize: 1 }),
  })
  expect(code).toBe('000000')
  const rest = data.nextCursor && { cursor: data.nextCursor }
  const second = rest
    ? await call(node, dealer, 'package/list', { body: JSON.stringify({ type: 'TOPUP', esimTranNo, ...rest }) })
    : undefined
  const packages = [...data.packageList, ...(second?.data.packageList ?? [])]
  return packages.map((one: { packageCode: string }) => one.packageCode).sort()
}

it.each(['odd-airalo', 'odd-esim-access'] as const)(
  'the top-ups of an eSIM of %s are those that can be read, and the other entries are logged by their place',
  async (name) => {
    const esim = await delivered(name)
    await waitUntil(async () => (await listed(esim)).length === 1)
    expect(await listed(esim)).toEqual([`${name}_TAKEN`])
    const [line] = logged.split('\n').filter((one) => one.includes('top-ups') && one.includes(name))
    for (const text of ['entry 1 of the list of top-ups', 'it is not an object']) expect(line).toContain(text)
  },
)

describe.each(KINDS)('the top-ups for an eSIM from %s', (kind) => {
  const asked = () => simulators.get(kind)!.counters().requestsByOperation[LISTS[kind]] ?? 0

  it('are those listed by the wholesaler, after a single query', async () => {
    const esim = await delivered(kind)
    const before = asked()
    await waitUntil(async () => (await listed(esim)).length === 1)
    expect(await listed(esim)).toEqual([`${kind}_TAKEN`])
    expect(asked() - before).toBe(1)
  })

  it.each(['down', 'answer-garbled', 'answer-lost'] as const)(
    'follow our own rule after the fault %s',
    async (fault) => {
      const esim = await delivered(kind)
      const before = asked()
      const simulator = simulators.get(kind)!
      simulator.addFault({ kind: fault, operation: LISTS[kind] })
      try {
        for (let time = 0; time < 2; time++) {
          expect(await listed(esim)).toEqual([`${kind}_OTHER`, `${kind}_TAKEN`])
        }
        expect(asked() - before).toBe(1)
      } finally {
        simulator.clearFaults()
      }
    },
  )

  it('follow our own rule while the supplier is paused, and the supplier is not called', async () => {
    const esim = await delivered(kind)
    const before = asked()
    const set = async (paused: boolean) => {
      await node.deps.db.query({
        text: 'update suppliers set paused = $2 where supplier = $1',
        values: [kind, paused],
      })
      await node.deps.suppliers.refresh()
    }
    await set(true)
    try {
      expect(await listed(esim)).toEqual([`${kind}_OTHER`, `${kind}_TAKEN`])
      expect(asked()).toBe(before)
    } finally {
      await set(false)
    }
  })

  it('follow our own rule while the wholesaler does not answer', async () => {
    const esim = await delivered(kind)
    const simulator = simulators.get(kind)!
    simulator.addFault({ kind: 'slow-answer', operation: LISTS[kind], delayMs: 4_000, times: 1 })
    expect(await listed(esim)).toEqual([`${kind}_OTHER`, `${kind}_TAKEN`])
    // A late answer is used for the next request.
    await waitUntil(async () => {
      await delay(200)
      return (await listed(esim)).length === 1
    })
  })
})
