import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readRunningPostgres } from '@dealer-esim/embedded-postgres'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LEASE_MS as ACTION_LEASE_MS } from '#esims/actions/action-lease.ts'
import { LEASE_MS as ORDER_LEASE_MS } from '#fulfilment/order-lease.ts'
import { removeFolder } from '#test/harness/temporary-folders.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { LEASE_MS as EVENT_LEASE_MS } from '#webhooks/webhook-limits.ts'
import { call, type Dealer } from '../harness/api-node.ts'
import { reportFigures } from '../harness/figures.ts'
import { type GatewayProcess, startGateway, stopGateways } from '../harness/processes/gateway-process.ts'
import { waitUntil } from '../harness/shop.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { type AfterSaleLoad, startAfterSaleLoad } from './after-sale-load.ts'
import { expectSalesToAgree } from './after-sale-records.ts'
import { expectRecordsToAgree } from './load-records.ts'
import { ANSWER_GUARD_MS, type OrderLoad, startOrderLoad } from './order-load.ts'
import { postgresProcesses } from './postgres-processes.ts'
import { seededRandom } from './seeded-random.ts'

/*
 * A gateway as run by `npm start`, with its PostgreSQL, under a load of orders, top-ups, cancels, revocations and
 * suspensions by signed callers. Twenty times, at random moments, `kill -9` hits the gateway, the database server, or one
 * of the server's processes. In the end, the records of callers, ledger, supplier and receiver must agree.
 */

const ROUNDS = [
  ...Array<Victim>(7).fill('gateway'),
  ...Array<Victim>(4).fill('postmaster'),
  ...Array<Victim>(7).fill('session'),
  ...Array<Victim>(2).fill('both'),
]
type Victim = 'gateway' | 'postmaster' | 'session' | 'both'

const CALLERS = 8
/** Callers that order eSIMs, top them up, cancel, revoke and suspend them. */
const AFTER_SALE_CALLERS = 4
/** Every seventh kill follows a suspension: otherwise there is rarely enough time for an eSIM to go into use. */
const SUSPENSION_EVERY = 7
const PACKAGES = ['JP_1_7', 'JP_1_7', 'SANDBOX_OK', 'SANDBOX_PARTIAL', 'SANDBOX_REFUSED']

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const chance = seededRandom(seed)
let dataDir: string
let gateway: GatewayProcess
/** Called before the running gateway can claim anything. */
let startedAt: number
let receiver: Receiver
let dealer: Dealer
let load: OrderLoad
let sales: AfterSaleLoad

beforeAll(async () => {
  console.info(`SEED=${seed}`)
  dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-crash-'))
  receiver = await startReceiver()
  gateway = await start()
  const { appKey, appSecret } = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))
  dealer = { appKey, appSecret, tenantId: '' }
  const health = await call(gateway, dealer, 'health')
  dealer.tenantId = health.data.tenantId
  await inDatabase((db) => {
    const payment = { tenantId: dealer.tenantId, amount: 10_000_000_000_000n, reference: 'plenty' }
    return topUp({ db, ids: systemIds }, payment, { actor: 'cli:tester' })
  })
  const eventTypes = ['ORDER_PAID', 'DELIVERY_UPDATED', 'ESIM_ACTION_UPDATED']
  const body = JSON.stringify({ callbackUrl: receiver.url, eventTypes })
  const setting = await call(gateway, dealer, 'webhook/set', { body })
  expect(setting.code).toBe('000000')
})
afterAll(async () => {
  void sales?.stop()
  await load?.stop()
  await stopGateways()
  await receiver.close()
  removeFolder(dataDir)
})

function start(): Promise<GatewayProcess> {
  startedAt = Date.now()
  return startGateway({ dataDir, env: { DEFAULT_QPS_LIMIT: '100000', CONSOLE: 'off' } })
}

/** Connects to the running gateway's database, whose port changes with each start. */
async function inDatabase<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
  const { url } = await waitUntil(async () => readRunningPostgres(dataDir))
  const db = createDb({ url, poolSize: 4, applicationName: 'crash test' })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

