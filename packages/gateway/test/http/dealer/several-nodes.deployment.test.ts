import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { addDealer, call, type Dealer, NODE_ENV, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { type GatewayProcess, startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { expectRecordsToAgree } from '#test/orders/load-records.ts'
import { type OrderLoad, startOrderLoad } from '#test/orders/order-load.ts'
import { type Receiver, startReceiver } from '#test/webhooks/receiver.ts'

/*
 * Several gateways on one database under an order load, in all three roles, while some of them join, leave (SIGTERM) and
 * die (SIGKILL). No caller of a leaving gateway loses its connection, and in the end all records agree.
 */

const CALLERS = 3
/** Shorter than a lease, so an order that a leaving node did not release would finish later than this. */
const ENDS_WITHIN_MS = 25_000
const PRODUCTS = ['SANDBOX_OK', 'SANDBOX_SLOW', 'SANDBOX_PARTIAL', 'SANDBOX_REFUSED']

let database: TestDatabase
let operator: Node
let receiver: Receiver
let dealer: Dealer
const loads: OrderLoad[] = []

// Also before a retry, so that its records do not contain those of the first attempt.
beforeEach(async () => {
  database = await createTestDatabase()
  receiver = await startReceiver()
  operator = await startNode(database.url)
  const { deps } = operator
  // Long enough for requests that are in progress when a gateway is killed; timeouts are not tested here.
  const config = { slowMs: 300, giveUpAfterMs: 86_400_000 }
  await addSupplier(deps, { name: 'shop', type: 'sandbox', config }, OPERATOR)
  await putPackages(deps, PRODUCTS.map(onSale), OPERATOR)
  dealer = await addDealer(deps)
  const setting = await call(operator, dealer, 'webhook/set', { body: JSON.stringify({ callbackUrl: receiver.url }) })
  expect(setting.code).toBe('000000')
})
afterEach(async () => {
  await Promise.all(loads.splice(0).map((load) => load.stop()))
  await stopGateways()
  await operator.stop()
  await receiver.close()
  await database.drop()
})

function onSale(productCode: string) {
  return packageInput({
    packageCode: productCode,
    status: 'ON_SALE',
    prices: [{ currencyCode: 'USD', price: 1_000, retailPrice: null }],
    suppliers: [{ supplier: 'shop', productCode }],
  })
}

function join(role: 'api' | 'worker' | 'all'): Promise<GatewayProcess> {
  const env = { ...NODE_ENV, DEFAULT_QPS_LIMIT: '100000' }
  return startGateway({ databaseUrl: database.url, role, env })
}

function loadOn(gateway: GatewayProcess): OrderLoad {
  let turn = loads.length
  const load = startOrderLoad(dealer, CALLERS, () => {
    turn += 1
    return [{ packageCode: PRODUCTS[turn % PRODUCTS.length]!, count: 1 + (turn % 3) }]
  })
  loads.push(load)
  load.sendTo(gateway)
  return load
}

/** Counts the orders that workers have claimed. */
async function inWork(): Promise<number> {
  const [row] = await operator.deps.db.query<{ held: number }>({
    text: 'select count(*)::int as held from orders where lease_until > now() and due_at is not null',
  })
  return row!.held
}

/** Freezes the worker; lets it continue if it has not claimed an order. */
async function standsStillWithOrders({ pid }: GatewayProcess): Promise<boolean> {
  process.kill(pid, 'SIGSTOP')
  if ((await inWork()) > 0) return true
  process.kill(pid, 'SIGCONT')
  return false
}

/** Pretends that a minute has passed since the only worker died: its leases have expired and its calls have ended. */
async function aMinutePasses(): Promise<void> {
  await operator.deps.db.tx(async (tx) => {
    tx.send({ text: 'update orders set due_at = now(), lease_until = null where due_at is not null' })
    tx.send({
      text: `update order_items set in_doubt_at = in_doubt_at - interval '1 minute',
               updated_at = updated_at - interval '1 minute' where item_status = 'ASKED'`,
    })
  })
}

describe('gateways that share a database under load', () => {
  it('may join, leave and die, and every acknowledged order still reaches a final state once', {
    timeout: 400_000,
  }, async () => {
    const [first, second, worker] = await Promise.all([join('api'), join('api'), join('worker')])
    const [steady, shaken] = [loadOn(first), loadOn(second)]
    await Promise.all([steady.waitForMore(10), shaken.waitForMore(10)])

    await waitUntil(() => standsStillWithOrders(worker))
    expect(await worker.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
    expect(await inWork(), 'orders that the worker held when it died').toBeGreaterThan(0)
    await aMinutePasses()

    const third = await join('all')
    const lastWorker = await join('worker')
    await steady.waitForMore(10)
    await leave(first, steady, third)
    await steady.waitForMore(10)

    await shaken.waitForRequest()
    const dying = second.kill('SIGKILL')
    shaken.sendTo(third)
    await dying
    await shaken.waitForMore(10)

    await waitUntil(async () => (await inWork()) > 0)
    expect(await lastWorker.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    await Promise.all(loads.map((load) => load.stop()))

    // One gateway died under the other load, and no other connection was lost.
    expect(steady.requested.filter(({ answers }) => answers.length === 0)).toEqual([])
    expect(shaken.requested.filter(({ answers }) => answers.length === 0).length).toBeLessThanOrEqual(CALLERS)
    const requested = [...steady.requested, ...shaken.requested]
    await expectRecordsToAgree({ gateway: third, dealer, db: operator.deps.db, requested, receiver }, ENDS_WITHIN_MS)
  })
})

/** Removes it from the load balancer and stops it while earlier requests are in progress. */
async function leave(gateway: GatewayProcess, load: OrderLoad, next: GatewayProcess): Promise<void> {
  await load.waitForRequest()
  load.sendTo(next)
  expect(load.inFlight, 'orders under way when the gateway is stopped').toBeGreaterThan(0)
  expect(await gateway.kill('SIGTERM')).toEqual({ code: 0, signal: null })
}
