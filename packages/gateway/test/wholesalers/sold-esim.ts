import { fastify } from 'fastify'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { supplierApi } from '#http/supplier-api.ts'
import { addPackage, addTenant, payOrders, type Shop, statuses, waitUntil } from '../harness/shop.ts'

interface SentEvent {
  headers: Record<string, string>
  body: Buffer
}

/** An eSIM that a dealer has bought from the supplier `wholesaler`, and the route for that supplier's events. */
export async function createSoldEsim(shop: Shop, productCode: string) {
  const tenantId = await addTenant(shop.db)
  const packageCode = `SOLD-${tenantId}`
  await addPackage(shop.db, packageCode, [{ supplier: 'wholesaler', productCode }])
  await payOrders(shop.db, tenantId, packageCode)
  const loop = fulfilmentLoop(shop)
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  await loop.stop(5_000)
  const app = fastify()
  await app.register((scope) => supplierApi(scope, { ...shop, config: { trustedProxies: [], deployment: 'local' } }))

  async function find() {
    const [row] = await shop.db.query<{ iccid: string; orderUsage: bigint | null; totalVolume: bigint }>({
      text: 'select iccid, order_usage, total_volume from profiles where tenant_id = $1',
      values: [tenantId],
    })
    return row!
  }
  const { iccid, totalVolume } = await find()

  return {
    iccid,
    totalVolume,
    usage: async () => (await find()).orderUsage,
    /** Sends an event as the wholesaler does. @returns the status of the answer */
    async post({ headers, body }: SentEvent, remoteAddress = '127.0.0.1'): Promise<number> {
      const url = '/suppliers/wholesaler/events'
      return (await app.inject({ method: 'POST', url, headers, payload: body, remoteAddress })).statusCode
    },
    close: () => app.close(),
  }
}
