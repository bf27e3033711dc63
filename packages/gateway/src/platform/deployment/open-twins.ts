import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { MigrationRefused, migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { type Running, StartRefused } from '@dealer-esim/lib/process/start-stop.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { Config } from '../config/config.ts'
import { migrationsFolder } from '../package-root.ts'
import { hasTwinsSchema, twinConfigOf } from './twins-schema.ts'

/**
 * The test twins of a node's dealers (docs/decisions/0035). Their rows are in a schema of their own, with connections, loops,
 * catalogue and suppliers of their own: no statement about live dealers can find them.
 */
export interface Twins<Deps> extends Running {
  /**
   * The dependencies of the twins, created when the first twin is. A request with a twin's AppKey is served with them.
   * @returns undefined while no dealer has a twin
   */
  open(): Promise<Deps | undefined>
  /** The same after creating the schema of the twins if it is missing. @throws Refusal if the database does not allow it */
  create(): Promise<Deps>
}

/** Twins have no twins. */
export const NO_TWINS: Twins<never> = {
  open: async () => undefined,
  create: async () => {
    throw new Error('a test twin has no twin')
  },
  stop: async () => {},
}

export function createTwins<Deps>(
  live: () => { config: Config; db: Db; log: Log },
  databaseUrl: string,
  createTwinDeps: (config: Config) => Promise<Deps & Running>,
): Twins<Deps> {
  let opened: (Deps & Running) | undefined
  let opening: Promise<void> | undefined
  let isStopped = false

  /** One at a time: requests that arrive in the meantime wait for it. */
  async function tryToOpen(): Promise<void> {
    const { config, db } = live()
    if (!(await hasTwinsSchema(db, config.databaseSchema))) return
    const deps = await createTwinDeps(twinConfigOf(config)).catch((error) => {
      if (error instanceof MigrationRefused) return undefined // the first twin is being created
      throw error
    })
    if (deps === undefined) return
    if (isStopped) await deps.stop(0)
    else opened = deps
  }

  async function open(): Promise<Deps | undefined> {
    if (opened === undefined && !isStopped) {
      opening ??= tryToOpen().finally(() => {
        opening = undefined
      })
      await opening
    }
    return opened
  }

  return {
    open,
    async create() {
      const { config, log } = live()
      const { databaseSchema: schema, deployment } = twinConfigOf(config)
      await migrate({
        ...{ databaseUrl, schema, log, directory: migrationsFolder() },
        isProduction: deployment === 'production',
      }).catch((error) => {
        throw error instanceof StartRefused ? new Refusal(409, 'TWINS_SCHEMA_REFUSED', error.message) : error
      })
      // An attempt that began before the schema existed finds nothing.
      return (await open()) ?? (await open())!
    },
    async stop(deadlineMs) {
      isStopped = true
      await opening?.catch(() => {})
      await opened?.stop(deadlineMs)
    },
  }
}
