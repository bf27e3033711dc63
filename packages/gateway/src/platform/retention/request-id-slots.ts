import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { dropPartitions, type PartitionedTable } from '@dealer-esim/lib/postgres/partitions.ts'

/*
 * A RequestID that is forgotten too early can be accepted again, so a slot (an hour of RT-Timestamp, one partition) is not
 * dropped just because it is old by the database's clock. Its age is stored, and each pass adds the time that has really
 * passed (steady-clock.ts). A slot whose hour has not ended by the database's clock has age 0, even if it seemed to have
 * ended while the clock was fast.
 * While a clock is fast, dealers who follow its time (data.serverTime) use slots that become valid again when the clock is
 * set back. So a slot is dropped at its usual age only if the confirmed clock has also passed it, and a day later
 * otherwise. That limit holds whatever the clock does and however often processes restart.
 */

/** How long a slot is kept if only an unconfirmed clock has passed its end. */
const UNCONFIRMED_HOURS = 24

/**
 * Adds the elapsed time to the age of every slot that has ended. The caller has locked retention_clock, so only one node at
 * a time does it.
 */
export function ageRequestIdSlots(tx: Tx, elapsedMs: number): void {
  tx.send({ text: AGE, values: [elapsedMs] })
  tx.send({
    text: `insert into request_id_slots (slot, age_ms) select slot, 0 from (${SLOTS}) present(slot) on conflict do nothing`,
  })
  tx.send({ text: `delete from request_id_slots where slot not in (${SLOTS})` })
}

const SLOTS = `
  select substr(c.relname, length('request_ids_') + 1)::integer
  from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
  where p.relnamespace = current_schema()::regnamespace and p.relname = 'request_ids'`

const AGE = `
  update request_id_slots set age_ms =
    case when to_timestamp((slot + 1) * 3600.0) <= now() then age_ms + $1::float8 else 0 end`

/** Drops the slots that are past their retention. @returns the names of their partitions */
export async function dropOldRequestIdSlots(db: Db, table: PartitionedTable): Promise<string[]> {
  const rows = await db.query<{ name: string }>({ text: OLD, values: [table.keepHours] })
  if (rows.length === 0) return []
  const old = new Set(rows.map((row) => row.name))
  return dropPartitions(db, [table], (_, name) => old.has(name))
}

const OLD = `
  select 'request_ids_' || slot as name from request_id_slots, retention_clock
  where age_ms > $1::int * 3600000.0
    and (to_timestamp((slot + 1 + $1::int) * 3600.0) <= confirmed_at
         or age_ms > ($1::int + ${UNCONFIRMED_HOURS}) * 3600000.0)`
