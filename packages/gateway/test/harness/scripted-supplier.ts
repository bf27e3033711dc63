import { makeIccid } from '@dealer-esim/contract'
import type { Outcome, Supplier, SupplierTraits } from '@dealer-esim/wholesalers/supplier.ts'
import { createGate } from '#suppliers/supplier-gate.ts'
import type { ConfiguredSupplier } from '#suppliers/supplier-registry.ts'
import type { Shop } from './shop.ts'

/**
 * A supplier whose calls are scripted by a test, and a node that buys from it. By default it delivers, refuses
 * cancellations and is healthy, and its limits are long enough that nothing times out during a test.
 */
export function createScriptedSupplier(
  shop: Shop,
  script: Partial<Supplier> = {},
  traits: Partial<SupplierTraits> = {},
) {
  const supplier: Supplier = {
    ...{ name: 'odd', type: 'gateway' },
    traits: {
      ...{ batch: 1, concurrency: 10, perSecond: null, timeoutMs: 60_000, graceMs: 0 },
      giveUpAfterMs: 3_600_000,
      ...traits,
    },
    order: async (requests) => requests.map(deliver),
    query: async (requests) => requests.map(deliver),
    cancel: async () => ({ kind: 'refused', message: 'not supported' }),
    test: async () => undefined,
    ...script,
  }
  const supplied: ConfiguredSupplier = { supplier, gate: createGate(supplier.traits, shop.clock), paused: false }
  return { supplied, deps: withSuppliers(shop, supplied) }
}

/** A node that has these suppliers in addition to the configured ones. */
export function withSuppliers(shop: Shop, ...all: ConfiguredSupplier[]): Shop {
  const get = (name: string) => all.find(({ supplier }) => supplier.name === name) ?? shop.suppliers.get(name)
  return { ...shop, suppliers: { ...shop.suppliers, get, all: () => all } }
}

export const deliver = (): Outcome => ({ kind: 'delivered', esim: newEsim() })

let created = 0
/** An eSIM that has not been delivered before. */
export function newEsim() {
  created += 1
  const matchingId = `M-${created}`
  return { iccid: makeIccid('8985777', created), smdpAddress: 'a.example', matchingId, smdpStatus: 'RELEASED' as const }
}