describe('twenty kills under load', () => {
  it('lose nothing acknowledged, repeat no debit, top-up or refund, and leave nothing unfinished', {
    timeout: 700_000,
  }, async () => {
    load = startOrderLoad(dealer, CALLERS, () => {
      const codes = new Set(Array.from({ length: chance.between(1, 2) }, () => chance.pick(PACKAGES)))
      return [...codes].map((packageCode) => ({ packageCode, count: chance.between(1, 3) }))
    })
    sales = startAfterSaleLoad(load, dealer, AFTER_SALE_CALLERS, chance)
    load.sendTo(gateway)
    for (const [index, victim] of chance.shuffled(ROUNDS).entries()) {
      if (index % SUSPENSION_EVERY === 0) await sales.waitForSuspension()
      await round(victim)
    }
    await sales.stop()
    await load.stop()
    reportFigures({ kills: ROUNDS.length, topUpsAndActions: sales.requested.length })

    expect(Math.max(...load.requested.flatMap((order) => order.durationsMs))).toBeLessThan(ANSWER_GUARD_MS)
    await inDatabase(async (db) => {
      await leasesOfTheDeadRunOut(db)
      const world = { gateway, dealer, db, requested: load.requested, receiver }
      await expectSalesToAgree(world, sales.requested, 150_000)
      await expectRecordsToAgree(world, 150_000)
    })
  })
})

async function round(victim: Victim): Promise<void> {
  await acknowledgedMore(chance.between(5, 30))
  // At a random moment during an order, not when it is answered.
  await new Promise((resolve) => setTimeout(resolve, chance.between(0, 20)))
  const server = await waitUntil(async () => postgresProcesses(dataDir))
  const pids = {
    gateway: [gateway.pid],
    postmaster: [server.postmaster],
    session: [chance.pick(server.children)],
    both: [gateway.pid, server.postmaster],
  }[victim]
  await load.waitForRequest()
  expect(load.inFlight, `orders in flight when the ${victim} is killed`).toBeGreaterThan(0)
  for (const pid of pids) kill(pid)
  if (victim === 'gateway' || victim === 'both') {
    load.sendTo(undefined)
    expect(await gateway.exited).toMatchObject({ signal: 'SIGKILL' })
    gateway = await start()
    load.sendTo(gateway)
  }
  // The database restarts on its own, and orders succeed again.
  await acknowledgedMore(CALLERS + 1)
}

/** A session may have ended by itself. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * Pretends that a minute has passed since the last gateway was killed. Its leases are those that end before its
 * successor's, and its calls have ended.
 */
async function leasesOfTheDeadRunOut(db: Db): Promise<void> {
  const ofOrders = new Date(startedAt + ORDER_LEASE_MS)
  const ofEvents = new Date(startedAt + EVENT_LEASE_MS)
  await db.tx(async (tx) => {
    tx.send({
      text: `with left_behind as (
          update orders set due_at = now(), lease_until = null where due_at is not null and lease_until < $1
          returning tenant_id, order_id
        )
        update order_items i set in_doubt_at = in_doubt_at - interval '1 minute',
          updated_at = updated_at - interval '1 minute'
        from left_behind l where i.tenant_id = l.tenant_id and i.order_id = l.order_id and i.item_status = 'ASKED'`,
      values: [ofOrders],
    })
    tx.send({
      text: 'update esim_actions set due_at = now(), lease_until = null where due_at is not null and lease_until < $1',
      values: [new Date(startedAt + ACTION_LEASE_MS)],
    })
    tx.send({ text: 'update endpoint_queues set lease_until = now() where lease_until < $1', values: [ofEvents] })
  })
}

/** Fails if the gateway exits without being killed, because it must survive the loss of its database. */
async function acknowledgedMore(count: number): Promise<void> {
  const died = gateway.exited.then(({ code, signal }) => {
    throw new Error(`the gateway exited without a kill (${signal ?? code}): ${gateway.stderr}${lastWords()}`)
  })
  await Promise.race([load.waitForMore(count), died])
}

function lastWords(): string {
  return gateway.logs.flatMap((line) => (line.level === 'fatal' ? [`\n${JSON.stringify(line)}`] : [])).join('')
}
