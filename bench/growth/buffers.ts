import type { Db } from '../../packages/gateway/src/lib/postgres/db.ts'

const TIMES = 24
/** A prepared statement's first five plans are made for their values; what comes after is what a gateway runs. */
const WARM_TIMES = 8

/**
 * Shared buffers that one call touches, hit or read, on average. The server counts them per connection, so `db` must
 * have one only. Everything counts: look-ups of foreign keys and indexes that are written, which EXPLAIN leaves out.
 */
export async function buffersTouched(db: Db, call: (index: number) => Promise<unknown>): Promise<number> {
  if (db.pool.options.max !== 1) throw new Error('buffers are counted for one connection')
  for (let index = 0; index < WARM_TIMES; index++) await call(index)
  for (let index = 0; index < WARM_TIMES; index++) await count(db)
  const before = await count(db)
  const between = await count(db) // what counting itself costs
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
