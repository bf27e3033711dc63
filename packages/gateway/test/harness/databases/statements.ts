import type { Db, Statement, Tx } from '@dealer-esim/lib/postgres/db.ts'

/** The cost of one statement according to PostgreSQL. */
export interface ExplainedQuery {
  statement: string
  /** Pages read from tables and indexes. */
  pages: number
  /** Tables that were scanned sequentially. */
  scanned: string[]
  /** Rows that were read but discarded by a filter. */
  discarded: number
}

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Join Filter'?: number
  Plans?: Plan[]
}

/** Wraps a database so that every query first runs with EXPLAIN ANALYZE, which is rolled back, and then normally. */
export function explainQueries(db: Db, seen: ExplainedQuery[]): Db {
  async function explain(tx: Tx, statement: Statement): Promise<void> {
    if (!/^\s*(with|select|update|delete)\b/i.test(statement.text)) return
    tx.send({ text: 'savepoint explained' })
    const { text, values = [] } = statement
    const [row] = await tx.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
      text: `explain (analyze, buffers, format json) ${text}`,
      values,
    })
    tx.send({ text: 'rollback to savepoint explained' })
    const plan = row!['QUERY PLAN'][0].Plan
    const pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    const name = statement.name ?? text.trim().slice(0, 80)
    seen.push({ statement: name, pages, scanned: scansOf(plan), discarded: discardedBy(plan) })
  }
  const query = <Row>(tx: Tx, statement: Statement) => explain(tx, statement).then(() => tx.query<Row>(statement))
  return {
    ...db,
    pool: db.pool,
    query: <Row>(statement: Statement) => db.tx((tx) => query<Row>(tx, statement)),
    tx: (work) =>
      db.tx(async (tx) => {
        // One at a time: each savepoint belongs to one statement.
        let last: Promise<unknown> = Promise.resolve()
        const next = <Value>(run: () => Promise<Value>) => {
          const running = last.then(run)
          last = running.catch(() => {})
          return running
        }
        const result = await work({
          brand: 'tx',
          connectedAt: tx.connectedAt,
          query: <Row>(statement: Statement) => next(() => query<Row>(tx, statement)),
          send: (statement) => void next(() => query(tx, statement)),
          afterCommit: tx.afterCommit,
        })
        await last
        return result
      }),
  }
}

/** Wraps a database so that every statement is added to `sent`, with the number of its rows once they have arrived. */
export function recordStatements(db: Db, sent: { statement: string; rows: number }[]): Db {
  const record = <Row>({ name, text }: Statement, rows: Promise<Row[]>): Promise<Row[]> => {
    const entry = { statement: name ?? text.trim().slice(0, 80), rows: 0 }
    sent.push(entry)
    return rows.then((found) => {
      entry.rows = found.length
      return found
    })
  }
  return {
    pool: db.pool,
    query: <Row>(statement: Statement) => record(statement, db.query<Row>(statement)),
    tx: (work) =>
      db.tx((tx) =>
        work({
          ...tx,
          query: <Row>(statement: Statement) => record(statement, tx.query<Row>(statement)),
          send(statement) {
            void record(statement, Promise.resolve([]))
            tx.send(statement)
          },
        }),
      ),
  }
}

function scansOf(plan: Plan): string[] {
  const own = plan['Node Type'] === 'Seq Scan' ? [plan['Relation Name'] ?? '?'] : []
  return [...own, ...(plan.Plans ?? []).flatMap(scansOf)]
}

function discardedBy(plan: Plan): number {
  const each = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Join Filter'] ?? 0)
  return (plan.Plans ?? []).reduce((sum, part) => sum + discardedBy(part), each * plan['Actual Loops'])
}

/**
 * Resolves as soon as this many statements in the database, started at least `ageMs` ago, are waiting for another
 * transaction's lock.
 */
export async function waitForBlockedStatements(db: Db, statements = 1, ageMs = 0): Promise<void> {
  const text = `
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
      and query_start <= clock_timestamp() - interval '${ageMs} milliseconds'`
  while ((await db.query({ text })).length < statements);
}
