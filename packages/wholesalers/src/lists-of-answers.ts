import { findOrders, listSold } from './airalo/lists.ts'
import { listProducts as airaloProducts, listTopUpsOf as airaloTopUps } from './airalo/products.ts'
import { queryRows } from './esim-access/find.ts'
import {
  listProducts as esimAccessProducts,
  listSold as esimAccessSold,
  listTopUpsOf as esimAccessTopUps,
} from './esim-access/lists.ts'
import { listProducts as esimGoProducts, listOrders, readOrders } from './esim-go/lists.ts'
import { listProducts as gatewayProducts, listProfiles } from './gateway/lists.ts'
import { listProducts as mobimatterProducts } from './mobimatter/lists.ts'
import type { ListedTopUps, SupplierProduct, SupplierRecord, UnreadableEntry } from './supplier.ts'
import { isUnreadable } from './unreadable-entry.ts'
import { listPurchases, listProducts as zenditProducts } from './zendit/lists.ts'

/*
 * Every list in the answers of the wholesalers, and how the tests read it. A list that is not in this table, or among the parts
 * in odd-parts.test.ts, fails the test there.
 */

/** What was read, and which entries were reported. */
interface Read {
  read: string[]
  named: string[]
}

export const NAMES = ['A', 'B', 'C', 'D']
const TIME = '2026-11-25T12:00:00Z'
/** Names of a long list are `N0`, `N1`, … */
const numberOf = (name: string) => (name.length === 1 ? name.charCodeAt(0) : 1_000 + Number(name.slice(1)))
const nameOf = (number: number) => (number < 1_000 ? String.fromCharCode(number) : `N${number - 1_000}`)
const iccidOf = (name: string) => `8999900000000${String(numberOf(name)).padStart(6, '0')}`
const airaloPackage = (id: string) => ({ id, type: 'sim', net_price: 1, amount: 1_000, day: 1, is_unlimited: false })
const priceOf = (fixed: unknown, currency: string, currencyDivisor: number) => ({ fixed, currency, currencyDivisor })
const reply = (body: object) => async () =>
  ({ kind: 'reply', status: 200, body, retryAfterMs: undefined, time: undefined }) as never

export interface List {
  /** Where the adapters read it: the file and the expression, the second time with ` (2)`. */
  reads?: string[]
  entry(name: string): unknown
  /** Values of members that make an entry unreadable. */
  odd?: Record<string, unknown[]>
  /** Only the first unreadable entry is reported, or all of them together by what contains them. */
  namesOne?: 'the first' | 'all together'
  readAll(entries: unknown[]): Promise<Read>
}

