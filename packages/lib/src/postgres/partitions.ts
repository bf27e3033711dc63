import sql from 'sql-template-tag'
import { firstUuidAt } from '#ids.ts'
import type { Db } from './db.ts'
import { advisoryKey } from './schema.ts'

/**
 * How a table is partitioned by time. Partitions are created ahead and dropped whole; rows are never deleted individually.
 */
export interface PartitionedTable {
  table: string
  /** 'hour': an integer column of hours since 1970. 'uuid': a UUIDv7 column. */
  key: 'hour' | 'uuid'
  spanHours: number
  ahead: number
  /** How long a partition is kept after its end; undefined: forever. */
  keepHours: number | undefined
  /** The name of an advisory lock: while others hold it, the table is left alone. */
  unless?: string | undefined
  /** Percent of each page that inserts fill: the rest is for updates in place. Default 100. */
  fillfactor?: number
}

const HOUR_MS = 3_600_000

/**
 * Creates the partitions for the present and the near future by the database's clock. Idempotent. Several nodes may run it
 * simultaneously, because an advisory lock admits one at a time. @returns the names of the new partitions
 * @param sinceMs also creates past partitions, from this moment on
 */
export function createPartitions(
  db: Db,
  tables: readonly PartitionedTable[],
  sinceMs = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  return eachTable(db, tables, (table, names, nowMs) =>
    wanted(table, nowMs, sinceMs)
      .filter(({ name }) => !names.has(name))
      .map(({ name, from, to }) => ({
        name,
        statement: `create table ${name} partition of ${table.table} for values from (${from}) to (${to}) with (${UNPAUSED}, fillfactor = ${table.fillfactor ?? 100})`,
      })),
  )
}

/** If autovacuum paused, it would keep dead versions of hot rows for seconds (docs/performance.md). */
const UNPAUSED = 'autovacuum_vacuum_cost_delay = 0'

/**
 * Drops the partitions for which `isOld` holds: by default, those past their retention by the database's clock. The caller
 * must have reason to trust that clock.
 */
export function dropPartitions(
  db: Db,
  tables: readonly PartitionedTable[],
  isOld: (table: PartitionedTable, name: string, nowMs: number) => boolean = isPast,
): Promise<string[]> {
  return eachTable(db, tables, (table, names, nowMs) =>
    [...names].filter((name) => isOld(table, name, nowMs)).map((name) => ({ name, statement: `drop table ${name}` })),
  )
}

/** @returns the partitions to be created or dropped, each with the statement that does it */
type Work = (
  table: PartitionedTable,
  names: ReadonlySet<string>,
  nowMs: number,
) => { name: string; statement: string }[]

/**
 * Uses one transaction per table: creating a partition locks the whole table, and that lock must not be held while waiting
 * for another table's. A table that fails does not stop the others; the first failure is thrown at the end.
 */
async function eachTable(db: Db, tables: readonly PartitionedTable[], work: Work): Promise<string[]> {
  const all: string[] = []
  const failures: unknown[] = []
  for (const table of tables) {
    try {
      all.push(...(await onTable(db, table, work)))
    } catch (failure) {
      failures.push(failure)
    }
  }
  if (failures.length > 0) throw failures[0]
  return all
}

/** The missing partitions of each table for the present and the next span. Reads the catalogue; takes no locks. */
export async function findMissingPartitions(
  db: Db,
  tables: readonly PartitionedTable[],
): Promise<{ table: string; names: string[] }[]> {
  const rows = await db.query<{ parent: string; name: string; now: number }>({
    text: `select p.relname as parent, c.relname as name, extract(epoch from clock_timestamp())::float8 * 1000 as now
           from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
           where p.relnamespace = current_schema()::regnamespace and p.relname = any ($1)`,
    values: [tables.map((table) => table.table)],
  })
  const present = new Set(rows.map((row) => row.name))
  const nowMs = rows[0]?.now ?? Date.now()
  return tables.map((table) => {
    const needed = wanted({ ...table, ahead: 1 }, nowMs).slice(1) // without the past span
    return { table: table.table, names: needed.map(({ name }) => name).filter((name) => !present.has(name)) }
  })
}

/** Locks: the advisory lock, then the table in exclusive mode. */
async function onTable(db: Db, table: PartitionedTable, work: Work): Promise<string[]> {
  return db.tx(async (tx) => {
    // A drop waits for readers, and writers queue behind it, so it gives up early and is retried later.
    tx.send({ text: `set local lock_timeout = '2s'` })
    tx.send({ text: `select pg_advisory_xact_lock(${advisoryKey('partitions')})` })
    const [clock] = await tx.query<{ now: number }>(sql`
      select extract(epoch from clock_timestamp())::float8 * 1000 as now`)
    const present = await tx.query<{ name: string }>(sql`
      select c.relname as name from pg_inherits i
      join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
      where p.relnamespace = current_schema()::regnamespace and p.relname = ${table.table}`)
    const partitions = work(table, new Set(present.map((row) => row.name)), clock!.now)
    if (partitions.length > 0 && table.unless !== undefined) {
      const [lock] = await tx.query<{ isFree: boolean }>({
        text: `select pg_try_advisory_xact_lock(${advisoryKey(table.unless)}) as is_free`,
      })
      if (!lock!.isFree) return []
    }
    for (const { statement } of partitions) tx.send({ text: statement })
    return partitions.map(({ name }) => name)
  })
}

function wanted(table: PartitionedTable, nowMs: number, sinceMs = nowMs) {
  const current = Math.floor(nowMs / HOUR_MS / table.spanHours)
  // The past span is included, because ids and timestamps may be a little older than now.
  const first = Math.min(current - 1, Math.floor(sinceMs / HOUR_MS / table.spanHours))
  const partitions: { name: string; from: string; to: string }[] = []
  for (let index = first; index <= current + table.ahead; index++) {
    partitions.push({
      name: `${table.table}_${index * table.spanHours}`,
      from: bound(table, index * table.spanHours),
      to: bound(table, (index + 1) * table.spanHours),
    })
  }
  return partitions
}

function bound(table: PartitionedTable, hour: number): string {
  return table.key === 'hour' ? String(hour) : `'${firstUuidAt(hour * HOUR_MS)}'`
}

function isPast(table: PartitionedTable, name: string, nowMs: number): boolean {
  const start = Number(name.slice(table.table.length + 1))
  if (table.keepHours === undefined || !Number.isInteger(start)) return false
  return (start + table.spanHours + table.keepHours) * HOUR_MS < nowMs
}
