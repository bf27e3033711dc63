import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'

/** The server's counters for a database. */
export interface Counters {
  transactions: number
  /** By table: partitions count for their parent. */
  tables: Map<string, TableCounters>
  /** By text; empty where the server does not have pg_stat_statements. */
  statements: Map<string, { calls: number; ms: number }>
}

interface TableCounters {
  inserted: number
  updated: number
  /** Updates without index entries. */
  hot: number
  deleted: number
}

/** Server processes report their counts once a second. */
const REPORTED_AFTER_MS = 1_500
const STATEMENTS_SHOWN = 25
const TEXT_SHOWN = 90

export async function readCounters(db: Db): Promise<Counters> {
  await delay(REPORTED_AFTER_MS)
  const [database] = await db.query<{ transactions: number }>({
    text: `select (xact_commit + xact_rollback)::float8 as transactions from pg_stat_database where datname = current_database()`,
  })
  const tables = await db.query<TableCounters & { name: string }>({
    text: `select coalesce(p.relname, c.relname) as name, sum(n_tup_ins)::float8 as inserted, sum(n_tup_upd)::float8 as updated,
             sum(n_tup_hot_upd)::float8 as hot, sum(n_tup_del)::float8 as deleted
           from pg_stat_user_tables s join pg_class c on c.oid = s.relid
           left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
           group by 1`,
  })
  const statements = await db.query<{ text: string; calls: number; ms: number }>({ text: STATEMENTS }).catch(() => [])
  return {
    transactions: database!.transactions,
    tables: new Map(tables.map(({ name, ...counters }) => [name, counters])),
    statements: new Map(statements.map(({ text, ...statement }) => [text, statement])),
  }
}

const STATEMENTS = `
  select query as text, sum(calls)::float8 as calls, sum(total_exec_time + total_plan_time)::float8 as ms
  from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database()) group by 1`

/** Installs pg_stat_statements where the server can. @returns whether it counts */
export async function countStatements(db: Db): Promise<boolean> {
  return db.query({ text: 'create extension if not exists pg_stat_statements' }).then(
    () =>
      db.query({ text: 'select from pg_stat_statements limit 1' }).then(
        () => true,
        () => false,
      ),
    () => false,
  )
}

/** Transactions and rows written for each sold eSIM, in one line. */
export function writtenPerEsim(before: Counters, after: Counters, esims: number): string {
  const per = (count: number) => (count / esims).toFixed(2)
  const tables = [...after.tables].flatMap(([name, now]) => {
    const then = before.tables.get(name)
    const [inserted, updated, hot, deleted] = (['inserted', 'updated', 'hot', 'deleted'] as const).map(
      (key) => now[key] - (then?.[key] ?? 0),
    ) as [number, number, number, number]
    if (inserted + updated + deleted < esims / 20) return []
    const parts = [
      ...(inserted > 0 ? [`${per(inserted)} inserted`] : []),
      ...(updated > 0 ? [`${per(updated)} updated (${per(hot)} HOT)`] : []),
      ...(deleted > 0 ? [`${per(deleted)} deleted`] : []),
    ]
    return [`${name} ${parts.join(', ')}`]
  })
  return `for each eSIM ${per(after.transactions - before.transactions)} transactions and these rows: ${tables.sort().join('; ')}`
}

/** The statements that cost most, one a line. */
export function statementTable(before: Counters, after: Counters, esims: number): string[] {
  const used = [...after.statements].map(([text, now]) => {
    const then = before.statements.get(text)
    return { text, calls: now.calls - (then?.calls ?? 0), us: ((now.ms - (then?.ms ?? 0)) * 1000) / esims }
  })
  const total = used.reduce((sum, { us }) => sum + us, 0)
  const lines = used
    .toSorted((one, other) => other.us - one.us)
    .slice(0, STATEMENTS_SHOWN)
    .map(({ text, calls, us }) => {
      const short = text.replaceAll(/\s+/g, ' ').trim().slice(0, TEXT_SHOWN)
      return `${us.toFixed(1).padStart(7)} µs  ${(calls / esims).toFixed(3).padStart(6)} calls  ${short}`
    })
  return [`server time per eSIM: ${total.toFixed(0)} µs`, ...lines]
}
