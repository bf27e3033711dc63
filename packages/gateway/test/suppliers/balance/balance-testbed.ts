import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import type { BalanceOutcome } from '@dealer-esim/wholesalers/supplier.ts'
import { ensureBalance } from '#suppliers/balance/balance-state.ts'
import { claimBalance, readBalance } from '#suppliers/balance/read-balance.ts'
import { createTestDatabase } from '#test/harness/databases/database.ts'
import { addSupplier, createShop, type Shop } from '#test/harness/shop.ts'

/** A shop whose suppliers are simulated wholesalers where the operator has balances. */
export interface BalanceTestbed extends Shop {
  addWholesaler(name: string, kind?: WholesalerKind): Promise<Simulator>
  /** Reads a balance as a worker does. */
  read(supplier: string): Promise<BalanceOutcome>
  /** Messages of alerts of one kind, oldest first. */
  alerts(kind: string): Promise<string[]>
}

type WholesalerKind = 'airalo' | 'esim-access' | 'esim-go' | 'mobimatter' | 'zendit'

export async function createBalanceTestbed(): Promise<BalanceTestbed> {
  const database = await createTestDatabase()
  const shop = await createShop(database.url)
  const simulators: Simulator[] = []
  return {
    ...shop,
    async addWholesaler(name, kind = 'esim-access') {
      const simulator = await createSimulator(kind, { catalogueSize: 3 })
      simulators.push(simulator)
      await addSupplier(shop, name, kind, { url: simulator.url, ...simulator.credentials })
      return simulator
    },
    async read(name) {
      await ensureBalance(shop.db, name)
      const claim = await claimBalance(shop.db, [name], true)
      if (claim === undefined) throw new Error(`the balance at ${name} is being read by another node`)
      return readBalance(shop, claim, shop.suppliers.get(name)!.supplier)
    },
    async alerts(kind) {
      const rows = await shop.db.query<{ message: string }>({
        text: 'select message from alerts where kind = $1 order by alert_id',
        values: [kind],
      })
      return rows.map(({ message }) => message)
    },
    async close() {
      await shop.close()
      await Promise.all(simulators.map((simulator) => simulator.close()))
      await database.drop()
    },
  }
}
