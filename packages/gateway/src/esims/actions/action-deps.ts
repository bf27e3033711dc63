import type { Clock, DatabaseClock } from '@dealer-esim/lib/clock.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import type { LoopDeps } from '@dealer-esim/lib/process/start-stop.ts'
import type { Traces } from '@dealer-esim/lib/telemetry/traces.ts'
import type { OrderMetrics } from '#orders/change-order.ts'
import type { SupplierMetrics } from '#suppliers/supplier-gate.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'

/** The part of Deps that actions need. */
export interface ActionDeps extends LoopDeps {
  db: Db
  ids: Ids
  clock: Clock
  databaseClock: Pick<DatabaseClock, 'now'>
  cipher: Pick<Cipher, 'decrypt'>
  wake: Pick<Wakeups<'actions' | 'webhooks'>, 'wake' | 'on'>
  suppliers: Pick<Suppliers, 'get'>
  supplierMetrics?: SupplierMetrics
  orderMetrics?: OrderMetrics
  traces?: Traces | undefined
}
