import { describe, expect, it } from 'vitest'
import { findOrders, listSold } from './airalo/lists.ts'
import { listProducts as airaloProducts } from './airalo/products.ts'
import { queryRows } from './esim-access/find.ts'
import { listProducts as esimAccessProducts } from './esim-access/lists.ts'
import { listProducts as esimGoProducts, readOrders } from './esim-go/lists.ts'
import { listProducts as gatewayProducts } from './gateway/lists.ts'
import { listProducts as mobimatterProducts } from './mobimatter/lists.ts'
import type { SupplierProduct, UnreadableEntry } from './supplier.ts'
import { isUnreadable } from './unreadable-entry.ts'
import { listPurchases, listProducts as zenditProducts } from './zendit/lists.ts'

/* One unreadable entry among many, at each position of every list: all others are read, and the entry is named. */

/** What was read, and what was named. */
interface Read {
  read: string[]
  named: string[]
}

const NAMES = ['A', 'B', 'C', 'D']
const TIME = '2026-11-25T12:00:00Z'
const iccidOf = (name: string) => `89999000000000000${name.charCodeAt(0)}`
const airaloPackage = (id: string) => ({ id, type: 'sim', net_price: 1, amount: 1_000, day: 1, is_unlimited: false })
const reply = (body: object) => async () =>
  ({ kind: 'reply', status: 200, body, retryAfterMs: undefined, time: undefined }) as never

interface List {
  entry(name: string): unknown
  readAll(entries: unknown[]): Promise<Read>
  /** Lists for the comparison of eSIMs have no place for what is unreadable. */
  isSilent?: true
}

