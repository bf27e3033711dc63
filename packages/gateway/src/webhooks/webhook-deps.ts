import type { Clock, DatabaseClock } from '@dealer-esim/lib/clock.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import type { LoopDeps } from '@dealer-esim/lib/process/start-stop.ts'
import type { Traces } from '@dealer-esim/lib/telemetry/traces.ts'
import type { Registry } from '@platformatic/prom-client'
import type { Config } from '#platform/config/config.ts'

/** The dependencies of sending. Other functions of the module pick from them. */
export interface WebhookDeps extends LoopDeps {
  config: Pick<Config, 'deployment' | 'mode'>
  db: Db
  ids: Ids
  cipher: Cipher
  /** Marks the ids of attempts as our own. */
  linkKey: Buffer
  clock: Clock
  /** Decides which events are due. */
  databaseClock: DatabaseClock
  outbound: Outbound
  wake: Pick<Wakeups<'webhooks' | 'settings'>, 'wake' | 'on'>
  metrics: Registry
  traces?: Traces | undefined
}
