import type { Db } from '@dealer-esim/lib/postgres/db.ts'

const TIMES = 24
/** The first five plans of a prepared statement depend on its values; gateways run the later, generic plan. */
const WARM_TIMES = 8

/**
 * Shared buffers that one call touches, hit or read, on average. The server counts them per connection, so `db` must have
 * one connection. Includes lookups of foreign keys and index writes, which EXPLAIN omits.
 */
export async function countBuffers(db: Db, call: (index: number) => Promise<unknown>): Promise<number> {
  if (db.pool.options.max !== 1)
    throw new Error('Buffers are counted per connection: the pool must have one connection.')
  for (let index = 0; index < WARM_TIMES; index++) await call(index)
  for (let index = 0; index < WARM_TIMES; index++) await count(db)
  const before = await count(db)
  const between = await count(db) // the cost of counting
  for (let index = 0; index < TIMES; index++) await call(WARM_TIMES + index)
  const after = await count(db)
  return (after - between - (between - before)) / TIMES
}

async function count(db: Db): Promise<number> {
  await db.query({ text: 'select pg_stat_force_next_flush()', name: 'flush' })
  const text = `select sum(hits + reads)::int as touched from pg_stat_get_backend_io(pg_backend_pid())
                where object = 'relation'`
  const [row] = await db.query<{ touched: number }>({ text, name: 'touched' })
  return row!.touched
}
