import type { Db } from './db.ts'
import { firstUuidAt } from './ids.ts'

/** How a table is cut by time: partitions are made ahead and dropped whole, never row by row. */
export interface PartitionedTable {
  table: string
  /** 'hour': an integer column of hours since 1970. 'uuid': a UUIDv7 column. */
  key: 'hour' | 'uuid'
  span_hours: number
  ahead: number
  /** Hours after its end that a partition is kept; undefined: for ever. */
  keep_hours: number | undefined
  /** Percent of a page that inserts fill; the rest is room for updates in place. */
  fillfactor?: number
}

const DAY = 24

/** The one retention table of everything that is kept by age. */
export const PARTITIONED: readonly PartitionedTable[] = [
  // A RequestID counts until its timestamp cannot pass (5 min) and an hour more: 65 minutes, rounded up to two slots.
  { table: 'request_ids', key: 'hour', span_hours: 1, ahead: 6, keep_hours: 2 },
  { table: 'supplier_attempts', key: 'uuid', span_hours: 30 * DAY, ahead: 3, keep_hours: 400 * DAY },
  // DEAD events are kept 30 days; one is dead 4 days after its last attempt began at the latest.
  { table: 'events', key: 'uuid', span_hours: 7 * DAY, ahead: 4, keep_hours: 38 * DAY, fillfactor: 60 },
  { table: 'delivery_attempts', key: 'uuid', span_hours: DAY, ahead: 7, keep_hours: 31 * DAY },
]

const HOUR_MS = 3_600_000

/**
 * Makes the partitions that the database's now and the near future need, and drops those that are past keeping.
 * Idempotent; several nodes may run it at once (one works, under an advisory lock). Being late only costs the time.
 */
export async function maintainPartitions(db: Db, tables = PARTITIONED): Promise<{ made: string[]; dropped: string[] }> {
  return db.tx(async (tx) => {
    // A drop waits for readers; rather give up and come again than make writers queue behind the wait.
    tx.send({ text: `set local lock_timeout = '2s'` })
    tx.send({ text: `select pg_advisory_xact_lock(hashtext('partitions'))` })
    const [clock] = await tx.query<{ now: number }>({ text: 'select extract(epoch from now())::float8 * 1000 as now' })
    const present = await tx.query<{ parent: string; name: string }>({
      text: `select p.relname as parent, c.relname as name from pg_inherits i
             join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
             where p.relnamespace = 'public'::regnamespace`,
    })
    const made: string[] = []
    const dropped: string[] = []
    for (const table of tables) {
      const names = new Set(present.filter((row) => row.parent === table.table).map((row) => row.name))
      for (const partition of wanted(table, clock!.now)) {
        if (names.has(partition.name)) continue
        const bounds = `from (${partition.from}) to (${partition.to})`
        const storage = `with (fillfactor = ${table.fillfactor ?? 100})`
        tx.send({ text: `create table ${partition.name} partition of ${table.table} for values ${bounds} ${storage}` })
        made.push(partition.name)
      }
      for (const name of names) {
        if (!isPast(table, name, clock!.now)) continue
        tx.send({ text: `drop table ${name}` })
        dropped.push(name)
      }
    }
    return { made, dropped }
  })
}

function wanted(table: PartitionedTable, now_ms: number) {
  const current = Math.floor(now_ms / HOUR_MS / table.span_hours)
  const partitions: { name: string; from: string; to: string }[] = []
  // One behind: ids and timestamps may be a little older than now.
  for (let index = current - 1; index <= current + table.ahead; index++) {
    partitions.push({
      name: `${table.table}_${index * table.span_hours}`,
      from: bound(table, index * table.span_hours),
      to: bound(table, (index + 1) * table.span_hours),
    })
  }
  return partitions
}

function bound(table: PartitionedTable, hour: number): string {
  return table.key === 'hour' ? String(hour) : `'${firstUuidAt(hour * HOUR_MS)}'`
}

function isPast(table: PartitionedTable, name: string, now_ms: number): boolean {
  const start = Number(name.slice(table.table.length + 1))
  if (table.keep_hours === undefined || !Number.isInteger(start)) return false
  return (start + table.span_hours + table.keep_hours) * HOUR_MS < now_ms
}
