import { createTestDatabase } from './databases/database.ts'
import { createShop, type Shop } from './shop.ts'

/** A shop with its own database, which `close` drops. */
export async function openShop(): Promise<Shop> {
  const database = await createTestDatabase()
  const shop = await createShop(database.url)
  return {
    ...shop,
    async close() {
      await shop.close()
      await database.drop()
    },
  }
}
