import type { Db } from '@dealer-esim/lib/postgres/db.ts'

/*
 * Operations that PostgreSQL allows only on tables and outside a transaction. On Citus, the gateway's sessions find views
 * with the tables' names, and send definitions to the coordinator (packages/lib/src/postgres/distributed-schema.ts).
 */

/** The tables that contain the rows, as SQL: on Citus, the shards, which it hides from pg_class. */
export async function tablesOf(db: Db, ...names: string[]): Promise<string> {
  const rows = await db.query<{ table: string }>({
    text: `
      select (pg_identify_object('pg_class'::regclass, coalesce(
        (select d.refobjid from pg_rewrite r
         join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
         where r.ev_class = name::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid <> r.ev_class limit 1),
        name::regclass), 0)).identity as table
      from unnest($1::text[]) name`,
    values: [names],
  })
  return rows.map(({ table }) => table).join(', ')
}

export async function partitionsOf(db: Db, table: string): Promise<string[]> {
  const rows = await db.query<{ name: string }>({
    text: `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
           where i.inhparent = (current_schema() || '.' || $1)::regclass order by 1`,
    values: [table],
  })
  return rows.map(({ name }) => name)
}

export async function vacuum(db: Db, ...names: string[]): Promise<void> {
  await runOnNode(db, `vacuum analyze ${await tablesOf(db, ...names)}`)
}

/** Runs one statement directly on the database's own server: Citus does not forward it, and allows it to change shards. */
export async function runOnNode({ pool }: Db, text: string): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query(ONLY_HERE)
    await client.query(text)
  } finally {
    client.release(true) // destroys the connection, including its settings
  }
}

/** Settings that have no meaning for a server without Citus. */
export const ONLY_HERE = 'set citus.enable_ddl_propagation to off; set citus.enable_manual_changes_to_shards to on'
