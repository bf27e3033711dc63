import { randomUUID } from 'node:crypto'
import { type Log, silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage } from '../harness/shop.ts'

const REQUESTS = 20

const lines: { level: string; loop?: string; refused?: number; err?: unknown }[] = []
const keep = (level: string) => (line: object) => void lines.push({ level, ...line })
const log: Log = { ...silentLog, warn: keep('warn'), error: keep('error') }

let database: TestDatabase
let node: Node
let dealer: Dealer
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url, { CONSOLE: 'on' }, { log })
  dealer = await addDealer(node.deps)
  await addPackage(node.deps.db, 'P', [{ supplier: 'sandbox', productCode: 'SANDBOX_OK' }])
  await node.deps.db.query({
    text: `insert into list_prices select package_code, 'USD', 1, null, false, now(), now() from packages`,
  })
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

it('orders on a full disk are refused with 000002', async () => {
  await node.deps.db.query({
    text: `create function disk_full() returns trigger language plpgsql as
             $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`,
  })
  await node.deps.db.query({ text: 'create trigger disk_full before insert on orders execute function disk_full()' })
  const order = async () => {
    const body = JSON.stringify({ transactionId: randomUUID(), packageInfoList: [{ packageCode: 'P', count: 1 }] })
    return (await call(node, dealer, 'esim/order', { body })).code
  }
  expect(await Promise.all(Array.from({ length: REQUESTS }, order))).toEqual(Array(REQUESTS).fill('000002'))
  expect(lines.every(({ level }) => level === 'warn')).toBe(true)
})

it('requests without a database are refused with 000002, and logged as one warning per second', async () => {
  lines.length = 0
  const { db } = node.deps
  const failing = Object.assign(new Error('connection terminated'), { errno: -104 })
  vi.spyOn(db, 'query').mockRejectedValue(failing)
  const balances = Array.from({ length: REQUESTS }, () => call(node, dealer, 'account/balance'))
  expect((await Promise.all(balances)).map(({ code }) => code)).toEqual(Array(REQUESTS).fill('000002'))
  vi.restoreAllMocks()
  // The node's own loops read stock levels and suppliers every second or two, and log an error of their own.
  const ofRequests = () => lines.filter(({ loop }) => loop === undefined)
  const refused = () => ofRequests().reduce((sum, line) => sum + (line.refused ?? 0), 0)
  await expect.poll(refused).toBe(REQUESTS)
  expect(ofRequests().length).toBeLessThanOrEqual(3)
  for (const line of ofRequests()) expect(line).toMatchObject({ level: 'warn', err: failing })
})