export const LISTS: Record<string, List> = {
  'the rows of Airalo’s catalogue': {
    reads: ["airalo/lists.ts: pageOf(reply, 'data', previous !== '')"],
    entry: (name) => ({ slug: name, country_code: 'JP', operators: [{ packages: [airaloPackage(name)] }] }),
    odd: { operators: [null, 7] },
    readAll: (data) => productsOf(airaloProducts({ get: reply({ data, meta: { last_page: 1 } }) } as never, 'USD')),
  },
  'the operators of a row at Airalo': {
    reads: ['airalo/products.ts: entriesOf(row.operators)'],
    entry: (name) => ({ packages: [airaloPackage(name)] }),
    odd: { packages: [null, 'odd'] },
    readAll: (operators) => productsOf(airaloProducts({ get: reply(airaloRow({ operators })) } as never, 'USD')),
  },
  'the packages of an operator at Airalo': {
    reads: ['airalo/products.ts: entriesOf(operator.packages)'],
    entry: airaloPackage,
    odd: { id: [null], type: [null], amount: ['odd'], day: [1.5, null], net_price: [null] },
    readAll: (packages) =>
      productsOf(airaloProducts({ get: reply(airaloRow({ operators: [{ packages }] })) } as never, 'USD')),
  },
  'Airalo’s orders with a key': {
    entry: (name) => ({ id: numberOf(name), description: 'KEY' }),
    odd: { description: [7, undefined] },
    namesOne: 'the first',
    async readAll(data) {
      const { orders, unreadable } = await findOrders({ get: reply({ data, meta: { last_page: 1 } }) }, 'KEY')
      return { read: orders.map(({ id }) => nameOf(Number(id))), named: unreadable ? [unreadable] : [] }
    },
  },
  'Airalo’s sold eSIMs': {
    entry: (name) => ({ description: name, created_at: TIME, sims: [airaloSim(name)] }),
    odd: { created_at: [null, 1.5], description: [7], sims: [[null], [{ iccid: 'odd' }], 7] },
    readAll: (data) => recordsOf(soldAtAiralo(data)),
  },
  'the eSIMs of an order at Airalo': {
    reads: ['airalo/decode.ts: entriesOf(sims)', 'airalo/lists.ts: entriesOf(sims)'],
    entry: airaloSim,
    odd: { iccid: [null, 1.5, 'odd'], qrcode: [null] },
    namesOne: 'all together',
    readAll: (sims) => recordsOf(soldAtAiralo([{ description: 'KEY', created_at: TIME, sims }]), byIccid),
  },
  'the packages of eSIM Access': esimAccessList('BASE'),
  'the top-ups of eSIM Access': esimAccessList('TOPUP'),
  'the top-ups of an eSIM at Airalo': {
    reads: ["airalo/products.ts: pageOf(answer, 'data', false)"],
    entry: (id) => ({ id }),
    odd: { id: [null, 7, ''] },
    readAll: (data) => topUpsOf(airaloTopUps({ get: reply({ data }) }, 'ICCID')),
  },
  'the top-ups of an eSIM at eSIM Access': {
    reads: ["esim-access/lists.ts: entriesIn(answer, 'packageList') (2)"],
    entry: (packageCode) => ({ packageCode }),
    odd: { packageCode: [null, 7, ''] },
    async readAll(packageList) {
      const call = async () => ({ kind: 'done' as const, obj: { packageList } })
      return topUpsOf(esimAccessTopUps(call, 'ICCID'))
    },
  },
  'the eSIMs of eSIM Access': {
    reads: ["esim-access/find.ts: entriesIn(answer, 'esimList')"],
    entry: (transactionId) => ({ transactionId }),
    async readAll(esimList) {
      const call = async () => ({ kind: 'done' as const, obj: { esimList, pager: { total: esimList.length } } })
      const found = await queryRows(call, {})
      if ('failure' in found) throw new Error(found.failure.message)
      return { read: found.value.map((row) => row.transactionId!), named: found.unreadable.map(({ entry }) => entry) }
    },
  },
  'the catalogue of eSIM Go': {
    reads: ["esim-go/lists.ts: pageOf(answer, member, previous !== '')"],
    entry: (name) => ({ name, price: 1, duration: 1, dataAmount: 1_000, billingType: 'FixedCost' }),
    odd: { name: [null], price: [null, 'odd'], duration: [1.5, null], dataAmount: [1.5, 'odd'] },
    readAll(bundles) {
      const get = (path: string) =>
        reply(path === '/catalogue' ? { bundles, pageCount: 1 } : { currency: 'USD', balance: 1 })()
      return productsOf(esimGoProducts({ get } as never))
    },
  },
  'the orders of eSIM Go': {
    entry: (orderReference) => ({ orderReference, order: [{ item: 'B' }] }),
    odd: { orderReference: [null], order: [null, [null], [{ item: 7 }]] },
    async readAll(orders) {
      const [page] = await all(readOrders({ get: reply({ orders, pageCount: 1 }) } as never, new Date(0)))
      return { read: page!.orders.map(({ reference }) => reference), named: page!.unreadable.map(({ entry }) => entry) }
    },
  },
  'the catalogue of MobiMatter': {
    reads: ["mobimatter/lists.ts: listOf(answer, 'result')"],
    entry: (productId) => ({
      ...{ productId, productCategory: 'esim_realtime', wholesalePrice: 1 },
      productDetails: planOf('1', 'GB', '24'),
    }),
    odd: {
      ...{ productId: [null], productCategory: [null], wholesalePrice: [null, 'odd'], currencyCode: ['dollar'] },
      productDetails: [null, planOf('1', 'XB', '24'), planOf('1.2.3', 'GB', '24'), planOf('1', 'GB', 'odd')],
    },
    readAll: (result) => productsOf(mobimatterProducts({ products: reply({ result }) } as never)),
  },
  'the offers of Zendit': {
    reads: ["zendit/lists.ts: pageOf(answer, 'list', previous !== '')"],
    entry: (offerId) => ({
      ...{ offerId, dataGB: 1, durationDays: 1 },
      cost: { fixed: 1, currency: 'USD', currencyDivisor: 100 },
    }),
    odd: {
      ...{ offerId: [null], dataGB: ['odd'], durationDays: [1.5, null] },
      cost: [null, priceOf(null, 'USD', 100), priceOf(1, 'USD', 1.5), priceOf(1, 'dollar', 100)],
    },
    readAll: (list) => productsOf(zenditProducts({ get: reply({ list, total: list.length }) } as never)),
  },
  'the purchases of Zendit': {
    entry: (transactionId) => ({
      ...{ transactionId, status: 'DONE', createdAt: TIME },
      confirmation: { iccid: iccidOf(transactionId) },
    }),
    odd: { transactionId: [null], status: [null], createdAt: [null, 1.5], confirmation: [null, { iccid: 'odd' }] },
    readAll: (list) => recordsOf(listPurchases({ get: reply({ list, total: list.length }) } as never, new Date(0))),
  },
  'the sold eSIMs of eSIM Access': {
    entry: (transactionId) => ({
      transactionId,
      esimTranNo: `E-${transactionId}`,
      iccid: iccidOf(transactionId),
      createTime: '2026-11-25T12:00:00+0000',
    }),
    odd: { transactionId: [7], iccid: ['odd', 1.5] },
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
    odd: {
      orderReference: [null],
      order: [null, ...[null, 7, { iccid: null }, { iccid: 1.5 }].map((esim) => [{ item: 'B', esims: [esim] }])],
    },
    readAll: (orders) => recordsOf(soldAtEsimGo(orders)),
  },
  'the eSIMs of an order at eSIM Go': {
    reads: ['esim-go/decode.ts: entriesOf(line.esims)'],
    entry: (name) => ({ iccid: iccidOf(name) }),
    odd: { iccid: [null, 1.5, undefined] },
    namesOne: 'all together',
    readAll: (esims) => recordsOf(soldAtEsimGo([{ orderReference: 'R', order: [{ item: 'B', esims }] }]), byIccid),
  },
  'the eSIMs at another gateway': {
    reads: ['gateway/lists.ts: readEach(profileList, …)'],
    entry: (transactionId) => ({ transactionId, iccid: iccidOf(transactionId), createTime: TIME }),
    odd: { transactionId: [null], iccid: ['odd', 1.5] },
    async readAll(profileList) {
      const profiles = async () => ({ profileList, nextCursor: null })
      const upstream = async (send: (client: object) => Promise<unknown>) => ({ value: await send({ profiles }) })
      return recordsOf(listProfiles(upstream as never, new Date(0)))
    },
  },
  'the packages of another gateway': gatewayList('BASE'),
  'the top-ups of another gateway': gatewayList('TOPUP'),
}

