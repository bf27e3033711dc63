import type { Db, Statement, Tx } from '../../src/lib/postgres/db.ts'

/** What running a statement took, as PostgreSQL tells. */
export interface Explained {
  statement: string
  /** Pages that were looked at, of tables and indexes. */
  pages: number
  /** Tables that were read from their beginning to their end. */
  scanned: string[]
  /** Rows that were found and thrown away by a filter. */
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

/** The same database; every query is explained on the way, run for it and rolled back before it runs in earnest. */
export function explained(db: Db, seen: Explained[]): Db {
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
        // One after the other: a savepoint belongs to one statement.
        let last: Promise<unknown> = Promise.resolve()
        const next = <Value>(run: () => Promise<Value>) => {
          const running = last.then(run)
          last = running.catch(() => {})
          return running
        }
        const result = await work({
          brand: 'tx',
          query: <Row>(statement: Statement) => next(() => query<Row>(tx, statement)),
          send: (statement) => void next(() => query(tx, statement)),
        })
        await last
        return result
      }),
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
