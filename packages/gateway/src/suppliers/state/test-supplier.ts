import { isAhead } from '@dealer-esim/lib/leases.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { settlesWithin } from '@dealer-esim/lib/process/start-stop.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { storableText } from '@dealer-esim/wholesalers/stored-answer.ts'
import sql from 'sql-template-tag'
import type { Suppliers } from '../supplier-registry.ts'
import { seeSupplier, TEST_AGAIN, TEST_AGAIN_MS } from './see-supplier.ts'

interface TestDeps {
  db: Db
  suppliers: Pick<Suppliers, 'get' | 'refresh'>
}

/** Longer than any supplier takes to answer. */
const TEST_MAX_MS = 30_000

/**
 * Tests a supplier with its current settings, without buying anything, and saves the result.
 * @returns the reason for a failure; null: it works
 * @throws Refusal if there is no such supplier
 */
export async function testSupplier({ db, suppliers }: TestDeps, name: string): Promise<string | null> {
  const [row] = await db.query<{ settledAt: string }>(sql`
    select coalesce(t.settled_at, s.created_at)::text as settled_at
    from suppliers s left join supplier_states t using (supplier) where s.supplier = ${name}`)
  if (row === undefined) throw notFound('usable supplier', name)
  await suppliers.refresh()
  const failure = await failureOf(suppliers, name)
  await db.tx((tx) => seeSupplier(tx, name, { by: 'TEST', failure }, row))
  return failure
}

/**
 * Tests the suppliers whose test is due: new or changed ones that were not tested, and those that failed their test. Each
 * is tested by one node. Never throws.
 */
export async function testDueSuppliers(deps: TestDeps & { log: Pick<Log, 'error'> }): Promise<void> {
  const due = await deps.db.query<{ supplier: string }>({
    text: `update supplier_states set test_due_at = now() + interval '${TEST_AGAIN}'
           where test_due_at <= now() or ${isAhead('test_due_at', TEST_AGAIN_MS)} returning supplier`,
  })
  await Promise.all(
    due.map(({ supplier }) =>
      testSupplier(deps, supplier).catch((error) =>
        deps.log.error({ err: error, supplier }, 'a supplier could not be tested and will be tested again'),
      ),
    ),
  )
}

async function failureOf(suppliers: Pick<Suppliers, 'get'>, name: string): Promise<string | null> {
  const known = suppliers.get(name)
  if (known === undefined) return 'its settings cannot be used: enter them again'
  const testing = known.supplier
    .test()
    .catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
  if (!(await settlesWithin(testing, TEST_MAX_MS))) return `no answer within ${TEST_MAX_MS / 1000} s`
  const message = await testing
  return message === undefined ? null : storableText(message)
}