function esimAccessList(type: 'BASE' | 'TOPUP'): List {
  return {
    reads: ["esim-access/lists.ts: entriesIn(answer, 'packageList')"],
    entry: (packageCode) => ({ packageCode, name: packageCode, price: 1, duration: 1, volume: 1, dataType: 1 }),
    odd: {
      ...{ packageCode: [null], name: [null], price: [null, 'odd'], volume: [1.5, null] },
      ...{ durationUnit: ['FORTNIGHT'], duration: [1.5, null] },
    },
    readAll(packageList) {
      const call = async (_: string, asked: { type?: string }) => {
        return { kind: 'done' as const, obj: { packageList: asked.type === type ? packageList : [] } }
      }
      return productsOf(esimAccessProducts(call as never), type)
    },
  }
}

function gatewayList(type: 'BASE' | 'TOPUP'): List {
  return {
    reads: ['gateway/lists.ts: readEach(packageList, …)'],
    entry: (packageCode) => ({
      ...{ packageCode, name: packageCode, status: 'ON_SALE', packageType: type, dataType: 'TOTAL' },
      ...{ volume: 1, duration: 1, price: 1, currencyCode: 'USD', locationCodes: ['JP'] },
    }),
    odd: {
      ...{ packageCode: [null], packageType: ['odd'], volume: [1.5, null], duration: [1.5, null] },
      ...{ price: [1.5, null], currencyCode: ['dollar'], locationCodes: [null] },
    },
    readAll(packageList) {
      const upstream = async (send: (client: object) => Promise<unknown>) => ({ value: await send({ packages }) })
      const packages = async (asked: { type: string }) => {
        return { packageList: asked.type === type ? packageList : [], nextCursor: null }
      }
      return productsOf(gatewayProducts(upstream as never), type)
    },
  }
}

function soldAtAiralo(data: unknown[]) {
  return listSold({ get: reply({ data, meta: { last_page: 1 } }) }, new Date(0))
}

function soldAtEsimGo(orders: unknown[]) {
  const store = { listInDoubt: async () => [], findKeys: async () => new Map() }
  return listOrders({ get: reply({ orders, pageCount: 1 }) } as never, store as never, new Date(0))
}

function planOf(limit: string, unit: string, validity: string) {
  const details = { PLAN_DATA_LIMIT: limit, PLAN_DATA_UNIT: unit, PLAN_VALIDITY: validity }
  return Object.entries(details).map(([name, value]) => ({ name, value }))
}

/** The records by key, or by `nameIn`, and the unreadable entries by name. */
async function recordsOf(
  entries: AsyncIterable<SupplierRecord | UnreadableEntry>,
  nameIn = ({ key }: SupplierRecord) => key,
): Promise<Read> {
  const found = await all(entries)
  return {
    read: found.flatMap((one) => (isUnreadable(one) ? [] : nameIn(one))),
    named: found.flatMap((one) => (isUnreadable(one) ? one.entry : [])),
  }
}

const byIccid = ({ iccid }: SupplierRecord) => nameOf(Number(iccid.slice(-6)))

/** The products by code, and the unreadable entries by name and reason. */
async function productsOf(
  entries: AsyncIterable<SupplierProduct | UnreadableEntry>,
  type: 'BASE' | 'TOPUP' = 'BASE',
): Promise<Read> {
  const found = await all(entries)
  const other = found.find((one) => !isUnreadable(one) && one.packageType !== type)
  if (other !== undefined) throw new Error(`${JSON.stringify(other)} is not of the type ${type}`)
  return {
    read: found.flatMap((one) => (isUnreadable(one) ? [] : one.productCode)),
    named: found.flatMap((one) => (isUnreadable(one) ? `${one.entry}: ${one.reason}` : [])),
  }
}

async function topUpsOf(listing: Promise<ListedTopUps | undefined>): Promise<Read> {
  const { productCodes = [], unreadable = [] } = (await listing) ?? {}
  return { read: productCodes, named: unreadable.map(({ entry, reason }) => `${entry}: ${reason}`) }
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
