import type { Registry } from '@platformatic/prom-client'
import type { Config } from '#config/config.ts'
import type { Clock, DatabaseClock } from '#lib/clock.ts'
import type { Cipher } from '#lib/crypto.ts'
import type { Ids } from '#lib/ids.ts'
import type { Outbound } from '#lib/outbound/outbound.ts'
import type { Db } from '#lib/postgres/db.ts'
import type { Wakeups } from '#lib/postgres/wakeups.ts'
import type { Log } from '#lib/telemetry/log.ts'
import type { LoopMetrics } from '#lib/telemetry/metrics.ts'
import type { Traces } from '#lib/telemetry/traces.ts'

/** The dependencies of sending. Other functions of the module pick from them. */
export interface WebhookDeps {
  config: Pick<Config, 'deployment'>
  log: Log
  loops?: LoopMetrics
  db: Db
  ids: Ids
  cipher: Cipher
  /** Marks the ids of attempts as ours. */
  linkKey: Buffer
  clock: Clock
  /** Decides which events are due. */
  databaseClock: DatabaseClock
  outbound: Outbound
  wake: Pick<Wakeups<'webhooks' | 'settings'>, 'wake' | 'on'>
  metrics: Registry
  traces?: Traces | undefined
}
