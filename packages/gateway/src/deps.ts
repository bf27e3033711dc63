import type { Config } from './config.ts'
import { connect, type Db } from './lib/db.ts'
import type { Running } from './lib/lifecycle.ts'
import type { Log } from './lib/log.ts'

/** What the rooms are given; a function asks for the slice that it needs. */
export interface Deps {
  config: Config
  log: Log
  db: Db
}

/** Builds the one Deps of this process. Stopping it closes the connections. */
export async function openDeps(config: Config, log: Log, databaseUrl: string): Promise<Deps & Running> {
  const db = connect({
    url: databaseUrl,
    poolSize: config.databasePoolSize,
    applicationName: 'dealer-esim gateway',
    onIdleError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  })
  return { config, log, db, stop: () => db.close() }
}
