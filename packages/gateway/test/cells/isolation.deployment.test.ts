import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { parseCells } from '#cells/cells-file.ts'
import { PROXY_CONFIGS } from '#cells/proxy-file.ts'
import { migrationsFolder } from '#platform/package-root.ts'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { canRun } from '#test/harness/can-run.ts'
import { addDealer, NODE_ENV, OPERATOR, startNode } from '../harness/api-node.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { startTcpProxy, type TcpProxy } from '../harness/databases/database-proxies.ts'
import { freePort } from '../harness/processes/free-port.ts'
import {
  type GatewayProcess,
  startGateway,
  stopGateways,
  temporaryFolder,
} from '../harness/processes/gateway-process.ts'
import { type OrderLoad, startOrderLoad } from '../orders/order-load.ts'
import { type ReverseProxy, runProxy } from '../platform/deployment/proxies.ts'

/*
 * Two cells behind HAProxy, each with its own gateway and PostgreSQL. The PostgreSQL of one is stopped and started again
 * while both receive orders.
 * CELL_PHASE_MS: how long each phase lasts. A round consists of an undisturbed phase and one with the PostgreSQL stopped.
 */

const PHASE_MS = Number(process.env.CELL_PHASE_MS ?? 3_000)
/**
 * Medians over the rounds are compared, because a busy machine disturbs some rounds. More rounds follow until the figures
 * agree.
 */
const ROUNDS_MIN = 3
const ROUNDS_MAX = 7
const CALLERS = 4
const PRODUCT = 'SANDBOX_OK'
/** The 99th percentile while the other cell is stopped, compared with the undisturbed phase. */
const P99_RATIO_MAX = 1.5
const TIMEOUT_MS = 240_000

interface Cell {
  name: string
  dataDir: string
  postgres: { url: string; stop(): Promise<void> }
  /** Connects to the PostgreSQL, whose port changes when it is restarted. */
  address: TcpProxy
  gateway: GatewayProcess
  load: OrderLoad
}

const isPossible = canRun('a stopped PostgreSQL of one cell', 'haproxy')
let stays: Cell
let stops: Cell
let proxy: ReverseProxy

beforeAll(async () => {
  if (!isPossible) return
  ;[stays, stops] = await Promise.all([startCell('main'), startCell('eu1')])
  const folder = join(temporaryFolder('proxy'), 'haproxy')
  mkdirSync(folder)
  const port = await freePort()
  const cells = parseCells(JSON.stringify({ cells: await Promise.all([stays, stops].map(listCell)) }))
  const certificate = join(folder, 'esim.both.pem')
  const options = { listen: { host: '127.0.0.1', port }, certificate, key: join(folder, 'esim.key') }
  proxy = await runProxy('haproxy', PROXY_CONFIGS.haproxy(cells, options), { port, folder })
})
afterAll(async () => {
  if (!isPossible) return
  await Promise.all([stays, stops].map((cell) => cell?.load.stop()))
  await proxy?.stop()
  for (const cell of [stays, stops]) {
    await cell?.gateway.kill('SIGTERM')
    await cell?.address.close()
    await cell?.postgres.stop()
  }
  await stopGateways() // removes the folders, also those of the databases
})

async function startCell(name: string): Promise<Cell> {
  const dataDir = join(temporaryFolder('cell'), 'data')
  const postgres = await startPostgres(dataDir)
  const address = await startTcpProxy(postgres.url)
  await migrate({ databaseUrl: address.url, log: silentLog, directory: migrationsFolder() })
  const env = { ...NODE_ENV, CELL_NAME: name, DEFAULT_QPS_LIMIT: '100000' }
  const operator = await startNode(address.url, env)
  await addSupplier(operator.deps, { name: 'shop', type: 'sandbox', config: {} }, OPERATOR)
  const prices = [{ currencyCode: 'USD', price: 1_000, retailPrice: null }]
  const suppliers = [{ supplier: 'shop', productCode: PRODUCT }]
  const offer = packageInput({ packageCode: PRODUCT, status: 'ON_SALE', prices, suppliers })
  await putPackages(operator.deps, [offer], OPERATOR)
  const dealer = await addDealer(operator.deps)
  await operator.stop()
  const gateway = await startGateway({ databaseUrl: address.url, env })
  const load = startOrderLoad(dealer, CALLERS, () => [{ packageCode: PRODUCT, count: 1 }])
  return { name, dataDir, postgres, address, gateway, load }
}

function startPostgres(dataDir: string): Promise<Cell['postgres']> {
  return startEmbeddedPostgres({ dataDir, log: silentLog, fsync: false, maxConnections: 100 })
}

async function listCell({ name, gateway }: Cell) {
  const { metricsPort } = (await gateway.waitForLog(({ msg }) => msg === 'ready')) as { metricsPort: number }
  return { name, nodes: [{ host: '127.0.0.1', port: Number(new URL(gateway.baseUrl).port), metricsPort }] }
}

/** The 99th percentile of the durations of the orders that a cell received during a phase. */
async function measureP99Ms({ load }: Cell): Promise<number> {
  const first = load.requested.length
  await delay(PHASE_MS)
  const timesMs = load.requested.slice(first).flatMap(({ durationsMs }) => durationsMs) // among those that were answered
  timesMs.sort((a, b) => a - b)
  expect(timesMs.length, 'orders in a phase').toBeGreaterThan(CALLERS)
  return timesMs[Math.ceil(timesMs.length * 0.99) - 1]!
}

async function measureWhileStopped(): Promise<number> {
  await stops.postgres.stop()
  const { acknowledged } = stops.load
  const p99Ms = await measureP99Ms(stays)
  // Answers sent by then may not have been read yet.
  expect(stops.load.acknowledged - acknowledged, 'orders of the stopped cell').toBeLessThanOrEqual(CALLERS)
  stops.postgres = await startPostgres(stops.dataDir)
  stops.address.connectTo(stops.postgres.url)
  await stops.load.waitForMore(50)
  return p99Ms
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!

it.skipIf(!isPossible)(
  'while the PostgreSQL of one cell is stopped, the other cell serves as before',
  { timeout: TIMEOUT_MS },
  async () => {
    for (const { load } of [stays, stops]) load.sendTo(proxy)
    await Promise.all([stays, stops].map(({ load }) => load.waitForMore(50)))

    const undisturbed: number[] = []
    const stopped: number[] = []
    const ratio = () => median(stopped) / median(undisturbed)
    for (let round = 0; round < ROUNDS_MAX; round++) {
      undisturbed.push(await measureP99Ms(stays))
      stopped.push(await measureWhileStopped())
      if (round + 1 >= ROUNDS_MIN && ratio() <= P99_RATIO_MAX) break
    }
    await Promise.all([stays, stops].map(({ load }) => load.stop()))
    const { requested } = stays.load
    const failed = requested.filter(({ answers }) => answers[0]?.code !== '000000')
    const p99Ms = { undisturbed: undisturbed.map(Math.round), stopped: stopped.map(Math.round) }
    console.info(`a cell while another is stopped: ${JSON.stringify({ orders: requested.length, p99Ms })}`)
    expect(failed).toEqual([])
    expect(ratio()).toBeLessThanOrEqual(P99_RATIO_MAX)
  },
)
