import { createHash } from 'node:crypto'
import type pg from 'pg'
import { StartRefused } from '#process/start-stop.ts'
import type { Log } from '#telemetry/log.ts'
import { rewriteStatements, type StatementRewriter } from './pipeline.ts'
import { digestOfSchema } from './schema.ts'
import { directTo, isFollowing } from './servers.ts'

/*
 * Supports a schema that Citus distributes. All its tables are on one node, as shards, which are tables with names such as
 * `orders_102068`, and Citus moves them to another node on demand. Citus itself would plan each statement at each
 * execution, with 16 times the processor time of PostgreSQL, and would refuse many of them. So sessions connect to the node
 * that has the schema, and find views of the shards before the tables of Citus. PostgreSQL plans a statement on such a view
 * as one on the shard, and keeps the plan.
 * When Citus moves a schema, it must know who is writing. It locks the schema's shards, in a mode that conflicts with the
 * lock that Citus takes on a shard for each of its own writes. So each of our transactions first takes the lock of a write
 * on one shard, and then fails if the schema has left the node.
 */

const CONNECT_TIMEOUT_MS = 5_000

/**
 * Makes a session that follows the schema work on the shards, if Citus distributes the schema.
 * @throws SchemaElsewhere if the shards are on another node
 */
export async function useShards(client: pg.ClientBase, schema: string): Promise<void> {
  if (!isFollowing(client)) return
  const placement = await findPlacement(client, schema)
  if (!placement) return
  if (!placement.is_here) directTo(client, `${placement.host}:${placement.port}`)
  const views = shardViewsSchema(schema)
  if (!hasViews(placement)) await createViews(client, schema, placement)
  await ask(client, `select set_config('search_path', $1, false)`, [`${views}, ${schema}, pg_catalog`])
  rewriteStatements(client, () => enterFirst(views))
}

/**
 * Rewrites the statements of one transaction. The views' function `enter_schema` runs first. Their function `define` runs
 * `create`, `alter` or `drop` in a separate transaction on the coordinator, because Citus accepts them on no other node.
 */
export function enterFirst(views: string): StatementRewriter {
  let hasEntered = false
  return (given) => {
    const isDefinition = DEFINITION.test(given.text)
    const statement = isDefinition ? { text: `select ${views}.define($1)`, values: [given.text] } : given
    if (hasEntered || OPENING.test(statement.text)) return { statement }
    hasEntered = true
    return { before: { name: `enter-schema ${views}`, text: `select ${views}.enter_schema()` }, statement }
  }
}

const DEFINITION = /^\s*(create(?! temporary)|alter|drop)\b/i
/** Statements that may precede `enter_schema`: the isolation level must be set before anything is read. */
const OPENING = /^\s*(begin|set)\b/i

const SHARD_VIEWS = 'esim_shards_'

/** The schema with the views of the shards, which sessions search before the schema that Citus distributes. */
function shardViewsSchema(schema: string): string {
  return SHARD_VIEWS + digestOfSchema(schema).slice(0, 16)
}

/** SQL: true if the session works on the shards of a distributed schema. */
export const IS_ON_SHARDS = `strpos(current_setting('search_path'), '${SHARD_VIEWS}') > 0`

/** The name of a constraint, which on a shard ends in the shard's number: `orders_pkey_102068`. */
export function withoutShardNumber(constraint: string): string {
  return constraint.replace(/_\d{6,}$/, '')
}

interface Placement {
  host: string
  port: number
  is_here: boolean
  /** The shard that stands for the schema in locks. */
  shard_id: string
  /** A digest of the shards and their columns. */
  shards: string
  /** The shards and the script from which the views were created. */
  viewed: string | null
}

/** The tables of a schema `$1`, without partitions, with the oid of their shard. */
const SHARDS = `
  select c.oid as shell, c.relname as name, s.shardid, shard_name(c.oid, s.shardid) as shard,
         to_regclass(shard_name(c.oid, s.shardid))::oid as oid
  from pg_class c join pg_dist_shard s on s.logicalrelid = c.oid
  where c.relnamespace = to_regnamespace($1) and not c.relispartition`

