import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { DIGEST, ROW_TEXT, rowsOfKeys, type TableShape } from './table-shape.ts'

/** Rows read from the source. */
export interface ReadRows {
  /** JSON texts that are never parsed here, so nothing is rounded or reordered. */
  rows: string[]
  /** The digest of these rows that the source computed. */
  digest: string
}

/** SQL: the columns of a HashedRow `t`. */
export const HASHED_ROW = `${ROW_TEXT} as row, hashtextextended(${ROW_TEXT}, 0)::text as hash`

export interface HashedRow {
  row: string
  hash: string
}

export function readRows(rows: readonly HashedRow[]): ReadRows {
  const digest = rows.reduce((sum, { hash }) => sum + BigInt(hash), 0n).toString()
  return { rows: rows.map(({ row }) => row), digest }
}

/**
 * Writes rows in the target and compares what the target then reads with what the source read.
 * @param kept a column that keeps its value in the target, or gets its default
 */
export async function writeRows(tx: Tx, shape: TableShape, { rows, digest }: ReadRows, kept?: string): Promise<void> {
  if (rows.length === 0) return
  const { table } = shape
  const columns = shape.columns.filter((column) => column !== kept)
  const keys = shape.key.map(({ name }) => name)
  const changed = columns.filter((column) => !keys.includes(column))
  const update = changed.map((column) => `${column} = excluded.${column}`).join(', ')
  const [written] = await tx.query<{ digest: string }>({
    name: `move-write-${table}`,
    text: `with t as (
             insert into ${table} (${columns.join(', ')})
             select ${columns.join(', ')} from json_populate_recordset(null::${table}, $1::json)
             on conflict (${keys.join(', ')}) do ${changed.length > 0 ? `update set ${update}` : 'nothing'}
             returning ${columns.join(', ')})
           select ${DIGEST} as digest from t`,
    values: [arrayOf(rows)],
  })
  if (kept !== undefined || changed.length === 0 || written!.digest === digest) return
  throw new Refusal(
    409,
    'COPY_DIFFERS',
    `Rows of ${table} are not in the new cell as the old one sent them. Check that both cells run the same release, and that nothing changes rows in the new one, such as a trigger. Then run the command again, or undo the move with --abort.`,
  )
}

/** Deletes the rows with these keys in the target. */
export function deleteRows(tx: Tx, shape: TableShape, keys: readonly string[]): void {
  tx.send({
    name: `move-delete-${shape.table}`,
    text: `delete from ${shape.table} d using (select t.* from ${rowsOfKeys(shape, '$1')}) t
           where ${shape.key.map(({ name }) => `d.${name} = t.${name}`).join(' and ')}`,
    values: [arrayOf(keys)],
  })
}

export function arrayOf(documents: readonly string[]): string {
  return `[${documents.join(',')}]`
}
