import {
  createSimulator,
  type Simulator,
  type SimulatorKind,
  type SimulatorOptions,
} from '@dealer-esim/wholesaler-simulators'
import type { Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { applyRules } from '#products/rules/apply-rules.ts'
import { setRule } from '#products/rules/manage-rules.ts'
import { type Preview, previewRules } from '#products/rules/preview-rules.ts'
import type { SaleRuleInput } from '#products/rules/sale-rule.ts'
import { claimSync, runSync, type SyncResult } from '#products/sync/run-sync.ts'
import { ensureSync } from '#products/sync/sync-state.ts'
import { createTestDatabase } from '../harness/databases/database.ts'
import { addSupplier, createShop, type Shop } from '../harness/shop.ts'

/** A shop whose suppliers are simulated wholesalers, on its own database. */
export interface ProductsTestbed extends Shop {
  /** Adds a supplier that has an account at a simulator. */
  addWholesaler(
    name: string,
    kind: SimulatorKind,
    catalogueSize: number,
    options?: SimulatorOptions,
  ): Promise<Simulator>
  /** Reads a catalogue as a worker does. */
  sync(supplier: string): Promise<SyncResult>
  /** The same, with a different catalogue. */
  syncFrom(supplier: string, from: Pick<Supplier, 'catalogue'>): Promise<SyncResult>
  setRule(ruleName: string, rule: SaleRuleInput): Promise<void>
  preview(): Promise<Preview>
  /** Previews the rules and applies exactly that. */
  apply(): Promise<Preview>
  /** Messages of alerts of one kind, oldest first. */
  alerts(kind: string): Promise<string[]>
}

export async function createProductsTestbed(): Promise<ProductsTestbed> {
  const database = await createTestDatabase()
  const shop = await createShop(database.url)
  const simulators: Simulator[] = []
  const preview = () => previewRules(shop.db)
  async function syncFrom(name: string, from: Pick<Supplier, 'catalogue'>): Promise<SyncResult> {
    await ensureSync(shop.db, name)
    const claim = await claimSync(shop.db, [name], true)
    if (claim === undefined) throw new Error(`${name} is being read by another node`)
    return runSync(shop, claim, from)
  }
  return {
    ...shop,
    async addWholesaler(name, kind, catalogueSize, options = {}) {
      const simulator = await createSimulator(kind, { catalogueSize, ...options })
      simulators.push(simulator)
      const { credentials, url } = simulator
      await addSupplier(shop, name, kind, { url, ...credentials, timeoutMs: 20_000 })
      return simulator
    },
    sync: (name) => syncFrom(name, shop.suppliers.get(name)!.supplier),
    syncFrom,
    setRule: (ruleName, rule) => setRule(shop, ruleName, rule, SYSTEM),
    preview,
    async apply() {
      const previewed = await preview()
      await applyRules(shop, previewed.basis, SYSTEM)
      return previewed
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
