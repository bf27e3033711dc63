import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addDealer, call, type Dealer, NODE_ENV, type Node, startNode } from '#test/harness/api-node.ts'
import { canRun } from '#test/harness/can-run.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { freePort } from '#test/harness/processes/free-port.ts'
import {
  type GatewayProcess,
  startGateway,
  stopGateways,
  temporaryFolder,
} from '#test/harness/processes/gateway-process.ts'
import { addPackages } from '#test/http/dealer/api-fixture.ts'
import { PROXIES, type ProxiedNodes, type ReverseProxy, startProxy } from './proxies.ts'

/** The proxies to test with. Those not installed on this machine are skipped. */
const names = (Object.keys(PROXIES) as (keyof typeof PROXIES)[]).filter((name) =>
  canRun(`restarts behind ${name}`, name),
)
const CALLERS = 3
/** Pause between two orders of a caller: requests happen at every moment of a restart without overloading the nodes. */
const PAUSE_MS = 5
/** docs/availability.md: how much time the proxies are given after a node is ready. */
const AFTER_READY_MS = 5_000
const PRODUCTION = {
  DEPLOYMENT: 'production',
  PUBLIC_URL: 'https://localhost',
  TRUSTED_PROXIES: '127.0.0.0/8',
  DEFAULT_QPS_LIMIT: '100000',
}

let database: TestDatabase
let operator: Node
let dealer: Dealer
let nodes: ProxiedNodes
const gateways: GatewayProcess[] = []
const proxies: ReverseProxy[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  operator = await startNode(database.url, PRODUCTION)
  await addPackages(operator)
  dealer = await addDealer(operator.deps)
  nodes = { hosts: ['127.0.0.1', '127.0.0.2'], port: await freePort(), metricsPort: await freePort() }
  gateways.push(...(await Promise.all(nodes.hosts.map(startGatewayAt))))
  for (const name of names) {
    const folder = join(temporaryFolder('proxy'), name)
    mkdirSync(folder)
    proxies.push(await startProxy(name, nodes, folder))
  }
})
afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.stop()))
  await stopGateways()
  await operator.stop()
  await database.drop()
})

function startGatewayAt(host: string): Promise<GatewayProcess> {
  const at = { HOST: host, METRICS_HOST: host, PORT: String(nodes.port), METRICS_PORT: String(nodes.metricsPort) }
  return startGateway({ databaseUrl: database.url, role: 'api', env: { ...NODE_ENV, ...PRODUCTION, ...at } })
}

/**
 * Places orders through the proxy until it is stopped, each a second time if the first answer was not its acknowledgement.
 * @returns the answers to orders that were not acknowledged first, those that were not acknowledged at all, and the number
 * of acknowledged orders
 */
function placeOrders(proxy: ReverseProxy) {
  const repeated: string[] = []
  const lost: string[] = []
  let placed = 0
  let isStopped = false
  async function caller(): Promise<void> {
    while (!isStopped) {
      const body = JSON.stringify({
        transactionId: randomUUID(),
        packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }],
      })
      let outcome = await placeOrder(proxy, body)
      if (outcome !== 'placed') {
        repeated.push(outcome)
        outcome = await placeOrder(proxy, body)
      }
      if (outcome === 'placed') placed++
      else lost.push(outcome)
      await delay(PAUSE_MS)
    }
  }
  const callers = Array.from({ length: CALLERS }, caller)
  return {
    async stop() {
      isStopped = true
      await Promise.all(callers)
      return { repeated, lost, placed }
    },
  }
}

/** @returns `placed`, or the answer that is no acknowledgement */
function placeOrder(proxy: ReverseProxy, body: string): Promise<string> {
  return call(proxy, dealer, 'esim/order', { body }).then(
    ({ status, code, text }) => (code === '000000' ? 'placed' : `${status} ${text}`),
    (error: Error) => `no answer: ${error.message}`,
  )
}

/**
 * Orders that a proxy may have to answer with 502, for each node that stops. nginx does not ask whether a node is ready, and
 * docs/availability.md says at which moment its connection is reset.
 */
const REPEATED_MAX: Record<keyof typeof PROXIES, number> = { nginx: 1, haproxy: 0, caddy: 0 }

it.skipIf(names.length === 0)('restarting two nodes in turn behind a proxy does not lose an order', async () => {
  await delay(AFTER_READY_MS)
  const loads = proxies.map(placeOrders)
  for (const [index, host] of nodes.hosts.entries()) {
    await delay(1_000)
    expect(await gateways[index]!.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    gateways[index] = await startGatewayAt(host)
    await delay(AFTER_READY_MS)
  }
  const results = await Promise.all(loads.map((load) => load.stop()))
  for (const [index, { repeated, lost, placed }] of results.entries()) {
    const name = names[index]!
    expect(lost.join('\n'), name).toBe('')
    const unexpected = repeated.filter((outcome) => !outcome.startsWith('502'))
    expect(unexpected.join('\n'), name).toBe('')
    expect(repeated.length, name).toBeLessThanOrEqual(REPEATED_MAX[name] * nodes.hosts.length)
    expect(placed).toBeGreaterThan(100)
  }
})
