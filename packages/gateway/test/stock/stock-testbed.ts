import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { importStock, type StockImport } from '#stock/import-stock.ts'
import { createTestDatabase } from '../harness/databases/database.ts'
import { addSupplier, createShop } from '../harness/shop.ts'

export const BY = { actor: 'cli:test' } as const
const DAY_MS = 86_400_000

/** A shop with the stock supplier "warehouse", on a separate database. */
export async function createStockTestbed() {
  const database = await createTestDatabase()
  const shop = await createShop(database.url)
  await addSupplier(shop, 'warehouse', 'stock')
  /** The ICCIDs in the last file. */
  const iccids: string[] = []
  let serial = 0
  function file(count: number): Readable {
    iccids.length = 0
    const rows = Array.from({ length: count }, () => {
      serial += 1
      iccids.push(makeIccid('8986', serial))
      return `${iccids.at(-1)},LPA:1$smdp.example.com$SECRET-${serial}`
    })
    return Readable.from([`iccid,ac\n${rows.join('\n')}\n`])
  }
  const warehouse = () => shop.suppliers.get('warehouse')!.supplier
  return {
    shop,
    iccids,
    warehouse,
    load: (count: number, terms: Partial<StockImport> = {}) =>
      importStock(shop, { supplier: 'warehouse', productCode: 'P', file: file(count), ...terms }, BY),
    order: (...keys: string[]) =>
      warehouse().order(keys.map((key) => ({ tenantId: '', orderId: '', itemNo: 1, productCode: 'P', key }) as never)),
    inDays: (days: number) => new Date(Date.now() + days * DAY_MS),
    async clear() {
      for (const table of ['stock_codes', 'stock_batches', 'stock_levels', 'alerts', 'audit_log'])
        await shop.db.query({ text: `delete from ${table}` })
    },
    async close() {
      await shop.close()
      await database.drop()
    },
  }
}

export type StockTestbed = Awaited<ReturnType<typeof createStockTestbed>>
