import { orderNoOf } from '@dealer-esim/contract'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { subtractTenants } from '#sales/update-sales.ts'

/**
 * Deletes every row of these tenants from every table that has a tenant_id, in one transaction, referencing tables first.
 * Rows without a tenant_id that belong to their people are deleted by `on delete cascade`; the sandbox's records of their
 * orders are found by their keys.
 */
export async function removeTenants(db: Db, tenantIds: readonly string[]): Promise<void> {
  await db.tx(async (tx) => {
    tx.send({ text: 'select from wallets where tenant_id = any ($1) for update', values: [tenantIds] })
    await removeRows(tx, tenantIds)
  })
}

/** The same in a transaction that has locked the wallets. The rows of the tables in `kept` stay. */
export async function removeRows(
  tx: Tx,
  tenantIds: readonly string[],
  kept: ReadonlySet<string> = new Set(),
): Promise<void> {
  // Locked before their tiles are deleted, in the order in which trees grow.
  tx.send({ text: 'select from ledger_trees where tenant_id = any ($1) for update', values: [tenantIds] })
  // No other process adds a row that references them: such a row would be left, and their own deletion refused.
  if (!kept.has('tenants'))
    tx.send({ text: 'select from tenants where tenant_id = any ($1) for update', values: [tenantIds] })
  await removeSandboxRecords(tx, tenantIds)
  await subtractTenants(tx, tenantIds)
  for (const table of await tenantTables(tx)) {
    if (!kept.has(table)) tx.send({ text: `delete from ${table} where tenant_id = any ($1)`, values: [tenantIds] })
  }
}

async function removeSandboxRecords(tx: Tx, tenantIds: readonly string[]): Promise<void> {
  const items = await tx.query<{ orderId: string; itemNo: number }>(sql`
    select order_id, item_no from order_items where tenant_id = any (${tenantIds})`)
  const keys = items.map(({ orderId, itemNo }) => `${orderNoOf(orderId)}-${itemNo}`)
  tx.send({ text: 'delete from sandbox_issued where key = any ($1)', values: [keys] })
  tx.send({ text: 'delete from sandbox_actions where esim_key = any ($1)', values: [keys] })
}

/**
 * The tables of this schema with a tenant_id, each before the tables that it references. Partitions are covered by their
 * parents.
 */
async function tenantTables(tx: Tx): Promise<string[]> {
  const tables = await tx.query<{ name: string; referenced: string[] }>(sql`
    select c.relname as name,
           array(select distinct r.relname::text from pg_constraint f join pg_class r on r.oid = f.confrelid
                 where f.contype = 'f' and f.conrelid = c.oid and r.oid <> c.oid) as referenced
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    order by c.relname`)
  const ordered: string[] = []
  let left = tables
  while (left.length > 0) {
    const referenced = new Set(left.flatMap((table) => table.referenced))
    const free = left.filter(({ name }) => !referenced.has(name))
    if (free.length === 0) throw new Error('the tables reference each other in a circle')
    ordered.push(...free.map(({ name }) => name))
    left = left.filter(({ name }) => referenced.has(name))
  }
  return ordered
}
