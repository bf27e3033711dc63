import { makeIccid } from '@dealer-esim/contract'
import { createGate } from '../../src/suppliers/gate.ts'
import type { ConfiguredSupplier } from '../../src/suppliers/registry.ts'
import type { Outcome, Supplier, SupplierTraits } from '../../src/suppliers/supplier.ts'
import type { Shop } from './shop.ts'

/**
 * A supplier that does what a test says, and the node that buys from it. What the script leaves out: it delivers, takes
 * nothing back and is well. Nothing of it is late, or given up, while a test runs.
 */
export function scripted(shop: Shop, script: Partial<Supplier> = {}, traits: Partial<SupplierTraits> = {}) {
  const supplier: Supplier = {
    ...{ name: 'odd', type: 'gateway' },
    traits: {
      ...{ batch: 1, concurrency: 10, perSecond: null, timeoutMs: 60_000, graceMs: 0 },
      giveUpAfterMs: 3_600_000,
      ...traits,
    },
    order: async (requests) => requests.map(deliver),
    query: async (requests) => requests.map(deliver),
    cancel: async () => ({ kind: 'refused', message: 'it does not' }),
    test: async () => undefined,
    ...script,
  }
  const supplied: ConfiguredSupplier = { supplier, gate: createGate(supplier.traits, shop.clock), paused: false }
  return { supplied, deps: supplying(shop, supplied) }
}

/** A node of this shop that knows these suppliers, beside those that it finds by their names. */
export function supplying(shop: Shop, ...all: ConfiguredSupplier[]): Shop {
  const get = (name: string) => all.find(({ supplier }) => supplier.name === name) ?? shop.suppliers.get(name)
  return { ...shop, suppliers: { ...shop.suppliers, get, all: () => all } }
}

export const deliver = (): Outcome => ({ kind: 'delivered', esim: newEsim() })

let made = 0
/** An eSIM that nobody has yet. */
export function newEsim() {
  made += 1
  const matchingId = `M-${made}`
  return { iccid: makeIccid('8985777', made), smdpAddress: 'a.example', matchingId, smdpStatus: 'RELEASED' as const }
}
