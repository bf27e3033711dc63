import type { Registry } from '@platformatic/prom-client'
import type { Config } from '../config.ts'
import type { Clock, DatabaseClock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import type { Ids } from '../lib/ids.ts'
import type { Log } from '../lib/log.ts'
import type { LoopWatch } from '../lib/loop-watch.ts'
import type { Outbound } from '../lib/outbound/outbound.ts'
import type { Traces } from '../lib/traces.ts'
import type { Wake } from '../lib/wake.ts'

/** The slice of Deps that sending needs; the functions around it take slices of this one. */
export interface WebhookDeps {
  config: Pick<Config, 'deployment'>
  log: Log
  loops?: LoopWatch
  db: Db
  ids: Ids
  cipher: Cipher
  clock: Clock
  /** Decides what is due. */
  databaseClock: DatabaseClock
  outbound: Outbound
  wake: Pick<Wake, 'wake' | 'on'>
  metrics: Registry
  traces?: Traces | undefined
}
