import type { Catalogue } from '#catalogue/catalogue.ts'
import type { Clock, DatabaseClock } from '#lib/clock.ts'
import type { Cipher } from '#lib/crypto.ts'
import type { Ids } from '#lib/ids.ts'
import type { Db } from '#lib/postgres/db.ts'
import type { Wakeups } from '#lib/postgres/wakeups.ts'
import type { Log } from '#lib/telemetry/log.ts'
import type { LoopMetrics } from '#lib/telemetry/metrics.ts'
import type { Traces } from '#lib/telemetry/traces.ts'
import type { OrderMetrics } from '#orders/change.ts'
import type { SupplierMetrics } from '#suppliers/gate.ts'
import type { Suppliers } from '#suppliers/registry.ts'

/** The part of Deps that fulfilment needs. */
export interface FulfilmentDeps {
  db: Db
  ids: Ids
  clock: Clock
  /** Decides when orders are due. */
  databaseClock: Pick<DatabaseClock, 'now'>
  cipher: Cipher
  /** Keys the fingerprints of activation codes that operators recorded. */
  linkKey: Buffer
  log: Log
  loops?: LoopMetrics
  wake: Pick<Wakeups<'fulfilment' | 'webhooks' | 'settings'>, 'wake' | 'on'>
  catalogue: Catalogue
  suppliers: Suppliers
  supplierMetrics?: SupplierMetrics
  orderMetrics?: OrderMetrics
  traces?: Traces | undefined
}
