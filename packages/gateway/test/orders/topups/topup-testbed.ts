import { QPS_LIMIT_MAX } from '@dealer-esim/contract'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { Outcome, Supplier, SupplierRequest, TopUpRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { type Answer, addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createTestDatabase } from '#test/harness/databases/database.ts'
import { createScriptedSupplier, deliver } from '#test/harness/scripted-supplier.ts'
import { type Shop, waitUntil } from '#test/harness/shop.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'

export const GB = 1_073_741_824
/** 4.50 USD. */
export const PRICE = 45_000
/** The price of a day pass for one day. */
export const DAY_PRICE = 10_000

export interface Esim {
  dealer: Dealer
  esimTranNo: string
  iccid: string
  /** The number of the order that delivered it. */
  orderNo: string
}

/** Dealer API nodes on one database, and a supplier that answers as specified by the test. */
export interface TopUpTestbed {
  nodes: Node[]
  node: Node
  dealer: Dealer
  supplier: {
    /** By default the top-up is carried out. */
    topUp: (request: TopUpRequest) => Outcome | Promise<Outcome>
    /** By default, carries out top-ups as top-ups and delivers everything else. */
    query: (request: SupplierRequest) => Outcome
    toppedUp: TopUpRequest[]
    queried: SupplierRequest[]
    ordered: SupplierRequest[]
    /** The supplier itself, for its traits and methods. */
    itself: Supplier
  }
  json(of: Dealer, operation: string, body: object, node?: Node): Promise<Answer>
  delivered(packageCode?: string, of?: Dealer, periodNum?: number): Promise<Esim>
  /** Tops up the eSIM, with a new transactionId unless one is given. */
  topUp(esim: Esim, body?: object, node?: Node): Promise<Answer>
  /** Waits until the order has one of these statuses. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer of the API
  order(of: Dealer, transactionId: string, ...statuses: string[]): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: an answer of the API
  profile(esim: Esim): Promise<any>
  /** Sets columns of the eSIM's profile. */
  set(esim: Esim, columns: string): Promise<void>
  faults(): Promise<string[]>
  close(): Promise<void>
}

export async function createTopUpTestbed(nodeCount = 1, logs: { log?: Log } = {}): Promise<TopUpTestbed> {
  const database = await createTestDatabase()
  const nodes: Node[] = []
  for (let index = 0; index < nodeCount; index++) nodes.push(await startNode(database.url, {}, logs))
  const node = nodes[0]!
  const { db } = node.deps
  const supplier = supplyBy(nodes)
  await putPackages(node.deps, PACKAGES, OPERATOR)
  const loops = nodes.map((each) => fulfilmentLoop(each.deps))
  const dealer = await addDealer(node.deps)
  await changeSettings(node.deps, dealer.tenantId, { qpsLimit: QPS_LIMIT_MAX }, OPERATOR)
  let count = 0
  const json: TopUpTestbed['json'] = (of, operation, body, at = node) =>
    call(at, of, operation, { body: JSON.stringify(body) })
  return {
    ...{ nodes, node, dealer, supplier, json },
    async delivered(packageCode = 'JP_1_7', of = dealer, periodNum) {
      const transactionId = `O-${++count}`
      const packageInfoList = [{ packageCode, count: 1, ...(periodNum && { periodNum }) }]
      const { orderNo } = (await json(of, 'esim/order', { transactionId, packageInfoList })).data
      const [profile] = await waitUntil(async () => {
        const { profileList } = (await json(of, 'esim/profile/list', { transactionId })).data
        return profileList.length > 0 && profileList
      })
      return { dealer: of, esimTranNo: profile.esimTranNo, iccid: profile.iccid, orderNo }
    },
    topUp(esim, body = {}, at = node) {
      const request = {
        transactionId: `T-${++count}`,
        esimTranNo: esim.esimTranNo,
        packageCode: 'JP_1_7_TOPUP',
        ...body,
      }
      return json(esim.dealer, 'esim/topup', request, at)
    },
    order: (of, transactionId, ...statuses) =>
      waitUntil(async () => {
        const { data } = await json(of, 'esim/query', { transactionId })
        return statuses.includes(data.orderStatus) && data
      }),
    async profile({ dealer: of, esimTranNo }) {
      return (await json(of, 'esim/profile/list', { esimTranNo })).data.profileList[0]
    },
    async set({ dealer: of, esimTranNo }, columns) {
      const text = `update profiles set ${columns} where tenant_id = $1 and profile_id = $2`
      await db.query({ text, values: [of.tenantId, esimTranNo] })
    },
    async faults() {
      const faults: string[] = []
      await verifyLedger(db, { onFault: ({ message }) => faults.push(message) })
      return faults
    },
    async close() {
      for (const loop of loops) await loop.stop(5_000)
      for (const each of nodes) await each.stop()
      await database.drop()
    },
  }
}

const one = (packageCode: string, members: Record<string, unknown> = {}) =>
  packageInput({
    packageCode,
    status: 'ON_SALE',
    prices: [{ currencyCode: 'USD', price: PRICE, retailPrice: null }],
    suppliers: [{ supplier: 'sandbox', productCode: packageCode }],
    ...members,
  })
const pass = { dataType: 'DAILY', duration: 1, periodNumMin: 2, periodNumMax: 30 }
const dayPrice = { prices: [{ currencyCode: 'USD', price: DAY_PRICE, retailPrice: null }] }

const PACKAGES = [
  one('JP_1_7'),
  one('JP_1_7_TOPUP', { packageType: 'TOPUP' }),
  one('JP_OLD_TOPUP', { packageType: 'TOPUP', status: 'OFF_SALE' }),
  one('FR_TOPUP', { packageType: 'TOPUP', locationCodes: ['FR'] }),
  one('JP_HUGE_TOPUP', { packageType: 'TOPUP', volume: Number.MAX_SAFE_INTEGER }),
  one('JP_DAY', { ...pass, ...dayPrice }),
  one('JP_DAY_1', { ...pass, ...dayPrice, periodNumMin: 1 }),
  one('JP_DAY_TOPUP', { ...pass, ...dayPrice, packageType: 'TOPUP' }),
  one('JP_GONE_TOPUP', {
    packageType: 'TOPUP',
    suppliers: [{ supplier: 'sandbox', productCode: 'SANDBOX_OUT_OF_STOCK' }],
  }),
]

function supplyBy(nodes: Node[]): TopUpTestbed['supplier'] {
  const supplier: TopUpTestbed['supplier'] = {
    topUp: () => ({ kind: 'toppedUp' }),
    query: (request) => (request.topUp ? { kind: 'toppedUp' } : deliver()),
    ...{ toppedUp: [], queried: [], ordered: [] },
    itself: undefined as unknown as Supplier,
  }
  for (const node of nodes) {
    const { supplied } = createScriptedSupplier(node.deps as unknown as Shop, {
      name: 'sandbox',
      async order(requests) {
        supplier.ordered.push(...requests)
        return requests.map(deliver)
      },
      async topUp(requests) {
        supplier.toppedUp.push(...requests)
        return Promise.all(requests.map((request) => supplier.topUp(request)))
      },
      async query(requests) {
        supplier.queried.push(...requests)
        return requests.map((request) => supplier.query(request))
      },
    })
    supplier.itself ??= supplied.supplier
    const same = { ...supplied, supplier: supplier.itself }
    Object.assign(node.deps.suppliers, { get: () => same, all: () => [same] })
  }
  return supplier
}
