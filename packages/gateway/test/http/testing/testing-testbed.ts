import { randomUUID } from 'node:crypto'
import { QPS_LIMIT_MAX } from '@dealer-esim/contract'
import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { type Answer, addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createTestDatabase } from '#test/harness/databases/database.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { startWorker } from '#worker.ts'

export const PRICE = 45_000

/** A gateway with its loops, whose packages the sandbox delivers. */
export interface TestingTestbed {
  node: Node
  json(of: Dealer, operation: string, body?: object, at?: Node): Promise<Answer>
  dealer(units?: number): Promise<Dealer>
  /** Buys eSIMs. @returns orderNo, transactionId and the other members of the answer */
  // biome-ignore lint/suspicious/noExplicitAny: an answer of the API
  buy(of: Dealer, packageCode?: string, count?: number): Promise<any>
  /** Waits until the order has one of these statuses. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer of the API
  order(of: Dealer, orderNo: string, ...statuses: string[]): Promise<any>
  /** Buys one eSIM and waits for it. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer of the API
  delivered(of: Dealer, packageCode?: string): Promise<any>
  faults(): Promise<string[]>
  close(): Promise<void>
}

const SANDBOX = ['OK', 'REFUSED', 'SLOW', 'UNKNOWN', 'USAGE'].map((name) => `SANDBOX_${name}`)
const FREE = { activationPolicy: 'ON_INSTALL', cancelPolicy: { cancellable: true, withinDays: 30, feePercent: 0 } }

const one = (packageCode: string, members: object = {}, productCode = packageCode) =>
  packageInput({
    packageCode,
    status: 'ON_SALE',
    prices: [{ currencyCode: 'USD', price: PRICE, retailPrice: null }],
    suppliers: [{ supplier: 'sandbox', productCode }],
    ...members,
  })

const PACKAGES = [
  ...SANDBOX.map((code) => one(code, FREE)),
  one('UNLIMITED', { dataType: 'UNLIMITED', volume: null }),
  one('SANDBOX_UNKNOWN_TOPUP', { packageType: 'TOPUP' }, 'SANDBOX_UNKNOWN'),
  one('SANDBOX_USAGE_TOPUP', { packageType: 'TOPUP' }, 'SANDBOX_USAGE'),
]

export async function createTestingTestbed(env: Record<string, string> = {}): Promise<TestingTestbed> {
  const database = await createTestDatabase()
  const node = await startNode(database.url, env)
  await putPackages(node.deps, PACKAGES, OPERATOR)
  Object.assign(node.deps.suppliers.get('sandbox')!.supplier.traits, { giveUpAfterMs: 600 })
  const worker: Running = await startWorker(node.deps)
  const json: TestingTestbed['json'] = (of, operation, body = {}, at = node) =>
    call(at, of, operation, { body: JSON.stringify(body) })
  const order: TestingTestbed['order'] = (of, orderNo, ...statuses) =>
    waitUntil(async () => {
      const { data } = await json(of, 'esim/query', { orderNo })
      return statuses.includes(data.orderStatus) && data
    })
  const buy: TestingTestbed['buy'] = async (of, packageCode = 'SANDBOX_OK', count = 1) => {
    const lines = { packageInfoList: [{ packageCode, count }] }
    return (await json(of, 'esim/order', { transactionId: randomUUID(), ...lines })).data
  }
  return {
    ...{ node, json, order, buy },
    async dealer(units) {
      const dealer = await addDealer(node.deps, units)
      await changeSettings(node.deps, dealer.tenantId, { qpsLimit: QPS_LIMIT_MAX }, OPERATOR)
      return dealer
    },
    async delivered(of, packageCode) {
      const { orderNo } = await buy(of, packageCode)
      return (await order(of, orderNo, 'DELIVERED')).profileList[0]
    },
    async faults() {
      const faults: string[] = []
      await verifyLedger(node.deps.db, { onFault: ({ message }) => faults.push(message) })
      return faults
    },
    async close() {
      await worker.stop(5_000)
      await node.stop()
      await database.drop()
    },
  }
}
