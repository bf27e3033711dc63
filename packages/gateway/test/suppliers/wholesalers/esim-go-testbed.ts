import { createSimulator, type FaultKind, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { createOutbound } from '../../../src/lib/outbound/outbound.ts'
import type { EsimGoConfig } from '../../../src/suppliers/esim-go/client.ts'
import { esimGoSupplier } from '../../../src/suppliers/esim-go/esim-go.ts'
import type {
  Outcome,
  SuppliedEsim,
  Supplier,
  SupplierProduct,
  SupplierRequest,
} from '../../../src/suppliers/supplier.ts'
import { createTestDatabase } from '../../harness/databases/database.ts'
import { addSupplier, createShop } from '../../harness/shop.ts'

export const TIMEOUT_MS = 600
export const PRODUCTS = 210

/** Two nodes of the supplier at its wholesaler's simulator, where purchases are counted. */
export async function createEsimGoTestbed() {
  const database = await createTestDatabase()
  const shop = await createShop(database.url)
  const outbound = createOutbound()
  const simulator: Simulator = await createSimulator('esim-go', { catalogueSize: PRODUCTS })
  const apiKey = simulator.credentials.apiKey!
  const config: EsimGoConfig = { url: simulator.url, apiKey, timeoutMs: TIMEOUT_MS, perSecond: 1_000 }
  await addSupplier(shop, 'wholesaler', 'esim-go', config)
  const create = (changes: Partial<EsimGoConfig> = {}): Supplier =>
    esimGoSupplier('wholesaler', { ...config, ...changes }, { ...shop, outbound })
  const [supplier, other] = [create(), create()]
  const products: SupplierProduct[] = []
  for await (const product of supplier.catalogue!()) products.push(product)
  let serial = 0

  /** Each request is for a bundle of its own. */
  function requestOf(changes: Partial<SupplierRequest> = {}): SupplierRequest {
    serial += 1
    const { productCode } = products[serial]!
    return { tenantId: 'T', orderId: `ORDER-${serial}`, itemNo: 1, key: `ORDER-${serial}-1`, productCode, ...changes }
  }

  async function order(request: SupplierRequest, by = supplier): Promise<Outcome> {
    const [outcome] = await (request.topUp ? by.topUp!([request as never]) : by.order([request]))
    return outcome!
  }

  return {
    shop,
    simulator,
    config,
    create,
    supplier,
    other,
    products,
    requestOf,
    order,
    async buy(request = requestOf()) {
      const outcome = await order(request)
      if (outcome.kind !== 'delivered') throw new Error(JSON.stringify(outcome))
      const { iccid, matchingId } = outcome.esim
      return { ...request, reference: outcome.reference, iccid, matchingId, shown: true }
    },
    topUpOf({ key, reference, iccid, matchingId, productCode }: SuppliedEsim): SupplierRequest {
      return requestOf({ productCode, topUp: { key, reference, iccid, matchingId } })
    },
    /** The next order is made, and neither its answer nor the first search arrives. */
    loseOrder(kind: FaultKind = 'answer-lost'): void {
      simulator.addFault({ kind, operation: 'order', times: 1, delayMs: 2 * TIMEOUT_MS })
      simulator.addFault({ kind: 'request-lost', operation: 'list', times: 1 })
    },
    /** Somebody buys the bundle in eSIM Go's portal. */
    async buyByHand(item: string): Promise<void> {
      const line = { type: 'bundle', quantity: 1, item }
      const response = await fetch(`${simulator.url}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
        body: JSON.stringify({ type: 'transaction', assign: true, order: [line] }),
      })
      if (!response.ok) throw new Error(`it answered ${response.status}`)
    },
    async close() {
      await simulator.close()
      await outbound.close()
      await shop.close()
      await database.drop()
    },
  }
}
