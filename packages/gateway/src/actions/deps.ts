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

/** The part of Deps that actions need. */
export interface ActionDeps {
  db: Db
  ids: Ids
  clock: Clock
  databaseClock: Pick<DatabaseClock, 'now'>
  cipher: Pick<Cipher, 'decrypt'>
  log: Log
  loops?: LoopMetrics
  wake: Pick<Wakeups<'actions' | 'webhooks'>, 'wake' | 'on'>
  suppliers: Pick<Suppliers, 'get'>
  supplierMetrics?: SupplierMetrics
  orderMetrics?: OrderMetrics
  traces?: Traces | undefined
}
