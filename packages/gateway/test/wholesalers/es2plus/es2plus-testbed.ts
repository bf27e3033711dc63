import type { Es2plusConfig } from '@dealer-esim/wholesalers/es2plus/es2plus-config.ts'
import type { Supplier, SupplierRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { createTestDatabase } from '#test/harness/databases/database.ts'
import { startEs2plusServer } from '#test/harness/servers/es2plus-server.ts'
import { addSupplier, createShop } from '#test/harness/shop.ts'

type Changes = { [Name in keyof Es2plusConfig]?: Es2plusConfig[Name] | undefined }

export const REQUESTER = '1.3.6.1.4.1.31746'

/** Suppliers backed by a test SM-DP+, which is a real TLS 1.3 server. */
export async function createEs2plusTestbed() {
  const database = await createTestDatabase()
  const shop = await createShop(database.url)
  const server = await startEs2plusServer()
  let suppliers = 0
  let items = 0

  function configOf(changes: Changes) {
    const { url, identity } = server
    return { url, functionRequesterIdentifier: REQUESTER, ...identity, timeoutMs: 5_000, ...changes }
  }

  return {
    shop,
    server,
    /** A supplier with our certificate, unless changed. */
    async supplier(changes: Changes = {}): Promise<Supplier> {
      suppliers += 1
      const name = `smdp-${suppliers}`
      await addSupplier(shop, name, 'es2plus', configOf(changes))
      return shop.suppliers.get(name)!.supplier
    },
    /** Gives the supplier a different configuration. */
    async reconfigure({ name }: Supplier, changes: Changes): Promise<Supplier> {
      await shop.db.query({
        text: 'update suppliers set config = $2 where supplier = $1',
        values: [name, shop.cipher.encrypt(JSON.stringify(configOf(changes)), `supplier:${name}`)],
      })
      await shop.suppliers.refresh()
      return shop.suppliers.get(name)!.supplier
    },
    request(productCode = 'TYPE_1'): SupplierRequest {
      items += 1
      return { tenantId: shop.ids.uuid(), orderId: shop.ids.uuid(), itemNo: 1, key: `KEY-${items}`, productCode }
    },
    /** Ends the faults and discards the requests of a test. */
    reset(): void {
      Object.assign(server, { fault: {}, answers: {}, faultsRepeats: false, pads: true })
      server.requests.length = 0
    },
    async close() {
      await server.close()
      await shop.close()
      await database.drop()
    },
  }
}
