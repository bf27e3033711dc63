import { describe, expect, it } from 'vitest'
import { findOrders, listSold } from './airalo/lists.ts'
import { listProducts as airaloProducts } from './airalo/products.ts'
import { queryUsage } from './esim-access/esim-access.ts'
import { queryRows } from './esim-access/find.ts'
import { listProducts as esimAccessProducts, listSold as esimAccessSold } from './esim-access/lists.ts'
import { listProducts as esimGoProducts, listOrders, readOrders } from './esim-go/lists.ts'
import { reportOn as esimGoReport } from './esim-go/reports.ts'
import { findProfile } from './gateway/actions.ts'
import { listProducts as gatewayProducts, listProfiles } from './gateway/lists.ts'
import { listProducts as mobimatterProducts } from './mobimatter/lists.ts'
import { reportOn as mobimatterReport } from './mobimatter/reports.ts'
import type { ReportOutcome, SupplierProduct, SupplierRecord, UnreadableEntry } from './supplier.ts'
import { isUnreadable } from './unreadable-entry.ts'
import { listPurchases, listProducts as zenditProducts } from './zendit/lists.ts'
import { reportOn as zenditReport } from './zendit/reports.ts'

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
      return recordsOf(listSold({ get: reply({ data, meta: { last_page: 1 } }) }, new Date(0)))
    },
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
      return { read: found.value.map((row) => row.transactionId!), named: found.unreadable.map(({ entry }) => entry) }
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
      return { read: page!.orders.map(({ reference }) => reference), named: page!.unreadable.map(({ entry }) => entry) }
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
      return recordsOf(listPurchases({ get: reply({ list, total: list.length }) } as never, new Date(0)))
    },
  },
  'the sold eSIMs of eSIM Access': {
    entry: (transactionId) => ({
      transactionId,
      iccid: iccidOf(transactionId),
      createTime: '2026-11-25T12:00:00+0000',
    }),
    async readAll(esimList) {
      const call = async () => ({ kind: 'done' as const, obj: { esimList, pager: { total: esimList.length } } })
      return recordsOf(esimAccessSold(call as never, new Date()))
    },
  },
  'the sold eSIMs of eSIM Go': {
    entry: (orderReference) => ({
      orderReference,
      order: [{ item: 'B', esims: [{ iccid: iccidOf(orderReference) }] }],
    }),
    async readAll(orders) {
      const store = { listInDoubt: async () => [], findKeys: async () => new Map() }
      return recordsOf(listOrders({ get: reply({ orders, pageCount: 1 }) } as never, store as never, new Date(0)))
    },
  },
  'the eSIMs at another gateway': {
    entry: (transactionId) => ({ transactionId, iccid: iccidOf(transactionId), createTime: TIME }),
    async readAll(profileList) {
      const profiles = async () => ({ profileList, nextCursor: null })
      const upstream = async (send: (client: object) => Promise<unknown>) => ({ value: await send({ profiles }) })
      return recordsOf(listProfiles(upstream as never, new Date(0)))
    },
  },
  'the eSIMs of an order at another gateway': {
    entry: (name) => ({ transactionId: 'KEY', iccid: iccidOf(name) }),
    async readAll(profileList) {
      const profiles = async () => ({ profileList })
      const upstream = async (send: (client: object) => Promise<unknown>) => ({ value: await send({ profiles }) })
      return eachOf(async (name) => {
        const found = await findProfile(upstream as never, { key: 'KEY', iccid: iccidOf(name) } as never)
        if ('unreadable' in found) throw new Error(found.unreadable)
        return { isRead: found.profile !== undefined, unreadable: found.oddEntries }
      })
    },
  },
  'the usage of eSIM Access': {
    entry: (esimTranNo) => ({ esimTranNo, dataUsage: 1 }),
    async readAll(esimUsageList) {
      const call = async () => ({ kind: 'done' as const, obj: { esimUsageList } })
      return eachOf(async (name) => {
        const { usage, unreadable = [] } = await queryUsage(call, name)
        return { isRead: usage === 1n, unreadable }
      })
    },
  },
  'the bundles of an eSIM at eSIM Go': {
    entry: (name) => ({ name, assignments: [{ bundleState: 'active', startTime: startOf(name), endTime: TIME }] }),
    readAll: (bundles) =>
      startsRead(bundles, (shown) => esimGoReport({ get: dated({ bundles: shown }) } as never, ESIM)),
  },
  'the assignments of a bundle at eSIM Go': {
    entry: (name) => ({ bundleState: 'active', startTime: startOf(name), endTime: TIME }),
    readAll: (rows) =>
      startsRead(rows, (assignments) =>
        esimGoReport({ get: dated({ bundles: [{ name: 'B', assignments }] }) } as never, ESIM),
      ),
  },
  'the plans of an eSIM at Zendit': {
    entry: (name) => ({ startAt: startOf(name), endAt: TIME }),
    readAll: (rows) => startsRead(rows, (list) => zenditReport({ get: dated({ list }) } as never, ESIM)),
  },
  'the packages of an eSIM at MobiMatter': {
    entry: (name) => ({ activationDate: startOf(name), expirationDate: TIME }),
    readAll: (rows) =>
      startsRead(rows, (packages) =>
        mobimatterReport({ client: { info: dated({ result: { packages } }) }, store: STORE } as never, ESIM),
      ),
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

describe.each(Object.entries(LISTS))('%s', (_, { entry, readAll }) => {
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
      expect(named).toHaveLength(1)
    }
  })
})

