import type { Db } from '@dealer-esim/lib/postgres/db.ts'

class Died extends Error {}

/** Ignores the death, and nothing else. */
export function diedOnly(error: unknown): void {
  if (!(error instanceof Died)) throw error
}

/** The database as a process sees it that dies at its nth step: before a statement, or after a COMMIT that it does not learn of. */
export function dyingDb(db: Db, diesAt: number): { db: Db; isDead(): boolean } {
  let steps = 0
  const step = () => {
    if (++steps >= diesAt) throw new Died('the process has died')
  }
  const guard = <Target extends object>(target: Target, methods: readonly string[]) =>
    new Proxy(target, {
      get(on, name) {
        const value = Reflect.get(on, name)
        if (!methods.includes(String(name))) return value
        return (...values: unknown[]) => {
          step()
          return (value as (...values: unknown[]) => unknown).apply(on, values)
        }
      },
    })
  return {
    isDead: () => steps >= diesAt,
    db: {
      pool: db.pool,
      async query(statement) {
        step()
        return db.query(statement)
      },
      async tx(work) {
        const result = await db.tx((tx) => work(guard(tx, ['query', 'send'])))
        step()
        return result
      },
    },
  }
}
