import { setTimeout as delay } from 'node:timers/promises'
import { sqlState } from '@dealer-esim/lib/postgres/errors.ts'
import type { MovingCell } from './cell-session.ts'
import type { TableShape } from './table-shape.ts'

/** Writers of the table queue behind this lock while it waits, so it must not wait long. */
const LOCK_TIMEOUT_MS = 100
const RETRY_MS = 50
/** Long enough for a vacuum of a large table, which conflicts with the guard's lock, to end. */
const GIVE_UP_MS = 10 * 60_000

/**
 * Guards the tenant's rows with triggers on each table (guard_moved_tenant). For other tenants' rows, the only cost is
 * evaluating a condition. Each table is locked briefly, in its own transaction. Installing a guard twice changes nothing.
 */
export async function installGuards(cell: MovingCell, tenantId: string, shapes: readonly TableShape[]): Promise<void> {
  const present = new Set((await listGuards(cell, tenantId)).map(({ table }) => table))
  for (const { table, key } of shapes) {
    if (present.has(table)) continue
    const call = `guard_moved_tenant('${tenantId}', '${table}', ${key.map(({ name }) => `'${name}'`).join(', ')})`
    const events = { w: ['insert or update', 'new'], d: ['delete', 'old'] } as const
    await alterTable(
      cell,
      Object.entries(events).map(
        ([suffix, [event, row]]) => `
          create trigger ${guardName(tenantId)}_${suffix} after ${event} on ${table} for each row
          when (${row}.tenant_id = '${tenantId}') execute function ${call}`,
      ),
    )
  }
}

export async function removeGuards(cell: MovingCell, tenantId: string): Promise<void> {
  for (const { table, names } of await listGuards(cell, tenantId)) {
    await alterTable(
      cell,
      names.map((name) => `drop trigger if exists ${name} on ${table}`),
    )
  }
}

function guardName(tenantId: string): string {
  return `moved_${tenantId.replaceAll('-', '')}`
}

function listGuards({ db }: MovingCell, tenantId: string): Promise<{ table: string; names: string[] }[]> {
  return db.query({
    text: `select c.relname as table, array_agg(t.tgname::text) as names from pg_trigger t join pg_class c on c.oid = t.tgrelid
           where c.relnamespace = current_schema()::regnamespace and not c.relispartition and t.tgname like $1
           group by c.relname`,
    values: [`${guardName(tenantId)}%`],
  })
}

async function alterTable({ db }: MovingCell, statements: readonly string[]): Promise<void> {
  const startedAt = performance.now()
  for (;;) {
    try {
      await db.tx(async (tx) => {
        tx.send({ text: `set local lock_timeout = ${LOCK_TIMEOUT_MS}` })
        // The statements are sent as one text, because each text with definitions is a separate transaction in a
        // distributed schema.
        tx.send({ text: statements.join(';') })
      })
      return
    } catch (error) {
      if (!RETRIED.has(sqlState(error) ?? '') || performance.now() - startedAt > GIVE_UP_MS) throw error
      await delay(RETRY_MS)
    }
  }
}

/** Lock time-out, deadlock. */
const RETRIED: ReadonlySet<string> = new Set(['55P03', '40P01'])