const PLACEMENT = `
  with shards as materialized (${SHARDS})
  select n.nodename as host, n.nodeport as port, n.groupid = (select groupid from pg_dist_local_group) as is_here,
         p.shardid::text as shard_id,
         (select md5(string_agg(concat(name, oid, columns), ' ' order by name)) from shards cross join lateral (
            select string_agg(attname, ',' order by attnum) as columns from pg_attribute
            where attrelid = oid and attnum > 0 and not attisdropped) as c) as shards,
         obj_description(to_regnamespace($2), 'pg_namespace') as viewed
  from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
  where p.shardid = (select min(shardid) from shards)
    and exists (select from pg_dist_schema where schemaid = to_regnamespace($1))`

async function findPlacement(client: pg.ClientBase, schema: string): Promise<Placement | undefined> {
  return (await ask<Placement>(client, PLACEMENT, [schema, shardViewsSchema(schema)]))[0]
}

/** False if the shards have changed since the views were created, or if the script that creates them has changed. */
function hasViews(placement: Placement): boolean {
  return placement.viewed === sourceOf(placement)
}

/** The shards and the script from which views are created. Stored in the comment on the views' schema. */
function sourceOf({ shards }: Placement): string {
  return `${shards} ${SCRIPT_DIGEST}`
}

/**
 * Creates the views. One session creates them while other new sessions wait. Citus drops the views together with the
 * shards.
 */
