import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { packageRoot } from '#platform/package-root.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { schemaText } from '#test/harness/databases/schema-text.ts'

let database: TestDatabase
let db: ReturnType<typeof createDb>

beforeAll(async () => {
  database = await createTestDatabase()
  db = createDb({ url: database.url, poolSize: 1, applicationName: 'test' })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

/**
 * Tables without a tenant, and why. They are small, because sharding by tenant copies them to each shard. A table that
 * grows with orders does not belong here.
 */
const REFERENCE_TABLES: Record<string, string> = {
  schema_migrations: 'of the database itself',
  schema_releases: 'of the database itself',
  backups: 'of the whole database, one row a backup',
  restores: 'of the whole database, few',
  settled_suppliers: 'one row a supplier and restore',
  deployment: 'one row: what this database is for',
  retention_clock: 'one row: the clock of the database',
  request_id_slots: 'one row a partition of request_ids',
  catalogue_version: 'one row: the catalogue is shared by all tenants',
  order_quarter_hours: 'sums over all tenants: some rows a quarter hour',
  daily_sales_packages: 'sums over all tenants: one row a day, package and supplier',
  daily_purchases: 'sums over all tenants: some rows a day and supplier',
  ledger_keys: 'few: keys of this cell and of cells that tenants came from',
  ledger_checks: 'one row a day, about all wallets together',
  payment_settings: 'one row a currency: how its dealers pay',
  operator_details: 'one row: the operator as statements name it',
  operator_settings: 'one row: what the operator has set in the console',
  coverages: 'catalogue',
  packages: 'catalogue',
  package_suppliers: 'catalogue',
  list_prices: 'catalogue',
  sale_rules: 'catalogue',
  rule_packages: 'catalogue',
  exchange_rates: 'catalogue',
  cell_imports: 'catalogue',
  price_plans: 'catalogue',
  price_plan_rules: 'catalogue',
  price_groups: 'catalogue',
  price_group_plans: 'catalogue',
  people: 'found by e-mail address before a tenant is known; the operator’s own have none',
  recovery_codes: 'of a person',
  saved_views: 'of a person',
  sign_in_failures: 'of an e-mail address',
  second_factor_roles: 'one row a role',
  passkeys: 'found by credential before a tenant is known',
  provider_accounts: 'found by subject before a tenant is known',
  spent_challenges: 'redeemed before a tenant is known',
  sessions: 'found by token before a tenant is known',
  person_links: 'found by token before a tenant is known',
  access_tokens: 'found by token before a tenant is known',
}

/** Growing tables that belong to a supplier and are sharded by supplier, and why. */
const SUPPLIER_TABLES: Record<string, string> = {
  suppliers: 'the suppliers themselves, few',
  stock_levels: 'one row per product, read before every order',
  supplier_states: 'one row per supplier',
  supplier_verifications: 'purchases of the operator, of no tenant',
  supplier_recordings: 'one row per supplier; its account is shared by all tenants',
  supplier_exchanges: 'requests to a supplier, of several tenants',
  supplier_tokens: 'one row per supplier; its account is shared by all tenants',
  supplier_rates: 'one row per limit of a supplier or of one of its eSIMs; its account is shared by all tenants',
  supplier_prices: 'one row per product; the price is the same for all tenants',
  supplier_products: 'one row per product; the same for all tenants',
  supplier_product_costs: 'one row per change of a product',
  supplier_syncs: 'one row per supplier',
  supplier_list_checks: 'one row per supplier',
  supplier_balances: 'one row per supplier; its account is shared by all tenants',
  supplier_balance_days: 'one row per day of a balance',
  supplier_balance_readings: 'one row per reading of a balance',
  stock_batches: 'one row per import, of no tenant',
  stock_codes: 'a code has no tenant until it is reserved',
  resolved_codes: 'found by code when stock is imported, before a tenant is known',
  unclaimed_esims: 'listed by a supplier, without a known tenant',
  es2plus_orders: 'written by the supplier without a tenant',
  es2plus_ranges: 'one row per range',
  esim_go_orders: 'written by the supplier without a tenant',
  esim_go_claims: 'one row per bundle, whichever tenant buys it',
  mobimatter_orders: 'written by the supplier without a tenant',
  sandbox_actions: 'the records of a simulated supplier, which knows no tenants',
  sandbox_issued: 'the records of a simulated supplier, which knows no tenants',
}

/** Unique keys of tenants' tables that do not begin with tenant_id, and why. */
const UNIQUE_ACROSS_TENANTS: Record<string, string> = {
  tenant_keys_app_key: 'a request names its restricted key only by AppKey',
  twins_live_tenant: 'a live dealer has one twin; the table is empty in the schema of live dealers',
  tenants_app_key_key: 'a request identifies its tenant only by AppKey; tenants is a reference table',
}

/** Citus writes definitions in its own wording, including the name of the schema, and has no unlogged tables. */
const isOnCitus = inject('testServer').workers.length > 0
if (isOnCitus) console.warn('NOT RUN: the comparison of the schema with the committed one, which is PostgreSQL’s text.')

describe('the schema', () => {
  it.skipIf(isOnCitus)('matches the committed schema file (npm run schema writes it)', async () => {
    expect(await schemaText(db)).toBe(readFileSync(join(packageRoot(), 'schema.sql'), 'utf8'))
  })

  it('lets autovacuum work without pauses on tables that grow with orders', async () => {
    const rows = await db.query<{ name: string; options: string | null }>({
      text: `select c.relname as name, array_to_string(c.reloptions, ', ') as options from pg_class c
             where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
               and (c.relispartition or c.relname in ('orders', 'order_items', 'transfers', 'profiles'))`,
    })
    expect(rows.filter(({ name }) => name.startsWith('events_')).length).toBeGreaterThan(1)
    const pausing = rows.filter(({ options }) => !options?.includes('autovacuum_vacuum_cost_delay=0'))
    expect(pausing.map(({ name }) => name)).toEqual([])
  })

  it('begins every primary, unique and foreign key in tenant tables with tenant_id', async () => {
    const rows = await db.query<{ table: string; name: string; kind: string; first: string }>({
      text: `
      select c.relname as table, i.relname as name, 'unique' as kind, pg_get_indexdef(x.indexrelid, 1, true) as first
      from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
      where x.indisunique and c.relnamespace = current_schema()::regnamespace and not c.relispartition
      union all
      select c.relname, k.conname, 'foreign', a.attname
      from pg_constraint k join pg_class c on c.oid = k.conrelid
      join pg_attribute a on a.attrelid = c.oid and a.attnum = k.conkey[1]
      where k.contype = 'f' and c.relnamespace = current_schema()::regnamespace and not c.relispartition
      order by 1, 2`,
    })
    const tenantTables = (await tables()).filter((table) => !REFERENCE_TABLES[table] && !SUPPLIER_TABLES[table])
    const wrong = rows.filter(
      (key) => tenantTables.includes(key.table) && key.first !== 'tenant_id' && !UNIQUE_ACROSS_TENANTS[key.name],
    )
    expect(wrong).toEqual([])
    const gone = Object.keys(UNIQUE_ACROSS_TENANTS).filter((name) => !rows.some((key) => key.name === name))
    expect(gone, 'exceptions for keys that no longer exist').toEqual([])
  })

  it('has a primary key on every table', async () => {
    const rows = await db.query({
      text: `select c.relname from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
        and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'p')`,
    })
    expect(rows).toEqual([])
  })

  it('does not list exceptions for tables that no longer exist', async () => {
    const present = await tables()
    expect(Object.keys(REFERENCE_TABLES).filter((table) => !present.includes(table))).toEqual([])
  })
})

async function tables(): Promise<string[]> {
  const rows = await db.query<{ name: string }>({
    text: `select c.relname as name from pg_class c
           where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
  })
  return rows.map((row) => row.name)
}
