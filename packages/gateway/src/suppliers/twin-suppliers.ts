import type { Clock } from '@dealer-esim/lib/clock.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { sandboxSupplier } from '@dealer-esim/wholesalers/sandbox/sandbox.ts'
import { SANDBOX_PRODUCTS } from '@dealer-esim/wholesalers/sandbox/sandbox-records.ts'
import type { Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import { tenantClock } from '#platform/test-time.ts'
import type { Availability } from './availability.ts'
import { createGate } from './supplier-gate.ts'
import type { ConfiguredSupplier, Suppliers } from './supplier-registry.ts'

interface TwinSuppliersDeps {
  live: Pick<Suppliers, 'get' | 'all'>
  /** In the schema of the twins, where the sandbox keeps its records. */
  db: Db
  linkKey: Buffer
  clock: Clock
}

const SANDBOX = 'sandbox'

/**
 * The suppliers of test twins: for each live supplier a sandbox of the same name that offers what the live one offers, such as
 * top-ups, and refuses what it does not (200015). It is never paused and never lacks money. No live supplier is called.
 */
export function createTwinSuppliers({ live, db, linkKey, clock }: TwinSuppliersDeps): Suppliers {
  const known = new Map<string, ConfiguredSupplier & { like: Supplier | undefined }>()

  function get(name: string): ConfiguredSupplier {
    const like = name === SANDBOX ? undefined : live.get(name)?.supplier
    const before = known.get(name)
    if (before && before.like === like) return before
    const supplier = offeringOnly(sandboxSupplier(name, {}, { db, linkKey, nowOf: tenantClock }), like)
    const gate = before?.gate ?? createGate(supplier.traits, clock)
    const made = { supplier, gate, paused: false, like }
    known.set(name, made)
    return made
  }

  return {
    get,
    all() {
      const names = new Set([SANDBOX, ...live.all().map(({ supplier }) => supplier.name), ...known.keys()])
      return [...names].map(get)
    },
    refresh: async () => {},
  }
}

/** @param like undefined: there is no such live supplier, or it is not loaded, so everything is offered */
function offeringOnly(sandbox: Supplier, like: Supplier | undefined): Supplier {
  // Its records are compared with no orders, because all of them are its own.
  const { list: _, topUp, suspend, unsuspend, revoke, sendSms, ...always } = sandbox
  const offered = { topUp, suspend, unsuspend, revoke, sendSms }
  const kept = Object.entries(offered).filter(([name]) => like === undefined || name in like)
  return { ...always, ...Object.fromEntries(kept), traits: traitsOf(sandbox, like) }
}

function traitsOf({ traits }: Supplier, like: Supplier | undefined): Supplier['traits'] {
  if (like === undefined) return traits
  const { topsUpExpired: _, ...rest } = traits
  const { topsUpExpired, cancelsUnseenOnly } = like.traits
  return { ...rest, ...(topsUpExpired && { topsUpExpired }), ...(cancelsUnseenOnly && { cancelsUnseenOnly }) }
}

/** Never reads stock: only the sandbox's package that is sold out is. */
export const TWIN_AVAILABILITY: Availability = {
  available: ({ routes }) =>
    routes.some(({ productCode }) => productCode === SANDBOX_PRODUCTS.outOfStock) ? 0 : undefined,
  refresh: async () => {},
}