async function createViews(client: pg.ClientBase, schema: string, { shard_id: shardId }: Placement): Promise<void> {
  const name = shardViewsSchema(schema)
  await client.query('begin')
  try {
    await client.query('set local citus.enable_ddl_propagation to off')
    await ask(client, 'select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${schema} views of shards`])
    const placement = await findPlacement(client, schema)
    if (placement?.is_here && !hasViews(placement)) {
      const shards = await ask<Shard>(client, LIST_SHARDS, [schema])
      await client.query(viewsScript(name, schema, shardId, shards))
      await client.query(`comment on schema ${name} is '${sourceOf(placement)}'`)
    }
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** Lists the shards, with the defaults that Citus omits from them: numbers from sequences. */
const LIST_SHARDS = `
  select name, shard, array(
    select format('alter column %I set default %s', a.attname, coalesce(
      pg_get_expr(d.adbin, d.adrelid), format('nextval(%L)', pg_get_serial_sequence(shell::regclass::text, a.attname))))
    from pg_attribute a left join pg_attrdef d on a.attrelid = d.adrelid and a.attnum = d.adnum
    where a.attrelid = shell and (a.attidentity <> '' or pg_get_expr(d.adbin, d.adrelid) like 'nextval(%')) as defaults
  from (${SHARDS}) shards order by name`

/**
 * The only table whose view has no system columns, because whole rows of it are hashed. For the other tables, statements
 * compare row versions.
 */
const WITHOUT_SYSTEM_COLUMNS = 'wallets'

interface Shard {
  name: string
  shard: string
  defaults: string[]
}

function viewsScript(views: string, schema: string, shardId: string, shards: readonly Shard[]): string {
  const statements = [
    `drop schema if exists ${views} cascade`,
    `create schema ${views}`,
    ...shards.flatMap(({ name, shard, defaults }) => [
      `create view ${views}.${name} as select *${name === WITHOUT_SYSTEM_COLUMNS ? '' : ', ctid, xmin'} from ${shard}`,
      ...defaults.map((each) => `alter view ${views}.${name} ${each}`),
    ]),
    // Statements must see the name of the schema, not that of its views.
    `create function ${views}.current_schema() returns name language sql immutable parallel safe return '${schema}'::name`,
    // 5 is a share lock. The placement is read after the lock, because the lock may have waited for a move.
    `create function ${views}.enter_schema() returns void language plpgsql as $enter$ begin
      perform pg_catalog.lock_shard_metadata(5, array[${shardId}]);
      if not exists (select from pg_catalog.pg_dist_placement join pg_catalog.pg_dist_local_group using (groupid)
                     where shardid = ${shardId}) then
        raise exception 'Citus has moved the schema to another node' using errcode = 'connection_failure';
      end if;
    end $enter$`,
    // All tables of the schema are on one node, so the triggers that Citus calls unsafe are safe here.
    `create function ${views}.define(definition text) returns void language plpgsql as $define$
    declare answer record;
    begin
      select success, result into answer from pg_catalog.run_command_on_coordinator(format(
        'do $command$ begin set local search_path to %I; set local lock_timeout to %L;
         set local citus.enable_unsafe_triggers to on; %s; end $command$',
        '${schema}', current_setting('lock_timeout'), rtrim(definition, E' \\n;')));
      if not answer.success then
        raise exception 'The coordinator of Citus refused a definition: %', answer.result
          using errcode = case when answer.result like '%lock timeout%' then 'lock_not_available'
                               when answer.result like '%deadlock%' then 'deadlock_detected' else 'internal_error' end;
      end if;
    end $define$`,
  ]
  return `do $views$ begin ${statements.map((each) => `${each};`).join('\n')} end $views$`
}

/** A digest that changes with the script: it is computed from the script for a schema with both kinds of views. */
const SCRIPT_DIGEST = createHash('sha256')
  .update(LIST_SHARDS)
  .update(
    viewsScript(
      'views',
      'schema',
      '1',
      [WITHOUT_SYSTEM_COLUMNS, 'other'].map((name) => ({ name, shard: name, defaults: ['default'] })),
    ),
  )
  .digest('hex')

async function ask<Row extends object>(client: pg.ClientBase, text: string, values: unknown[]): Promise<Row[]> {
  return (await client.query<Row>({ text, values, query_timeout: CONNECT_TIMEOUT_MS } as pg.QueryConfig)).rows
}

interface Citus {
  version: string
  /** False: Citus keeps the schema on the coordinator, as PostgreSQL would. */
  isDistributed: boolean
}

/** @returns undefined if the database has no Citus */
async function findCitus(client: pg.ClientBase, schema: string): Promise<Citus | undefined> {
  const { rows } = await client.query<{ extversion: string }>(
    `select extversion from pg_extension where extname = 'citus'`,
  )
  if (rows.length === 0) return undefined
  const text = 'select from pg_dist_schema where schemaid = to_regnamespace($1)'
  const { rowCount } = await client.query(text, [schema])
  return { version: rows[0]!.extversion, isDistributed: rowCount! > 0 }
}

/** True for the version on which the tests ran, Citus 13. A different major version may name or lock shards differently. */
export function isTested({ version }: Pick<Citus, 'version'>): boolean {
  return version.startsWith('13.')
}

interface Installation {
  /** True if only the release of Citus on which the tests ran distributes a schema. */
  isProduction: boolean
}

/** Creates an empty schema. On Citus its tables will be on one of the nodes. */
export async function createSchema(client: pg.ClientBase, schema: string, { isProduction }: Installation) {
  const citus = await findCitus(client, schema)
  const isDistributed = citus !== undefined && (isTested(citus) || !isProduction)
  if (isDistributed) await client.query('set citus.enable_schema_based_sharding to on')
  await client.query(`create schema "${schema}"`)
  if (isDistributed) await client.query('reset citus.enable_schema_based_sharding')
}

/**
 * Adapts migrations to the schema. On Citus all tables are logged, because a schema with unlogged tables can be moved only
 * while its writes are blocked.
 * @throws StartRefused if the schema cannot be used
 */
export async function adaptMigrations(
  client: pg.ClientBase,
  schema: string,
  { isProduction, log }: Installation & { log: Log },
): Promise<(sql: string) => string> {
  const citus = await findCitus(client, schema)
  if (!citus) return (sql) => sql
  const { version, isDistributed } = citus
  if (isDistributed && isProduction && !isTested(citus)) {
    throw new StartRefused(
      `DATABASE_SCHEMA is distributed by Citus ${version}. A production deployment must use Citus 13, the version that was tested (docs/scaling.md).`,
    )
  }
  const advice = !isDistributed && 'To distribute it, stop all nodes of the gateway and run citus_schema_distribute.'
  log.info({ schema, version, isDistributed, ...(advice && { advice }) }, 'the database has Citus')
  return (sql) => (isDistributed ? sql.replaceAll('create unlogged table', 'create table') : sql)
}
