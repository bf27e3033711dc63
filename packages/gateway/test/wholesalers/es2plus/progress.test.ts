import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { isConnectionLoss } from '@dealer-esim/lib/postgres/errors.ts'
import { createProgressStore, type ProgressStore } from '@dealer-esim/wholesalers/es2plus/progress.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { startTcpProxy, type TcpProxy } from '#test/harness/databases/database-proxies.ts'

let database: TestDatabase
let proxy: TcpProxy
let db: Db & { close(): Promise<void> }
let store: ProgressStore
beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startTcpProxy(database.url)
  db = createDb({ url: proxy.url, poolSize: 2, applicationName: 'progress test' })
  await db.query({ text: `insert into suppliers (supplier, type, config) values ('smdp', 'es2plus', '')` })
  const config = { url: 'https://smdp.example.com', functionRequesterIdentifier: '1.2.3' }
  store = createProgressStore('smdp', config, { db, ids: systemIds, cipher: createCipher([Buffer.alloc(32, 7)]) })
})
afterAll(async () => {
  await db.close()
  await proxy.close()
  await database.drop()
})

it('saving an answer waits while the database is unavailable, but the step before a purchase does not', async () => {
  const progress = (await store.start('ORDER-1'))!
  proxy.cut()
  await expect(store.advance(progress, { step: 'ORDERING' })).rejects.toSatisfy(isConnectionLoss)
  expect(progress.step).toBe('NEW')
  proxy.restore()
  expect(await store.advance(progress, { step: 'ORDERING' })).toBe(true)
  proxy.cut()
  const saved = store.advance(progress, { step: 'ORDERED', iccid: '8985200012345678901' })
  const early = await Promise.race([saved, db.query({ text: 'select' }).catch(() => 'unavailable')])
  expect(early).toBe('unavailable')
  proxy.restore()
  expect(await saved).toBe(true)
  expect(await store.find('ORDER-1')).toMatchObject({ step: 'ORDERED', iccid: '8985200012345678901' })
}, 20_000) // less than the time that it waits
