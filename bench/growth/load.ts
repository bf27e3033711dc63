import type { Db } from '../../packages/gateway/src/lib/postgres/db.ts'
import { copyRows } from './copy.ts'
import { balanceAfter, ordersOf, type Past, rowsOf, TABLES } from './rows.ts'

/** Tables that are filled at once: one for each core to write, one to make lines for. */
const AT_ONCE = 3

/**
 * Fills a database with a past. Secondary indexes and foreign keys are taken down before and built again after: they are
 * then as packed as a rebuilt index is, in both of the databases that are compared. Ends with VACUUM ANALYZE, which
 * autovacuum would have done in a real week.
 */
export async function loadPast(url: string, db: Db, past: Past, progress: (line: string) => void): Promise<void> {
  const started = performance.now()
  const restore = await takeDownIndexes(db)
  const tables = Object.keys(TABLES)
  const filler = async () => {
    for (let table = tables.shift(); table !== undefined; table = tables.shift()) {
      await copyRows(url, `${table} (${TABLES[table]!.columns})`, rowsOf(table, past))
      progress(`  ${past.orders} orders: ${table} filled after ${seconds(started)} s`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, filler))
  await settleWallets(db, past)
  // Constraints that others refer to come first: the list is in that order.
  for (const text of restore) await db.query({ text })
  progress(`  ${past.orders} orders: indexes built after ${seconds(started)} s`)
  for (const table of [...Object.keys(TABLES), 'wallets']) await db.query({ text: `vacuum (analyze) ${table}` })
  await db.query({ text: 'checkpoint' })
  progress(`  ${past.orders} orders: loaded in ${seconds(started)} s`)
}

const seconds = (started: number) => ((performance.now() - started) / 1000).toFixed(0)

/** @returns the statements that bring everything back */
async function takeDownIndexes(db: Db): Promise<string[]> {
  const values = [Object.keys(TABLES)]
  const constraints = await db.query<{ table: string; name: string; definition: string }>({
    text: `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
           from pg_constraint where conrelid::regclass::text = any ($1) and contype in ('u', 'f') and conparentid = 0
           order by contype desc`,
    values,
  })
  const indexes = await db.query<{ name: string; definition: string }>({
    text: `select quote_ident(indexname) as name, indexdef as definition from pg_indexes
           where tablename = any ($1) and not exists (select from pg_constraint where conname = indexname)`,
    values,
  })
  for (const { table, name } of [...constraints].reverse()) {
    await db.query({ text: `alter table ${table} drop constraint ${name}` })
  }
  for (const { name } of indexes) await db.query({ text: `drop index ${name}` })
  return [
    ...constraints.map(({ table, name, definition }) => `alter table ${table} add constraint ${name} ${definition}`),
    ...indexes.map(({ definition }) => definition.replace(' ON ONLY ', ' ON ')),
  ]
}

/** The wallets as their orders left them, topped up before the first. */
async function settleWallets(db: Db, past: Past): Promise<void> {
  const openedAt = new Date(past.startMs - 1)
  await db.query({
    text: 'update transfers set created_at = $2 where tenant_id = any ($1::uuid[]) and wallet_version = 1',
    values: [past.tenantIds, openedAt],
  })
  const counts = past.tenantIds.map((_, tenant) => ordersOf(past, tenant))
  await db.query({
    text: `update wallets w set balance = past.balance, version = past.version
           from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as past(tenant_id, balance, version)
           where w.tenant_id = past.tenant_id`,
    values: [
      past.tenantIds,
      counts.map((count) => (count === 0 ? past.opening : balanceAfter(past, count - 1)).toString()),
      counts.map((count) => count + 1),
    ],
  })
}
