import type pg from 'pg'
import { useShards } from './distributed-schema.ts'
import { messageOf } from './errors.ts'
import type { Statement } from './pipeline.ts'
import { DEFAULT_SCHEMA } from './schema.ts'
import { connectClient } from './servers.ts'

export const CONNECT_TIMEOUT_MS = 5_000
/** Far longer than the milliseconds that a server needs for one of these statements. */
const STATEMENT_TIMEOUT_MS = 5_000

/** PostgreSQL's settings by name, as in the view pg_settings. */
export type SessionSettings = Readonly<Record<string, string>>

/**
 * Applies the settings of a new connection. Uses a statement, because connection poolers refuse or ignore settings in the
 * start-up message.
 */
export async function applySettings(client: pg.ClientBase, settings: SessionSettings): Promise<void> {
  const { search_path: schema = DEFAULT_SCHEMA } = settings
  const { rows } = await client.query<{ may_distribute: boolean }>({
    text: `select set_config(name, value, false), to_regclass('pg_catalog.pg_dist_schema') is not null as may_distribute
           from unnest($1::text[], $2::text[]) as setting(name, value)`,
    values: [Object.keys(settings), Object.values(settings)],
    query_timeout: STATEMENT_TIMEOUT_MS,
  } as pg.QueryConfig)
  if (rows[0]?.may_distribute) await useShards(client, schema)
}

/**
 * Makes the server plan each prepared statement once, with indexes, for this transaction. By default it plans statements over
 * arrays again each time, because it assumes that an unknown array has ten elements: for a single order that took 0.1 to 0.2
 * ms per statement.
 */
export function useGenericPlans(tx: { send(statement: Statement): void }): void {
  tx.send({
    name: 'generic-plans',
    text: `select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)`,
  })
}

/** Repeats the check in case other clients of the pooler take the session first. */
const ROUNDS = 3

/**
 * Explains why a connection pooler between the gateway and the server cannot be used, and what to do. A pooler in
 * transaction or statement mode gives the session of an idle client to the next client, so the first client is then given
 * another session.
 */
export async function findPoolerFault(databaseUrl: string): Promise<string | undefined> {
  const options = {
    application_name: 'dealer-esim pooler check',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS,
  }
  const clients: pg.Client[] = []
  try {
    const one = await connectClient(databaseUrl, options)
    clients.push(one)
    const other = await connectClient(databaseUrl, options)
    clients.push(other)
    for (let round = 0; round < ROUNDS; round++) {
      const session = await sessionOf(one)
      await other.query('begin')
      const isLent = (await sessionOf(other)) === session || (await sessionOf(one)) !== session
      await other.query('rollback')
      if (isLent) return TRANSACTION_MODE
    }
    return undefined
  } catch (error) {
    if (/read timeout/i.test(messageOf(error))) return NO_SECOND_SESSION
    if (/transactions? (blocks )?not allowed/i.test(messageOf(error))) return TRANSACTION_MODE
    throw error
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
  }
}

async function sessionOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}

const TRANSACTION_MODE =
  'DATABASE_URL points to a connection pooler in transaction or statement mode. The gateway needs session mode, because it depends on session settings, prepared statements and LISTEN. Set pool_mode = session in PgBouncer, or connect to PostgreSQL itself.'
const NO_SECOND_SESSION =
  'The database does not answer on a second connection. If DATABASE_URL points to a connection pooler, let it open more connections: default_pool_size in PgBouncer.'