const LISTS: Record<string, List> = {
  'the rows of Airalo’s catalogue': {
    entry: (name) => ({ slug: name, country_code: 'JP', operators: [{ packages: [airaloPackage(name)] }] }),
    readAll: (data) => productsOf(airaloProducts({ get: reply({ data, meta: { last_page: 1 } }) } as never, 'USD')),
  },
  'the operators of a row at Airalo': {
    entry: (name) => ({ packages: [airaloPackage(name)] }),
    readAll: (operators) => productsOf(airaloProducts({ get: reply(airaloRow({ operators })) } as never, 'USD')),
  },
  'the packages of an operator at Airalo': {
    entry: airaloPackage,
    readAll: (packages) =>
      productsOf(airaloProducts({ get: reply(airaloRow({ operators: [{ packages }] })) } as never, 'USD')),
  },
  'Airalo’s orders with a key': {
    entry: (name) => ({ id: name.charCodeAt(0), description: 'KEY' }),
    async readAll(data) {
      const { orders, unreadable } = await findOrders({ get: reply({ data, meta: { last_page: 1 } }) }, 'KEY')
      return { read: orders.map(({ id }) => String.fromCharCode(Number(id))), named: unreadable ? [unreadable] : [] }
    },
  },
  'Airalo’s sold eSIMs': {
    entry: (name) => ({ description: name, created_at: TIME, sims: [airaloSim(name)] }),
    async readAll(data) {
      const rows = listSold({ get: reply({ data, meta: { last_page: 1 } }) }, new Date(0))
      return { read: (await all(rows)).map(({ key }) => key), named: [] }
    },
    isSilent: true,
  },
  'the catalogue of eSIM Access': {
    entry: (packageCode) => ({ packageCode, name: packageCode, price: 1, duration: 1, volume: 1, dataType: 1 }),
    readAll(packageList) {
      const call = async (_: string, { type }: { type?: string }) => {
        return { kind: 'done' as const, obj: { packageList: type === 'BASE' ? packageList : [] } }
      }
      return productsOf(esimAccessProducts(call as never))
    },
  },
  'the eSIMs of eSIM Access': {
    entry: (transactionId) => ({ transactionId }),
    async readAll(esimList) {
      const call = async () => ({ kind: 'done' as const, obj: { esimList, pager: { total: esimList.length } } })
      const found = await queryRows(call, {})
      if ('failure' in found) throw new Error(found.failure.message)
      return { read: found.value.map((row) => row.transactionId!), named: found.odd ? [found.odd] : [] }
    },
  },
  'the catalogue of eSIM Go': {
    entry: (name) => ({ name, price: 1, duration: 1, dataAmount: 1_000, billingType: 'FixedCost' }),
    readAll(bundles) {
      const get = (path: string) =>
        reply(path === '/catalogue' ? { bundles, pageCount: 1 } : { currency: 'USD', balance: 1 })()
      return productsOf(esimGoProducts({ get } as never))
    },
  },
  'the orders of eSIM Go': {
    entry: (orderReference) => ({ orderReference, order: [{ item: 'B' }] }),
    async readAll(orders) {
      const [page] = await all(readOrders({ get: reply({ orders, pageCount: 1 }) } as never, new Date(0)))
      return { read: page!.orders.map(({ reference }) => reference), named: page!.odd ? [page!.odd] : [] }
    },
  },
  'the catalogue of MobiMatter': {
    entry: (productId) => ({
      ...{ productId, productCategory: 'esim_realtime', wholesalePrice: 1 },
      productDetails: [
        { name: 'PLAN_DATA_LIMIT', value: '1' },
        { name: 'PLAN_DATA_UNIT', value: 'GB' },
        { name: 'PLAN_VALIDITY', value: '24' },
      ],
    }),
    readAll: (result) => productsOf(mobimatterProducts({ products: reply({ result }) } as never)),
  },
  'the offers of Zendit': {
    entry: (offerId) => ({
      ...{ offerId, dataGB: 1, durationDays: 1 },
      cost: { fixed: 1, currency: 'USD', currencyDivisor: 100 },
    }),
    readAll: (list) => productsOf(zenditProducts({ get: reply({ list, total: list.length }) } as never)),
  },
  'the purchases of Zendit': {
    entry: (transactionId) => ({
      ...{ transactionId, status: 'DONE', createdAt: TIME },
      confirmation: { iccid: iccidOf(transactionId) },
    }),
    async readAll(list) {
      const rows = listPurchases({ get: reply({ list, total: list.length }) } as never, new Date(0))
      return { read: (await all(rows)).map(({ key }) => key), named: [] }
    },
    isSilent: true,
  },
  'the catalogue of another gateway': {
    entry: (packageCode) => ({
      ...{ packageCode, name: packageCode, status: 'ON_SALE', packageType: 'BASE', dataType: 'TOTAL' },
      ...{ volume: 1, duration: 1, price: 1, currencyCode: 'USD', locationCodes: ['JP'] },
    }),
    readAll(packageList) {
      const upstream = async (send: (client: object) => Promise<unknown>) => ({ value: await send({ packages }) })
      const packages = async ({ type }: { type: string }) => {
        return { packageList: type === 'BASE' ? packageList : [], nextCursor: null }
      }
      return productsOf(gatewayProducts(upstream as never))
    },
  },
}

describe.each(Object.entries(LISTS))('%s', (_, { entry, readAll, isSilent }) => {
  it.each([
    ['null', null],
    ['a number', 7],
    ['a text', 'odd'],
    ['an array', [1]],
  ])('with %s at each position is read around it', async (_, odd) => {
    for (let position = 0; position <= NAMES.length; position++) {
      const entries = NAMES.map(entry)
      entries.splice(position, 0, odd)
      const { read, named } = await readAll(entries)
      expect([...read].sort()).toEqual(NAMES)
      if (!isSilent) expect(named).toHaveLength(1)
    }
  })
})

/** The products by code, and the unreadable entries by name and reason. */
async function productsOf(entries: AsyncIterable<SupplierProduct | UnreadableEntry>): Promise<Read> {
  const found = await all(entries)
  return {
    read: found.flatMap((one) => (isUnreadable(one) ? [] : one.productCode)),
    named: found.flatMap((one) => (isUnreadable(one) ? `${one.entry}: ${one.reason}` : [])),
  }
}

async function all<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const found: Row[] = []
  for await (const row of rows) found.push(row)
  return found
}

function airaloRow(members: object) {
  return { data: [{ slug: 'japan', country_code: 'JP', ...members }], meta: { last_page: 1 } }
}

function airaloSim(name: string) {
  return { iccid: iccidOf(name), qrcode: `LPA:1$smdp.example.com$M-${name}` }
}
