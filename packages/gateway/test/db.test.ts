import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect, type Db } from '../src/lib/db.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'

let database: TestDatabase
let db: Db & { close(): Promise<void> }

beforeAll(async () => {
  database = await createTestDatabase()
  db = connect({ url: database.url, poolSize: 2, applicationName: 'db test' })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

describe('a transaction whose connection is lost under several statements', () => {
  it('fails as a whole: the statements that nobody came to await end no process', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    const working = db.tx(async (tx) => {
      const [own] = await tx.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
      const first = tx.query({ text: 'select pg_sleep(60)' })
      const second = tx.query({ text: 'select 1' })
      await db.query({ text: 'select pg_terminate_backend($1)', values: [own!.pid] })
      await first
      await second
    })
    await expect(working).rejects.toThrow(/terminat/)
    await new Promise(setImmediate) // rejections are told of at the end of a turn
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
})
