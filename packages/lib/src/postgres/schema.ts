import { createHash } from 'node:crypto'

/*
 * Several gateways can share a database, each in its own schema. Statements do not mention the schema: it is the
 * search_path of each connection. Advisory locks, NOTIFY channels and application names belong to the whole database, so
 * they contain the schema.
 */

/** The schema if DATABASE_SCHEMA is absent. */
export const DEFAULT_SCHEMA = 'public'

/** SQL: an advisory lock's key. `name` must be safe in an SQL string. */
export function advisoryKey(name: string): string {
  return `hashtextextended(current_schema() || ' ${name}', 0)`
}

/**
 * The NOTIFY channel of a schema. It contains a digest, because a schema's name can be as long as PostgreSQL allows channels
 * to be.
 */
export function wakeupChannel(schema: string): string {
  return `dealer_esim_wake_${digestOfSchema(schema).slice(0, 16)}`
}

/**
 * The start of the application names of a schema's gateways: `dealer-esim` in the default schema, otherwise a digest that is
 * not longer, because PostgreSQL truncates application names.
 */
export function applicationPrefix(schema: string): string {
  return schema === DEFAULT_SCHEMA ? 'dealer-esim' : `esim-${digestOfSchema(schema).slice(0, 6)}`
}

/** SQL: the same prefix, for the current schema. */
export const APPLICATION_PREFIX = `
  case current_schema() when '${DEFAULT_SCHEMA}' then 'dealer-esim'
  else 'esim-' || left(encode(sha256(convert_to(current_schema(), 'UTF8')), 'hex'), 6) end`

/** Stands for a schema in names that PostgreSQL would truncate. */
export function digestOfSchema(schema: string): string {
  return createHash('sha256').update(schema).digest('hex')
}

export interface SchemaAccess {
  user: string
  exists: boolean
  /** True if the user may create tables in the schema, or create the schema if it does not exist. */
  mayCreate: boolean
}

/** Reads SchemaAccess. Its only parameter is the schema. */
export const SCHEMA_ACCESS = `
  select current_user as user, to_regnamespace($1) is not null as exists,
         coalesce(has_schema_privilege(current_user, to_regnamespace($1)::oid, 'create'),
                  has_database_privilege(current_user, current_database(), 'create')) as may_create`

/** @returns a sentence if the gateway cannot create its tables in the schema */
export function whySchemaUnfit(schema: string, { user, exists, mayCreate }: SchemaAccess): string | undefined {
  if (mayCreate) return undefined
  if (exists) return `${user} may not create tables. As its owner: grant create on schema ${schema} to ${user}.`
  return `The schema ${schema} does not exist, and ${user} may not create it. As the database's owner: create schema "${schema}" authorization ${user}.`
}
