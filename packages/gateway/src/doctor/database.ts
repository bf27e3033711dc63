import { OTHER_CONNECTIONS } from '../config/connections.ts'
import { isLoopback } from '../config/rules.ts'
import { type Db, sessionSettings } from '../lib/postgres/db.ts'
import { explainNoConnection } from '../lib/postgres/errors.ts'
import { type DatabaseServer, pendingMigrations, SERVER, whyServerUnfit } from '../lib/postgres/migrate.ts'
import { findMissingPartitions } from '../lib/postgres/partitions.ts'
import { PARTITIONED } from '../retention/table.ts'
import type { Finding, Findings, OpenPatient } from './finding.ts'

const NEWEST_TRIED = 18

/** @returns a sentence when the database cannot be spoken to */
export async function whyNoDatabase(db: Db): Promise<string | undefined> {
  try {
    await db.query({ text: 'select 1' })
    return undefined
  } catch (error) {
    return explainNoConnection(error)
  }
}

export async function checkDatabase({ db, config }: OpenPatient, say: Findings): Promise<Finding[]> {
  const [server] = await db.query<DatabaseServer>({ text: SERVER })
  const unfit = whyServerUnfit(server!)
  if (unfit !== undefined) return [say.fault(unfit)]
  const found: Finding[] = []
  const major = Math.floor(server!.number / 10_000)
  if (major <= NEWEST_TRIED) found.push(say.ok(`PostgreSQL ${server!.version}, encoded in UTF-8.`))
  else found.push(say.warning(`PostgreSQL ${major} is newer than this release was tried with (15 to ${NEWEST_TRIED}).`))
  const [state] = await db.query<StateRow>({ text: STATE })
  const { user, mayCreate, foreignTables, standby, connections } = state!
  const readable = whyReadable(state!)
  if (readable !== undefined) found.push(say.warning(readable))
  if (standby) {
    found.push(say.fault('This server is a standby and takes no writes. Let DATABASE_URL lead to the primary.'))
  }
  if (!mayCreate) {
    found.push(say.fault(`${user} may not create tables. As its owner: grant create on schema public to ${user}.`))
  }
  if (foreignTables > 0) {
    const words = `${foreignTables} tables belong to somebody else than ${user}, who so cannot change them.`
    found.push(say.fault(`${words} Start as their owner, or: reassign owned by THE_OWNER to ${user}.`))
  }
  const needed = (config.databasePoolSize ?? 0) + OTHER_CONNECTIONS
  if (connections < needed) {
    const words = `The server takes ${connections} connections, and one gateway process may open ${needed}.`
    found.push(say.fault(`${words} Raise max_connections, or lower DATABASE_POOL_SIZE.`))
  }
  return found
}

/** Settings that do not hold, for example behind a connection pooler: then limits and plans of the gateway do not either. */
export async function checkSession({ db }: OpenPatient, say: Findings): Promise<Finding[]> {
  const expected = sessionSettings({})
  const rows = await db.query<{ name: string; setting: string }>({
    text: 'select name, setting from pg_settings where name = any ($1::text[])',
    values: [Object.keys(expected)],
  })
  const wrong = rows.filter(({ name, setting }) => setting !== expected[name])
  if (wrong.length === 0) return [say.ok('The settings of a connection hold.')]
  const which = wrong.map(({ name, setting }) => `${name} is ${setting} instead of ${expected[name]}`).join(', ')
  return [
    say.fault(
      `The settings of a connection do not hold: ${which}. Connect to PostgreSQL itself, or through a pooler in session mode.`,
    ),
  ]
}

/** @returns a sentence when others on the way to the server could read along, and say what they like */
export function whyReadable({ encrypted, address }: Pick<StateRow, 'encrypted' | 'address'>): string | undefined {
  if (encrypted || address === null || isLoopback(address)) return undefined
  return `The way to the database at ${address} is not encrypted: who is on it could read and change everything. Add ?sslmode=verify-full to DATABASE_URL (and &sslrootcert=FILE for an authority of your own), or see that the way is yours alone.`
}

interface StateRow {
  encrypted: boolean
  /** null: by a socket of this machine. */
  address: string | null
  user: string
  mayCreate: boolean
  foreignTables: number
  standby: boolean
  connections: number
}

const STATE = `
  select current_user as user, pg_is_in_recovery() as standby, host(inet_server_addr()) as address,
         coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as encrypted,
         has_schema_privilege(current_user, 'public', 'create') as may_create,
         (select count(*)::int from pg_class
          where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
            and not pg_has_role(current_user, relowner, 'usage')) as foreign_tables,
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as connections`

export async function checkSchema({ db }: OpenPatient, say: Findings): Promise<Finding[]> {
  const pending = await pendingMigrations(db)
  if (pending.length === 0) return [say.ok("The tables are this release's.")]
  const [first, last] = [pending[0], pending.at(-1)]
  const which = pending.length === 1 ? String(first) : `${pending.length} migrations, ${first} to ${last}`
  return [
    say.warning(
      `This database lacks ${which}. The next start of a gateway of this release runs them, or: npm run -s admin -- migrate`,
    ),
  ]
}

export async function checkPartitions({ db }: OpenPatient, say: Findings): Promise<Finding[]> {
  const tables = (await findMissingPartitions(db, PARTITIONED)).filter(({ names }) => names.length > 0)
  if (tables.length === 0) return [say.ok('The partitions of the present and the next span are there.')]
  const which = tables.map(({ table, names }) => `${table}: ${names.join(', ')}`).join('; ')
  return [
    say.warning(
      `Partitions are missing (${which}). A worker makes them at its start and every few minutes: see that one runs (--role worker or all), or: npm run -s admin -- migrate`,
    ),
  ]
}
