import { orderIdOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Move } from '#cells/move/cell-session.ts'
import { describeMove } from '#cells/move/copy-rows.ts'
import { installGuards, removeGuards } from '#cells/move/move-guard.ts'
import { closeSource, insertMove, liftFence, setFence } from '#cells/move/move-state.ts'
import { waitUntilIdle } from '#cells/move/switch-over.ts'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackages } from '../http/dealer/api-fixture.ts'

/* The guards for a dealer that is being moved, in the source cell. */

let database: TestDatabase
let node: Node
let dealer: Dealer
let other: Dealer
let move: Move

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  await addPackages(node)
  dealer = await addDealer(node.deps)
  other = await addDealer(node.deps)
  const source = { name: 'main', db: node.deps.db, nodes: [] }
  const { tenantId } = dealer
  move = { moveId: node.deps.ids.uuid(), tenantId, source, target: { ...source, name: 'eu1' } }
  await node.deps.db.tx(async (tx) => insertMove(tx, move, 'OUT', 'cli:tester'))
  await installGuards(source, tenantId, (await describeMove(source)).moved)
  await liftFence(move)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})
beforeEach(async () => {
  await node.deps.db.query({ text: `update tenant_moves set state = 'COPYING', fenced_until = '-infinity'` })
  await node.deps.db.query({ text: 'delete from tenant_move_changes' })
})

let orders = 0
function order(by: Dealer) {
  const packageInfoList = [{ packageCode: 'JP_1_7', count: 1 }]
  return call(node, by, 'esim/order', { body: JSON.stringify({ transactionId: `T-${++orders}`, packageInfoList }) })
}
const balance = async () => (await call(node, dealer, 'account/balance')).data.balance

/** Sets the fence like `setFence`, but without notifying the nodes. */
function fenceUnnoticed(until = 'infinity') {
  return node.deps.db.query({
    text: `update tenant_moves set state = 'VERIFIED', fenced_until = $1`,
    values: [until],
  })
}

async function notedTables(): Promise<string[]> {
  const rows = await node.deps.db.query<{ name: string }>({
    text: 'select distinct table_name as name from tenant_move_changes order by 1',
  })
  return rows.map(({ name }) => name)
}

it('an order admitted before the fence is refused as a whole, without affecting other dealers', async () => {
  expect((await order(dealer)).code).toBe('000000') // from now on its wallet is cached
  const before = await balance()
  await fenceUnnoticed()
  const [refused, placed] = await Promise.all([order(dealer), order(other)])
  expect([refused.code, placed.code]).toEqual(['000002', '000000'])
  await node.deps.db.query({ text: `update tenant_moves set fenced_until = '-infinity'` })
  expect(await balance()).toBe(before)
})

it('during the fence, requests are answered with Retry-After, and the fence ends on its own', async () => {
  expect((await call(node, dealer, 'health')).code).toBe('000000')
  await setFence(move, 1_000)
  const refused = await call(node, dealer, 'health')
  expect([refused.code, refused.headers['retry-after']]).toEqual(['000002', '1'])
  await expect.poll(async () => (await order(dealer)).code).toBe('000000')
})

it('the fence waits for a transaction that has already written, and records its rows', async () => {
  const events: string[] = []
  const fenced = await node.deps.db.tx(async (tx) => {
    await tx.query({ text: 'update wallets set updated_at = now() where tenant_id = $1', values: [dealer.tenantId] })
    const setting = setFence(move, 1_000).then(() => events.push('fence'))
    await new Promise((resolve) => setTimeout(resolve, 200))
    events.push('commit')
    return { setting }
  })
  await fenced.setting
  expect(events).toEqual(['commit', 'fence'])
  expect(await notedTables()).toContain('wallets')
})

it.each([
  ['that is under review', `item_status = 'REVIEW', supplier = 'shelf'`],
  ['that only its attempt shows', `item_status = 'WAITING', supplier = null`],
])('an eSIM from stock %s delays the switch, because its code stays in the cell', async (_, columns) => {
  const { db, ids } = node.deps
  const config = Buffer.from('not read')
  await db.query({
    text: `insert into suppliers (supplier, type, config) values ('shelf', 'stock', $1) on conflict do nothing`,
    values: [config],
  })
  const orderId = orderIdOf((await order(dealer)).data.orderNo)
  const set = async (what: string) => {
    const text = `update order_items set ${what} where tenant_id = $1 and order_id = $2`
    await db.query({ text, values: [dealer.tenantId, orderId] })
    await db.query({ text: 'delete from tenant_move_changes' })
  }
  await db.query({
    text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token, started_at)
           values ($1, $2, $3, 1, 'shelf', 'ORDER', $2, now())`,
    values: [dealer.tenantId, ids.uuid(), orderId],
  })
  await db.query({
    text: `update orders set due_at = now(), lease_until = now() - interval '1 second', lease_token = (
             select lease_token from supplier_attempts where tenant_id = $1 and order_id = $2 and supplier = 'shelf')
           where tenant_id = $1 and order_id = $2`,
    values: [dealer.tenantId, orderId],
  })
  await set(columns)
  const shapes = await describeMove(move.source)
  await expect(waitUntilIdle(move, shapes)).rejects.toMatchObject({ message: expect.stringContaining('from stock') })
  await set(`item_status = 'DELIVERED', supplier = 'shelf'`)
  await waitUntilIdle(move, shapes)
})

it('the source closes only during the fence, and only once every change has been copied', async () => {
  await fenceUnnoticed('-infinity')
  expect(await closeSource(move)).toBe(false)
  await order(dealer)
  expect(await notedTables()).toEqual(
    expect.arrayContaining(['deliveries', 'events', 'order_items', 'orders', 'request_ids', 'transfers', 'wallets']),
  )
  await fenceUnnoticed()
  expect(await closeSource(move)).toBe(false)
  await node.deps.db.query({ text: `delete from tenant_move_changes where table_name <> 'request_ids'` })
  expect(await closeSource(move)).toBe(true)
  expect((await order(dealer)).code).toBe('000002')
})

it('guards are installed once and removed without a trace', async () => {
  const { source, tenantId } = move
  await installGuards(source, tenantId, (await describeMove(source)).moved)
  await removeGuards(source, tenantId)
  expect(await node.deps.db.query({ text: `select from pg_trigger where tgname like 'moved%'` })).toEqual([])
})
