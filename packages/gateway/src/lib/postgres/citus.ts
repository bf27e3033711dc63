import type pg from 'pg'
import { CITUS_FUNCTIONS, citusFunctionsSchema } from './schema.ts'

/*
 * A schema that Citus distributes: all its tables lie on one node, and any node can be asked for them. Citus plans statements
 * itself, and refuses to change rows with functions whose result may differ between its nodes: clocks, random ids, and what
 * depends on a time zone. All times here are UTC, and a distributed schema lies on one node, so none of it applies. Sessions on
 * such a schema find the functions below before PostgreSQL's own. They do the same, but are declared immutable.
 *
 * An immutable function without arguments is computed when a statement is planned. So plans must never be kept: each is made
 * for its execution (`plan_cache_mode`), and statements without parameters, whose plans PostgreSQL would keep nevertheless,
 * are not prepared (pipeline.ts).
 */

/** What Citus changes in the settings of a session. */
export function citusSettings(schema: string): Readonly<Record<string, string>> {
  return {
    search_path: `${schema}, ${citusFunctionsSchema(schema)}, pg_catalog`,
    plan_cache_mode: 'force_custom_plan',
  }
}

/** In a select list: plans each prepared statement once, for the rest of the transaction, except on Citus. */
export const KEEP_PLANS = `set_config('plan_cache_mode', case current_setting('plan_cache_mode')
  when 'force_custom_plan' then 'force_custom_plan' else 'force_generic_plan' end, true)`

const sessions = new WeakSet<pg.ClientBase>()

/** Notes that the session works on a schema that Citus distributes. */
export function markAsCitus(client: pg.ClientBase): void {
  sessions.add(client)
}

export function isOnCitus(client: pg.ClientBase): boolean {
  return sessions.has(client)
}

/** The SQL expression of `isOnCitus`. */
export const IS_ON_CITUS = `strpos(current_setting('search_path'), '${CITUS_FUNCTIONS}') > 0`

/** Looks up if Citus is installed in the database, and if it distributes the schema. */
export async function findDistribution(
  client: pg.ClientBase,
  schema: string,
): Promise<'none' | 'local' | 'distributed'> {
  const { rows } = await client.query(`select from pg_extension where extname = 'citus'`)
  if (rows.length === 0) return 'none'
  const { rows: found } = await client.query('select from pg_dist_schema where schemaid = to_regnamespace($1)', [
    schema,
  ])
  return found.length > 0 ? 'distributed' : 'local'
}

/** Creates an empty schema whose tables Citus will keep on one of its nodes. */
export async function createDistributedSchema(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query('set citus.enable_schema_based_sharding to on')
  await client.query(`create schema "${schema}"`)
  await client.query('reset citus.enable_schema_based_sharding')
}

/** Creates the functions on every node, also on nodes that were added since. */
export async function createCitusFunctions(client: pg.ClientBase, schema: string): Promise<void> {
  const name = citusFunctionsSchema(schema)
  // Citus does not pass operators on to its nodes, so each gets them for itself.
  const command = `do $do$ begin set local citus.enable_ddl_propagation to off; ${statements(name).join(' ')} end $do$`
  const { rows } = await client.query<{ success: boolean; result: string }>(
    'select success, result from run_command_on_all_nodes($1)',
    [command],
  )
  const failed = rows.find(({ success }) => !success)
  if (failed) throw new Error(`A node of Citus could not create the functions of ${schema}: ${failed.result}`)
}

interface ImmutableFunction {
  name: string
  arguments: string
  returns: string
  body: string
}

const FUNCTIONS: readonly ImmutableFunction[] = [
  ...['now', 'clock_timestamp', 'statement_timestamp'].map((name) => ({
    name,
    arguments: '',
    returns: 'timestamptz',
    body: `pg_catalog.${name}()`,
  })),
  { name: 'gen_random_uuid', arguments: '', returns: 'uuid', body: 'pg_catalog.gen_random_uuid()' },
  {
    name: 'date_trunc',
    arguments: 'text, timestamptz',
    returns: 'timestamptz',
    body: 'pg_catalog.date_trunc($1, $2)',
  },
]

/** Operators of times and intervals, each with the name of its function. */
const OPERATORS = [
  { name: 'later', operator: '+', left: 'timestamptz', right: 'interval' },
  { name: 'earlier', operator: '-', left: 'timestamptz', right: 'interval' },
  { name: 'later', operator: '+', left: 'interval', right: 'timestamptz' },
]

function statements(schema: string): string[] {
  return [
    `create schema if not exists ${schema};`,
    ...FUNCTIONS.map(({ name, arguments: list, returns, body }) => create(`${schema}.${name}(${list})`, returns, body)),
    ...OPERATORS.flatMap(({ name, operator, left, right }) => [
      create(`${schema}.${name}(${left}, ${right})`, 'timestamptz', `$1 operator(pg_catalog.${operator}) $2`),
      `if to_regoperator('${schema}.${operator}(${left}, ${right})') is null then
         create operator ${schema}.${operator} (leftarg = ${left}, rightarg = ${right}, function = ${schema}.${name});
       end if;`,
    ]),
  ]
}

function create(signature: string, returns: string, body: string): string {
  return `create or replace function ${signature} returns ${returns} language plpgsql immutable parallel safe
    as $body$ begin return ${body}; end $body$;`
}
