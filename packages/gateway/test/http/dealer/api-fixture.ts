import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import {
  type Answer,
  addDealer,
  call,
  type Dealer,
  type Node,
  OPERATOR,
  type RequestParts,
  startNode,
} from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createTestDatabase } from '#test/harness/databases/database.ts'
import { startTcpProxy } from '#test/harness/databases/database-proxies.ts'

export const PRICE = 45_000

/** Nodes, a dealer and a few packages: enough to cause every answer. */
export interface ApiFixture {
  node: Node
  /** Trusts a proxy that sends no forwarding headers. */
  proxied: Node
  /** Cut off from its database. */
  offline: Node
  dealer: Dealer
  json(of: Dealer, operation: string, body: unknown, parts?: RequestParts): Promise<Answer>
  /** Orders one eSIM with a new transactionId and with the given members changed. */
  order(of: Dealer, body?: Record<string, unknown>): Promise<Answer>
  dealerWith(settings: Parameters<typeof changeSettings>[2], units?: number): Promise<Dealer>
  close(): Promise<void>
}

export async function createApiFixture(): Promise<ApiFixture> {
  const database = await createTestDatabase()
  const proxy = await startTcpProxy(database.url)
  const node = await startNode(database.url)
  const proxied = await startNode(database.url, { TRUSTED_PROXIES: '127.0.0.1' })
  const offline = await startNode(proxy.url)
  proxy.cut()
  const dealer = await addDealer(node.deps)
  await addPackages(node)
  const json: ApiFixture['json'] = (of, operation, body, parts = {}) =>
    call(node, of, operation, { ...parts, body: JSON.stringify(body) })
  let orders = 0
  return {
    ...{ node, proxied, offline, dealer, json },
    order(of, body = {}) {
      const packageInfoList = [{ packageCode: 'JP_1_7', count: 1 }]
      return json(of, 'esim/order', { transactionId: `T-${++orders}`, packageInfoList, ...body })
    },
    async dealerWith(settings, units) {
      const made = await addDealer(node.deps, units)
      await changeSettings(node.deps, made.tenantId, settings, OPERATOR)
      return made
    },
    async close() {
      await Promise.all([node.stop(), proxied.stop(), offline.stop(500)])
      await proxy.close()
      await database.drop()
    },
  }
}

/** JP_1_7 can be bought; GONE is off sale, SOLD_OUT has no stock. */
export async function addPackages(node: Node): Promise<void> {
  const one = (packageCode: string, productCode: string) =>
    packageInput({
      packageCode,
      status: 'ON_SALE',
      prices: [{ currencyCode: 'USD', price: PRICE, retailPrice: null }],
      suppliers: [{ supplier: 'sandbox', productCode }],
    })
  const sold = one('SOLD_OUT', 'SANDBOX_OUT_OF_STOCK')
  await putPackages(node.deps, [one('JP_1_7', 'SANDBOX_OK'), one('GONE', 'SANDBOX_OK'), sold], OPERATOR)
  await setOnSale(node.deps, { packageCodes: ['GONE'] }, false, OPERATOR)
}
