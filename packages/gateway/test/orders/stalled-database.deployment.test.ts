import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startProbes } from '#http/probes/probes-server.ts'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { startTcpProxy, type TcpProxy } from '../harness/databases/database-proxies.ts'
import { addPackages } from '../http/dealer/api-fixture.ts'
import { ANSWER_GUARD_MS } from './order-load.ts'

/*
 * The database's machine dies, and another machine answers new connections: existing connections are neither answered nor
 * closed.
 */

const LOADS = ['a load of requests', 'a lone order', 'nobody but a proxy that asks for readiness'] as const

/**
 * A node whose database connections can fall silent. Each load has its own node, because they spend most of their time
 * waiting.
 */
interface Stand {
  proxy: TcpProxy
  node: Node
  probes: Awaited<ReturnType<typeof startProbes>>
  dealer: Dealer
}

let database: TestDatabase
let stands: Map<string, Stand>
beforeAll(async () => {
  database = await createTestDatabase()
  stands = new Map()
  for (const load of LOADS) stands.set(load, await open())
})
afterAll(async () => {
  for (const { proxy, probes, node } of stands.values()) {
    proxy.cut()
    await probes.stop(0)
    await node.stop(0)
    await proxy.close()
  }
  await database.drop()
})

async function open(): Promise<Stand> {
  const proxy = await startTcpProxy(database.url)
  const node = await startNode(proxy.url)
  const probes = await startProbes(node.deps, { state: 'serving' })
  await addPackages(node)
  return { proxy, node, probes, dealer: await addDealer(node.deps) }
}

function request({ node, dealer }: Stand, operation: string): Promise<{ code: string; durationMs: number }> {
  const startedAt = performance.now()
  const order = { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
  const body = operation === 'esim/order' ? JSON.stringify(order) : '{}'
  return call(node, dealer, operation, { body }).then(({ code }) => ({
    code,
    durationMs: performance.now() - startedAt,
  }))
}

const slowestMs = (answers: readonly { durationMs: number }[]) => Math.max(...answers.map((each) => each.durationMs))

const readyz = async ({ probes }: Stand) => (await fetch(`http://127.0.0.1:${probes.port}/readyz`)).status
const OPERATIONS = ['esim/order', 'account/balance', 'esim/profile/list', 'health']

/** Uses several connections in each pool. */
async function warmUp(stand: Stand): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => request(stand, OPERATIONS[index % 4]!)))
    for (const { code } of answers) expect(code).toBe('000000')
  }
}

it.concurrent.each(LOADS)('silent connections are abandoned, and callers are answered, with %s', async (load) => {
  const stand = stands.get(load)!
  await warmUp(stand)
  expect(await readyz(stand)).toBe(200)
  stand.proxy.freezeAll()
  const silentSince = performance.now()
  const answers: Promise<{ code: string; durationMs: number }>[] = []
  const states: number[] = []
  if (load === 'a lone order') answers.push(request(stand, 'esim/order'))
  for (let second = 0; second < 12; second++) {
    if (load === 'a load of requests') for (const operation of OPERATIONS) answers.push(request(stand, operation))
    if (load.startsWith('nobody')) states.push(await readyz(stand))
    await delay(Math.max(0, silentSince + (second + 1) * 1_000 - performance.now()))
  }
  const inSilence = await Promise.all(answers)
  for (const { code, durationMs } of inSilence) {
    expect(code).toMatch(/^(000000|000001|000002)$/)
    expect(durationMs).toBeLessThan(ANSWER_GUARD_MS)
  }
  if (load.startsWith('nobody')) expect(states[0]).toBe(503)
  // By now every silent connection has been replaced: on one, an answer takes until the connection is given up, as before.
  const afterwards = await Promise.all(OPERATIONS.map((operation) => request(stand, operation)))
  expect(afterwards.map(({ code }) => code)).toEqual(OPERATIONS.map(() => '000000'))
  if (inSilence.length > 0) expect(slowestMs(afterwards)).toBeLessThan(slowestMs(inSilence))
  expect(await readyz(stand)).toBe(200)
})

it('orders whose wallet stays locked are refused and change nothing', async () => {
  const stand = stands.get('a lone order')!
  await warmUp(stand)
  const { db } = stand.node.deps
  const { tenantId } = stand.dealer
  const count = { text: 'select count(*)::int as orders from orders where tenant_id = $1', values: [tenantId] }
  const before = await db.query(count)
  const answers: ReturnType<typeof request>[] = []
  const refused = await db.tx(async (tx) => {
    await tx.query({ text: 'select from wallets where tenant_id = $1 for update', values: [tenantId] })
    for (let sent = 0; sent < 60; sent++) {
      answers.push(request(stand, 'esim/order'))
      await delay(200)
    }
    return Promise.all(answers)
  })
  for (const { code, durationMs } of refused) {
    expect(code).toBe('000002')
    expect(durationMs).toBeLessThan(ANSWER_GUARD_MS)
  }
  expect(await db.query(count)).toEqual(before)
})

it('a node is not ready while the connections in one pool do not answer', async () => {
  const stand = stands.get('a load of requests')!
  await warmUp(stand)
  stand.proxy.freeze('dealer-esim admission')
  await expect.poll(() => readyz(stand)).toBe(503)
  stand.proxy.thaw()
  await expect.poll(() => readyz(stand)).toBe(200)
})
