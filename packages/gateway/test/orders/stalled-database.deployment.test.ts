import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startProbes } from '#http/probes/probes-server.ts'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { startTcpProxy, type TcpProxy } from '../harness/databases/database-proxies.ts'
import { addPackages } from '../http/dealer/api-fixture.ts'

/*
 * The database's machine dies, and another one answers new connections: existing connections are neither answered nor
 * closed.
 */

/** The promise to dealers, and a second for a busy machine. */
const ANSWERED_WITHIN_MS = 10_000
const LATE_MS = 1_000

let database: TestDatabase
let proxy: TcpProxy
let node: Node
let probes: Awaited<ReturnType<typeof startProbes>>
let dealer: Dealer
beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startTcpProxy(database.url)
  node = await startNode(proxy.url)
  probes = await startProbes(node.deps, { state: 'serving' })
  await addPackages(node)
  dealer = await addDealer(node.deps)
})
afterAll(async () => {
  proxy.cut()
  await probes.stop(0)
  await node.stop(0)
  await proxy.close()
  await database.drop()
})

function request(operation: string): Promise<{ code: string; durationMs: number }> {
  const startedAt = performance.now()
  const order = { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
  const body = operation === 'esim/order' ? JSON.stringify(order) : '{}'
  return call(node, dealer, operation, { body }).then(({ code }) => ({
    code,
    durationMs: performance.now() - startedAt,
  }))
}

const readyz = async () => (await fetch(`http://127.0.0.1:${probes.port}/readyz`)).status
const OPERATIONS = ['esim/order', 'account/balance', 'esim/profile/list', 'health']

/** Uses several connections of each pool. */
async function warmUp(): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => request(OPERATIONS[index % 4]!)))
    for (const { code } of answers) expect(code).toBe('000000')
  }
}

it.each(['a load of requests', 'a lone order', 'nobody but a proxy that asks for readiness'])(
  'silent connections are given up within ten seconds under %s',
  async (load) => {
    await warmUp()
    expect(await readyz()).toBe(200)
    proxy.freezeAll()
    const silentSince = performance.now()
    const answers: Promise<{ code: string; durationMs: number }>[] = []
    const states: number[] = []
    if (load === 'a lone order') answers.push(request('esim/order'))
    for (let second = 0; second < 12; second++) {
      if (load === 'a load of requests') for (const operation of OPERATIONS) answers.push(request(operation))
      if (load.startsWith('nobody')) states.push(await readyz())
      await delay(Math.max(0, silentSince + (second + 1) * 1_000 - performance.now()))
    }
    for (const { code, durationMs } of await Promise.all(answers)) {
      expect(code).toMatch(/^(000000|000001|000002)$/)
      expect(durationMs).toBeLessThan(ANSWERED_WITHIN_MS + LATE_MS)
    }
    if (load.startsWith('nobody')) expect(states[0]).toBe(503)
    // By now every silent connection has been replaced.
    for (const { code, durationMs } of await Promise.all(OPERATIONS.map(request))) {
      expect(code).toBe('000000')
      expect(durationMs).toBeLessThan(LATE_MS)
    }
    expect(await readyz()).toBe(200)
  },
)

it('orders whose wallet stays locked are refused within ten seconds, and nothing happened', async () => {
  await warmUp()
  const { db } = node.deps
  const count = { text: 'select count(*)::int as orders from orders where tenant_id = $1', values: [dealer.tenantId] }
  const before = await db.query(count)
  const answers: ReturnType<typeof request>[] = []
  const refused = await db.tx(async (tx) => {
    await tx.query({ text: 'select from wallets where tenant_id = $1 for update', values: [dealer.tenantId] })
    for (let sent = 0; sent < 60; sent++) {
      answers.push(request('esim/order'))
      await delay(200)
    }
    return Promise.all(answers)
  })
  for (const { code, durationMs } of refused) {
    expect(code).toBe('000002')
    expect(durationMs).toBeLessThan(ANSWERED_WITHIN_MS + LATE_MS)
  }
  expect(await db.query(count)).toEqual(before)
})

it('a node is not ready while connections of one pool do not answer', async () => {
  await warmUp()
  proxy.freeze('dealer-esim admission')
  await expect.poll(readyz).toBe(503)
  proxy.thaw()
  await expect.poll(readyz).toBe(200)
})
