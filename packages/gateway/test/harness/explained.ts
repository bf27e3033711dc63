import type { Db, Statement, Tx } from '../../src/lib/db.ts'

/** What running a statement took, as PostgreSQL tells. */
export interface Explained {
  statement: string
  /** Pages that were looked at, of tables and indexes. */
  pages: number
  /** Tables that were read from their beginning to their end. */
  scanned: string[]
}

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
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
    seen.push({ statement: statement.name ?? text.trim().slice(0, 80), pages, scanned: scansOf(plan) })
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
