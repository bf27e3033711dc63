import { updateSales } from '@dealer-esim/gateway/sales/update-sales.ts'
import { growTree } from '@dealer-esim/gateway/wallet/books/grow-tree.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { SUM_TABLES } from '../console-pages/sums.ts'
import { copyRows } from './copy.ts'
import { balanceAfter, type OrderHistory, ordersOf, rowsOf, TABLES } from './history.ts'

/** Tables filled concurrently: one per core on the server, and one whose lines are being generated. */
const CONCURRENT_TABLES = 3

/**
 * Fills a database with an order history. Secondary indexes and foreign keys are dropped before and rebuilt afterwards, so
 * indexes are equally compact in both databases. Ends with VACUUM ANALYZE, which autovacuum would have done in a real week.
 */
export async function loadHistory(
  url: string,
  db: Db,
  history: OrderHistory,
  progress: (line: string) => void,
): Promise<void> {
  const started = performance.now()
  const restore = await dropIndexes(db, Object.keys(TABLES))
  const tables = Object.keys(TABLES)
  const filler = async () => {
    for (let table = tables.shift(); table !== undefined; table = tables.shift()) {
      await copyRows(url, `${table} (${TABLES[table]!.columns})`, rowsOf(table, history))
      progress(`  ${history.orders} orders: ${table} filled after ${seconds(started)} s`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_TABLES }, filler))
  await updateWallets(db, history)
  // The list begins with the constraints that others refer to.
  for (const text of restore) await db.query({ text })
  progress(`  ${history.orders} orders: indexes built after ${seconds(started)} s`)
  for (const table of [...Object.keys(TABLES), 'wallets']) await db.query({ text: `vacuum (analyze) ${table}` })
  await growLedger(db, history.tenantIds[0]!)
  progress(`  ${history.orders} orders: tree of the first ledger grown after ${seconds(started)} s`)
  await sumUpSales(db)
  progress(`  ${history.orders} orders: sales summed up after ${seconds(started)} s`)
  await db.query({ text: 'checkpoint' })
  progress(`  ${history.orders} orders: loaded in ${seconds(started)} s`)
}

const seconds = (started: number) => ((performance.now() - started) / 1000).toFixed(0)

/** Hashes all entries of a ledger, as the workers do. */
async function growLedger(db: Db, tenantId: string): Promise<void> {
  while ((await growTree(db, tenantId))?.more) {}
  await db.query({ text: 'vacuum (analyze) ledger_tiles' })
}

/** Calculates the daily sales, as the workers do. A pass looks at a part of a large wallet. */
async function sumUpSales(db: Db): Promise<void> {
  let behind: unknown[]
  do {
    await updateSales(db)
    behind = await db.query({
      text: `select from wallets w left join sales_progress p using (tenant_id)
             where w.version > coalesce(p.wallet_version, 0) or p.dirty_days <> '{}' limit 1`,
    })
  } while (behind.length > 0)
  for (const table of SUM_TABLES) {
    await db.query({ text: `vacuum (analyze) ${table}` })
  }
}

/** Drops the foreign keys and all indexes but primary keys. @returns the statements that create them again */
export async function dropIndexes(db: Db, tables: readonly string[]): Promise<string[]> {
  const values = [tables]
  const constraints = await db.query<{ table: string; name: string; definition: string }>({
    text: `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
           from pg_constraint where conrelid::regclass::text = any ($1) and contype in ('u', 'f') and conparentid = 0
           order by contype desc`,
    values,
  })
  const indexes = await db.query<{ name: string; definition: string }>({
    text: `select quote_ident(indexname) as name, indexdef as definition from pg_indexes
           where schemaname = current_schema() and tablename = any ($1)
             and not exists (select from pg_constraint where conname = indexname)`,
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

/** Sets balances and versions to what the orders left, and dates the top-up before the first order. */
async function updateWallets(db: Db, history: OrderHistory): Promise<void> {
  const openedAt = new Date(history.startMs - 1)
  await db.query({
    text: 'update transfers set created_at = $2 where tenant_id = any ($1::uuid[]) and wallet_version = 1',
    values: [history.tenantIds, openedAt],
  })
  const counts = history.tenantIds.map((_, tenant) => ordersOf(history, tenant))
  await db.query({
    text: `update wallets w set balance = past.balance, version = past.version
           from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as past(tenant_id, balance, version)
           where w.tenant_id = past.tenant_id`,
    values: [
      history.tenantIds,
      counts.map((count) => (count === 0 ? history.opening : balanceAfter(history, count - 1)).toString()),
      counts.map((count) => count + 1),
    ],
  })
}
