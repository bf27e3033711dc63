import type { FaultKind } from '@dealer-esim/wholesaler-simulators'
import type { EsimGoConfig } from '@dealer-esim/wholesalers/esim-go/client.ts'
import { esimGoSupplier } from '@dealer-esim/wholesalers/esim-go/esim-go.ts'
import type { SuppliedEsim, SupplierRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { createWholesalerTestbed } from './wholesaler-testbed.ts'

export const TIMEOUT_MS = 600
export const PRODUCTS = 210

/** Two nodes of the supplier, with its wholesaler's simulator. */
export async function createEsimGoTestbed() {
  const testbed = await createWholesalerTestbed<EsimGoConfig>({
    kind: 'esim-go',
    catalogueSize: PRODUCTS,
    configOf: ({ url, credentials }) => ({
      url,
      apiKey: credentials.apiKey!,
      timeoutMs: TIMEOUT_MS,
      perSecond: 1_000,
    }),
    create: esimGoSupplier,
  })
  const { simulator, config, create, products } = testbed
  let serial = 0

  /** Each request is for a different bundle. */
  function requestOf(changes: Partial<SupplierRequest> = {}): SupplierRequest {
    serial += 1
    return testbed.requestOf({ productCode: products[serial]!.productCode, ...changes })
  }

  return {
    ...testbed,
    other: create(),
    requestOf,
    buy: (request = requestOf()) => testbed.buy(request),
    topUpOf({ key, reference, iccid, matchingId, productCode }: SuppliedEsim): SupplierRequest {
      return requestOf({ productCode, topUp: { key, reference, iccid, matchingId } })
    },
    /** The next order is carried out, but neither its answer nor the answer to the first search arrives. */
    loseOrder(kind: FaultKind = 'answer-lost'): void {
      simulator.addFault({ kind, operation: 'order', times: 1, delayMs: 2 * TIMEOUT_MS })
      simulator.addFault({ kind: 'request-lost', operation: 'list', times: 1 })
    },
    /** Somebody buys the bundle in eSIM Go's portal. */
    async buyByHand(item: string): Promise<void> {
      const line = { type: 'bundle', quantity: 1, item }
      const response = await fetch(`${simulator.url}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': config.apiKey },
        body: JSON.stringify({ type: 'transaction', assign: true, order: [line] }),
      })
      if (!response.ok) throw new Error(`it answered ${response.status}`)
    },
  }
}
