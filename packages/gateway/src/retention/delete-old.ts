import { isHeld } from '../jobs/held.ts'
import { firstUuidAt } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { DeletedTable } from './table.ts'

/** Rows of one statement: its locks are held for some milliseconds. */
const STEP_MAX = 1_000
const DAY_MS = 86_400_000

/**
 * Deletes up to STEP_MAX rows that are older than the table keeps them, of one tenant where the table belongs to tenants.
 * Locks the rows that it deletes; several nodes may run it concurrently.
 */
export async function deleteOld(db: Db, table: DeletedTable, now: Date): Promise<{ rows: number; more: boolean }> {
  const before = new Date(now.getTime() - table.keepDays * DAY_MS)
  const cutoff = table.age === 'uuid' ? firstUuidAt(before.getTime()) : before
  const { table: name, column } = table
  if (!table.ofTenant) {
    const rows = await deleteStep(db, name, `${column} < $1`, [cutoff])
    return { rows, more: rows === STEP_MAX }
  }
  const [oldest] = await db.query<{ tenantId: string }>({
    text: `select tenant_id from ${name} where ${column} < $1 and not ${isHeld(`${name}.tenant_id`)} order by ${column} limit 1`,
    values: [cutoff],
  })
  if (!oldest) return { rows: 0, more: false }
  const rows = await deleteStep(db, name, `${column} < $1 and tenant_id = $2`, [cutoff, oldest.tenantId])
  return { rows, more: rows > 0 } // another tenant may have some
}

async function deleteStep(db: Db, table: string, old: string, values: unknown[]): Promise<number> {
  const rows = await db.query({
    text: `delete from ${table} where ${old} and ctid = any (array(select ctid from ${table} where ${old} limit ${STEP_MAX}))
           returning 1`,
    values,
  })
  return rows.length
}
