import { readDatabaseTime } from '@dealer-esim/lib/clock.ts'
import { type Db, sessionSettings } from '@dealer-esim/lib/postgres/db.ts'
import { IS_ON_SHARDS } from '@dealer-esim/lib/postgres/distributed-schema.ts'
import { explainNoConnection } from '@dealer-esim/lib/postgres/errors.ts'
import { type DatabaseServer, SERVER, whyServerUnfit } from '@dealer-esim/lib/postgres/migrations.ts'
import { DEFAULT_SCHEMA, SCHEMA_ACCESS, type SchemaAccess, whySchemaUnfit } from '@dealer-esim/lib/postgres/schema.ts'
import { ALL_TWIN_CONNECTIONS, OTHER_CONNECTIONS } from '#platform/config/connections.ts'
import { isLoopback } from '#platform/config/rules.ts'
import type { DatabaseCheckInput, Finding, Findings } from './finding.ts'

const NEWEST_TESTED = 18

/** @returns why the database does not respond; undefined if it does */
export async function findConnectionFault(db: Db): Promise<string | undefined> {
  try {
    await db.query({ text: 'select 1' })
    return undefined
  } catch (error) {
    return explainNoConnection(error)
  }
}

export async function checkDatabase({ db, config }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const [server] = await db.query<DatabaseServer>({ text: SERVER })
  const unfit = whyServerUnfit(server!)
  if (unfit !== undefined) return [findings.fault(unfit)]
  const found: Finding[] = []
  const major = Math.floor(server!.number / 10_000)
  if (major <= NEWEST_TESTED) found.push(findings.ok(`PostgreSQL ${server!.version}, encoded in UTF-8.`))
  else {
    found.push(
      findings.warning(
        `PostgreSQL ${major} is newer than this release was tested with. Use PostgreSQL 15 to ${NEWEST_TESTED}.`,
      ),
    )
  }
  const schema = config.databaseSchema ?? DEFAULT_SCHEMA
  const [access] = await db.query<SchemaAccess>({ text: SCHEMA_ACCESS, values: [schema] })
  const [state] = await db.query<StateRow>({ text: STATE })
  const { user, foreignTables, standby, connections } = state!
  const unencrypted = unencryptedWarning(state!)
  if (unencrypted !== undefined) found.push(findings.warning(unencrypted))
  if (standby) {
    found.push(
      findings.fault('This server is a read-only standby. Change DATABASE_URL so that it points to the primary.'),
    )
  }
  const unfitSchema = whySchemaUnfit(schema, access!)
  if (unfitSchema !== undefined) found.push(findings.fault(unfitSchema))
  if (foreignTables > 0) {
    found.push(
      findings.fault(
        `${foreignTables} tables belong to another user, so ${user} cannot change them. Start the gateway as their owner, or run: reassign owned by THE_OWNER to ${user}.`,
      ),
    )
  }
  const needed = (config.databasePoolSize ?? 0) + OTHER_CONNECTIONS + ALL_TWIN_CONNECTIONS
  if (connections < needed) {
    found.push(
      findings.fault(
        `The server accepts ${connections} connections, but one gateway process may open ${needed}. Raise max_connections, or lower DATABASE_POOL_SIZE.`,
      ),
    )
  }
  return found
}

/** @returns a warning if others could read and change what is sent between gateway and database */
export function unencryptedWarning({
  encrypted,
  address,
}: Pick<StateRow, 'encrypted' | 'address'>): string | undefined {
  if (encrypted || address === null || isLoopback(address)) return undefined
  return `The connection to the database at ${address} is not encrypted: others on the network could read and change everything. Add ?sslmode=verify-full to DATABASE_URL (and &sslrootcert=FILE for a certificate authority of your own), or make sure that nobody else uses that network.`
}

interface StateRow {
  encrypted: boolean
  /** null: a Unix socket. */
  address: string | null
  user: string
  foreignTables: number
  standby: boolean
  connections: number
}

const STATE = `
  select current_user as user, pg_is_in_recovery() as standby, host(inet_server_addr()) as address,
         coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as encrypted,
         (select count(*)::int from pg_class
          where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
            and not pg_has_role(current_user, relowner, 'usage')) as foreign_tables,
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as connections`

/** Compares a connection's settings with those that the gateway requested: a pooler in between may discard them. */
export async function checkSession({ db, config }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const expected = sessionSettings({ schema: config.databaseSchema })
  const rows = await db.query<{ name: string; setting: string }>({
    text: `select name, case when name = 'search_path' and ${IS_ON_SHARDS} then current_schema() else setting end as setting
           from pg_settings where name = any ($1::text[])`,
    values: [Object.keys(expected)],
  })
  const wrong = rows.filter(({ name, setting }) => setting !== expected[name])
  if (wrong.length === 0) return [findings.ok('Connections keep the settings of the gateway.')]
  const which = wrong.map(({ name, setting }) => `${name} is ${setting} instead of ${expected[name]}`).join(', ')
  return [
    findings.fault(
      `Connections do not keep the settings of the gateway: ${which}. Connect to PostgreSQL directly, or through a pooler in session mode.`,
    ),
  ]
}

/** Checks whether an acknowledged order survives a crash or the loss of the database's machine. */
export async function checkDurability({ db, config }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const rows = await db.query<{ name: string; setting: string }>({ text: DURABILITY_SETTINGS })
  const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))
  const { synchronous_commit: commit, synchronous_standby_names: standbys } = settings
  // Other deployments sell test eSIMs, so no money is lost.
  const report = config.deployment === 'production' ? findings.fault : findings.warning
  const found: Finding[] = []
  for (const name of ['fsync', 'full_page_writes']) {
    if (settings[name] === 'on') continue
    found.push(report(`${name} is off: a power cut can destroy the database. Set it to on in postgresql.conf.`))
  }
  if (commit === 'off' || (commit === 'local' && standbys !== '')) {
    found.push(
      report(
        `synchronous_commit is ${commit}: a crash can lose acknowledged orders. Set it to on for this database; the gateway turns it off where that is safe.`,
      ),
    )
  }
  if (standbys === '' && config.deployment === 'production') {
    found.push(
      findings.warning(
        'synchronous_standby_names is empty: if this server is lost, the orders since the last backup are lost too, or those that an asynchronous standby has not received. Set up a synchronous standby.',
      ),
    )
  }
  return found.length > 0 ? found : [findings.ok('Committed data survives a database crash.')]
}

const DURABILITY_SETTINGS = `
  select name, setting from pg_settings
  where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names')`

const CLOCK_TOLERANCE_MS = 1_000

/**
 * The database's clock decides which timestamps are accepted; this machine's clock is used in logs and to sign what is
 * sent.
 */
export async function checkClock({ db }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const { databaseMs, sentAt, receivedAt } = await readDatabaseTime(db, Date.now)
  const differenceMs = databaseMs - (sentAt + receivedAt) / 2
  const errorMs = (receivedAt - sentAt) / 2
  if (Math.abs(differenceMs) - errorMs < CLOCK_TOLERANCE_MS) {
    return [findings.ok("This machine's clock and the database's agree.")]
  }
  const differenceS = (Math.abs(differenceMs) / 1000).toFixed(1)
  const direction = differenceMs > 0 ? 'ahead of' : 'behind'
  return [
    findings.warning(
      `The database's clock is ${differenceS} s ${direction} this machine's. Timestamps of requests are compared with the database's clock, ±300 s. Run NTP on both machines.`,
    ),
  ]
}
