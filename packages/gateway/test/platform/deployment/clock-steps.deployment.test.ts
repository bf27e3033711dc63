import { randomUUID } from 'node:crypto'
import { migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { migrationsFolder } from '#platform/package-root.ts'
import { maintainPartitions } from '#platform/retention/retention-table.ts'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { addDealer, call, type Dealer, NODE_ENV, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { canRun } from '#test/harness/can-run.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { reportFigures } from '#test/harness/figures.ts'
import {
  type FakeTimeServer,
  fakeNodeTime,
  findFakeTimeLibrary,
  startFakeTimeServer,
} from '#test/harness/processes/fake-time.ts'
import { type GatewayProcess, startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'
import { expectRecordsToAgree } from '#test/orders/load-records.ts'
import type { RequestedOrder } from '#test/orders/order-load.ts'
import { type Receiver, startReceiver } from '#test/webhooks/receiver.ts'

/*
 * The database's clock, and a node's, are set forward and back under load, and workers die while the clock is wrong.
 * Dealers' clocks stay correct.
 */

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const STEPS_MS = [SECOND_MS, 5 * MINUTE_MS, 60 * MINUTE_MS, 24 * 60 * MINUTE_MS].flatMap((step) => [step, -step])
const WINDOW_MS = 5 * MINUTE_MS
/** How long the clock is wrong, and then correct again, in each step. */
const WRONG_MS = 2_500
const RIGHT_MS = 2_500
/** Requests in progress when the clock is set may be judged by either time. */
const SETTLES_MS = SECOND_MS
const CALLERS = 3
const PAUSE_MS = 40

interface Request {
  order: RequestedOrder
  requestId: string
  timestamp: number
  body: string
  sentAt: number
  code: string
}

const library = findFakeTimeLibrary()

describe.skipIf(!canRun('the clock suite', 'faketime') || library === undefined)('a clock step', () => {
  let server: FakeTimeServer
  let nodeTime: ReturnType<typeof fakeNodeTime>
  let operator: Node
  let receiver: Receiver
  let dealer: Dealer
  let api: GatewayProcess
  const workers: GatewayProcess[] = []
  const requests: Request[] = []
  const load = { isStopped: false, running: [] as Promise<void>[] }

  const start = (role: 'api' | 'worker') =>
    startGateway({ databaseUrl: server.url, role, env: { ...NODE_ENV, ...(role === 'api' ? nodeTime.env : {}) } })

  beforeAll(async () => {
    server = await startFakeTimeServer(library!)
    nodeTime = fakeNodeTime(library!)
    receiver = await startReceiver()
    await migrate({ databaseUrl: server.url, log: silentLog, directory: migrationsFolder() })
    operator = await startNode(server.url, { DEFAULT_QPS_LIMIT: '100000' }) // the records are compared quickly
    await maintainPartitions(operator.deps.db)
    const config = { slowMs: 300, giveUpAfterMs: 86_400_000 }
    await addSupplier(operator.deps, { name: 'shop', type: 'sandbox', config }, OPERATOR)
    const packages = ['SANDBOX_OK', 'SANDBOX_SLOW'].map((productCode) =>
      packageInput({
        packageCode: productCode,
        status: 'ON_SALE',
        prices: [{ currencyCode: 'USD', price: 1_000, retailPrice: null }],
        suppliers: [{ supplier: 'shop', productCode }],
      }),
    )
    await putPackages(operator.deps, packages, OPERATOR)
    dealer = await addDealer(operator.deps)
    const body = JSON.stringify({ callbackUrl: receiver.url })
    expect((await call(operator, dealer, 'webhook/set', { body })).code).toBe('000000')
    api = await start('api')
    workers.push(await start('worker'), await start('worker'))
    load.running = Array.from({ length: CALLERS }, caller)
    await pass(SECOND_MS)
  })
  afterAll(async () => {
    load.isStopped = true
    await Promise.all(load.running)
    await stopGateways()
    await operator?.stop()
    await receiver?.close()
    await server?.stop()
    nodeTime?.remove()
  })

  /** Places one order after another until the load stops. */
  async function caller(): Promise<void> {
    while (!load.isStopped) {
      const packageCode = requests.length % 2 === 0 ? 'SANDBOX_OK' : 'SANDBOX_SLOW'
      const order = { transactionId: randomUUID(), packageInfoList: [{ packageCode, count: 1 }] }
      const parts = { requestId: randomUUID(), timestamp: Date.now(), body: JSON.stringify(order) }
      const request = {
        ...parts,
        order: { ...order, answers: [], durationsMs: [] } as RequestedOrder,
        sentAt: performance.now(),
      }
      const answer = await call(api, dealer, 'esim/order', parts)
      request.order.answers.push(answer)
      requests.push({ ...request, code: answer.code })
      await pass(PAUSE_MS)
    }
  }

  const pass = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

  /** The codes of the requests sent in a time span, without its first second. */
  async function codesDuring(ms: number): Promise<Set<string>> {
    const from = performance.now() + SETTLES_MS
    const sent = () => requests.filter(({ sentAt }) => sentAt >= from)
    await pass(ms)
    await expect.poll(() => sent().length).toBeGreaterThan(5)
    return codesOf(sent())
  }

  /**
   * The codes of requests. Now and then a database process crashes in the library that sets its clock. Answers may then be 000002 or
   * 000001, as in any outage; the final comparison includes their orders.
   */
  function codesOf(sent: readonly Request[]): Set<string> {
    const hasCrashed = server.listCrashes().length > 0
    return new Set(sent.map(({ code }) => code).filter((code) => !(hasCrashed && /^00000[12]$/.test(code))))
  }

  it.each(STEPS_MS)(
    'of %i ms in the database while a worker dies causes no refusals once the clock is right again',
    async (stepMs) => {
      const before = requests.length
      server.setOffset(stepMs)
      const whileWrong = codesDuring(WRONG_MS)
      await pass(WRONG_MS - 200)
      await workers.shift()!.kill('SIGKILL')
      const codes = await whileWrong
      if (Math.abs(stepMs) > WINDOW_MS) expect(codes).toEqual(new Set(['101001']))
      // The clock window ends at five minutes.
      else if (Math.abs(stepMs) < WINDOW_MS) expect(codes).toEqual(new Set(['000000']))
      server.setOffset(0)
      const joining = start('worker')
      expect(await codesDuring(RIGHT_MS)).toEqual(new Set(['000000']))
      workers.push(await joining)
      const all = codesOf(requests.slice(before))
      expect([...all].filter((code) => code !== '000000' && code !== '101001')).toEqual([])
    },
  )

  it.each(STEPS_MS)('of %i ms on a node causes no refusals', async (stepMs) => {
    const before = requests.length
    nodeTime.setOffset(stepMs)
    await pass(600)
    nodeTime.setOffset(0)
    await pass(600)
    expect(codesOf(requests.slice(before))).toEqual(new Set(['000000']))
  })

  it('loses nothing, duplicates nothing, and delays nothing by more than a minute', async () => {
    load.isStopped = true
    await Promise.all(load.running)
    reportFigures({ databaseCrashes: server.listCrashes().filter((line) => line.includes('signal')).length })
    const accepted = requests.filter(({ code }) => code === '000000')
    const repeated = await Promise.all(
      accepted.filter((_, index) => index % 5 === 0).map((parts) => call(api, dealer, 'esim/order', parts)),
    )
    const fresh = repeated.filter(({ code }) => code !== '101001') // more than five minutes old on a slow machine
    expect(new Set(fresh.map(({ code }) => code))).toEqual(new Set(['101006']))
    const requested = requests.filter(({ code }) => code !== '101001').map(({ order }) => order)
    await expectRecordsToAgree({ gateway: operator, dealer, db: operator.deps.db, requested, receiver }, MINUTE_MS)
  })
})
