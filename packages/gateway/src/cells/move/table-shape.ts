import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'

/** The columns of a table, as the database describes them. */
export interface TableShape {
  table: string
  columns: string[]
  /** The primary key. */
  key: { name: string; type: string }[]
  /** Tables that this table's rows reference. */
  references: string[]
}

/** Describes tables in the given order. */
export async function describeTables(db: Db, tables: readonly string[]): Promise<TableShape[]> {
  const rows = await db.query<{
    table: string
    name: string
    type: string
    keyPosition: number | null
    references: string[]
  }>(sql`
    select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
           array_position(k.conkey, a.attnum) as key_position,
           array(select distinct r.relname::text from pg_constraint f join pg_class r on r.oid = f.confrelid
                 where f.contype = 'f' and f.conrelid = c.oid) as "references"
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
    where c.relnamespace = current_schema()::regnamespace and c.relname = any (${tables})
    order by c.relname, a.attnum`)
  return tables.map((table) => {
    const columns = rows.filter((row) => row.table === table)
    const key = columns
      .filter(({ keyPosition }) => keyPosition !== null)
      .sort((left, right) => left.keyPosition! - right.keyPosition!)
    return {
      table,
      columns: columns.map(({ name }) => name),
      key: key.map(({ name, type }) => ({ name, type })),
      references: columns[0]?.references ?? [],
    }
  })
}

/**
 * SQL: the rows `t` of a table, with its own columns only. In a distributed schema the table is a view that also has system
 * columns (packages/lib/src/postgres/distributed-schema.ts).
 */
export function rowsOfTable({ table, columns }: TableShape): string {
  return `(select ${columns.join(', ')} from ${table}) t`
}

/** SQL: the row `t` as text. Equal texts mean equal rows, whatever the order of the columns in the table. */
export const ROW_TEXT = 'row_to_json(t)::text'
/** SQL: a digest of the rows `t`, independent of their order. */
export const DIGEST = `coalesce(sum(hashtextextended(${ROW_TEXT}, 0)::numeric), 0)::text`

/** SQL: the key of the row `t` as JSON, which `rowsOfKeys` accepts. */
export function keyJson({ key }: TableShape): string {
  return `jsonb_build_object(${key.map(({ name }) => `'${name}', t.${name}`).join(', ')})::text`
}

/** SQL: the rows `t` with one of the keys in a JSON array, in the order of the keys. */
export function rowsOfKeys(shape: TableShape, parameter: string): string {
  const equal = shape.key.map(({ name }) => `t.${name} = k.${name}`).join(' and ')
  return `jsonb_populate_recordset(null::${shape.table}, ${parameter}::jsonb) with ordinality k
          join ${rowsOfTable(shape)} on ${equal}`
}