const ESIM = { key: 'KEY', reference: 'R', iccid: iccidOf('A') } as never
const STORE = { claimInfo: async () => true }
/** A time of its own for each entry: a report has the earliest one. */
const startOf = (name: string) => `2026-11-0${name.charCodeAt(0) - 64}T00:00:00Z`

function dated(body: object) {
  return async () => ({ kind: 'reply', status: 200, body, retryAfterMs: undefined, time: new Date(TIME) }) as never
}

/** A report is the sum of its entries: an entry is read if the sum changes without it. */
async function startsRead(entries: unknown[], reportOn: (entries: unknown[]) => Promise<ReportOutcome>): Promise<Read> {
  const isEntry = (one: unknown) => typeof one === 'object' && one !== null && !Array.isArray(one)
  const read: string[] = []
  for (let first = 0; first < NAMES.length; first++) {
    const known = entries.filter(isEntry).slice(first)
    const outcome = await reportOn(entries.filter((one) => !isEntry(one) || known.includes(one)))
    const start = outcome.kind === 'reported' ? outcome.report.activateTime : undefined
    if (start?.toISOString() === new Date(startOf(NAMES[first]!)).toISOString()) read.push(NAMES[first]!)
  }
  return { read, named: ((await reportOn(entries)).unreadable ?? []).map(({ entry }) => entry) }
}

async function eachOf(
  find: (name: string) => Promise<{ isRead: boolean; unreadable: UnreadableEntry[] }>,
): Promise<Read> {
  const found = await Promise.all(NAMES.map(find))
  return {
    read: NAMES.filter((_, index) => found[index]!.isRead),
    named: found[0]!.unreadable.map(({ entry }) => entry),
  }
}

/** The records by key, and the unreadable entries by name. */
async function recordsOf(entries: AsyncIterable<SupplierRecord | UnreadableEntry>): Promise<Read> {
  const found = await all(entries)
  return {
    read: found.flatMap((one) => (isUnreadable(one) ? [] : one.key)),
    named: found.flatMap((one) => (isUnreadable(one) ? one.entry : [])),
  }
}

describe.each(Object.entries(LISTS).filter(([name]) => !/ of an (order|eSIM) at | of a bundle /.test(name)))(
  '%s, of thousands of entries',
  (_, { entry, readAll }) => {
    it('is read around one that is unreadable, at any position', async () => {
      const seed = Math.floor(Math.random() * 2 ** 31)
      const names = Array.from({ length: MANY }, (_, index) => NAMES[index % NAMES.length]!)
      for (const position of [0, seed % MANY, MANY]) {
        const entries: unknown[] = names.map(entry)
        entries.splice(position, 0, null)
        const { read, named } = await readAll(entries)
        const where = `seed ${seed}, position ${position}`
        expect(new Set(read), where).toEqual(new Set(NAMES))
        expect(named, where).toHaveLength(1)
        expect(named[0], where).toContain(` ${position + 1} of `)
      }
    })
  },
)

const MANY = 3_000

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
