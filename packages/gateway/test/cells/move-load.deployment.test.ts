import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { FENCE_MAX_MS } from '#cells/move/switch-over.ts'
import { canRun } from '#test/harness/can-run.ts'
import { addDealer, call, type Dealer, startNode } from '../harness/api-node.ts'
import { admin } from '../harness/processes/admin-process.ts'
import { stopGateways } from '../harness/processes/gateway-process.ts'
import { waitUntil } from '../harness/shop.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { type CellsProxy, startCellsProxy } from './cells-proxy.ts'
import { type DealerLoad, startDealerLoad } from './dealer-load.ts'
import { ledgerFaults, startTwoCells, type TestCell, type TwoCells } from './two-cells.ts'

/*
 * Two cells behind HAProxy under load. A dealer is moved there and back while it places orders, and the mover is killed at
 * each step. Before the command is run again, one of the cells must serve the dealer.
 */

/** Every step, in order; MOVE_KILLS=all kills the mover at each. */
const STEPS = [
  'move.prepared',
  'move.guarded',
  'move.page-copied',
  'move.copied',
  'move.abort-begun',
  'move.held',
  'move.fenced',
  'move.copied-behind-fence',
  'move.books-proved',
  'move.verified',
  'move.source-closed',
  'move.target-opened',
  'move.routed',
  'move.guards-removed',
] as const
const FEW_STEPS: readonly string[] = ['move.page-copied', 'move.verified', 'move.source-closed', 'move.target-opened']
const steps = process.env.MOVE_KILLS === 'all' ? STEPS : STEPS.filter((step) => FEW_STEPS.includes(step))

/** Ten fences. A dealer that no cell serves for this long is refused until somebody runs the command again. */
const REFUSED_MAX_MS = 10 * FENCE_MAX_MS
/** As many as a step starts: a command that moves nothing costs the machine as much as one that does. */
const IDLE_COMMANDS = 6
/**
 * The limit for the p99 during a move, as a multiple of the p99 beside commands that move nothing, for manual runs on an
 * otherwise idle machine.
 */
const P99_FACTOR = 2
/** Fewer moves on a busy machine only print their p99. */
const MOVES_TO_COMPARE = 5
/** Enough orders for a p99 without a move. */
const CALM_ORDERS = 60
/** Enough orders for each of the dealer's callers to have been served. */
const SERVED_ORDERS = 6
const SETUP_TIMEOUT_MS = 120_000
const isRunnable = canRun('a dealer is moved between cells behind haproxy', 'haproxy')

let cells: TwoCells
let proxy: CellsProxy
let receiver: Receiver

beforeAll(async () => {
  if (!isRunnable) return
  cells = await startTwoCells('all')
  receiver = await startReceiver()
  proxy = await startCellsProxy(cells.file)
}, SETUP_TIMEOUT_MS)
afterAll(async () => {
  await proxy?.stop()
  await cells?.close()
  await receiver?.close()
  await stopGateways()
})

async function addSeller(cell: TestCell): Promise<Dealer> {
  const operator = await startNode(cell.database.url, cell.env)
  const dealer = await addDealer(operator.deps)
  await operator.stop()
  const body = JSON.stringify({ callbackUrl: receiver.url })
  expect((await call(cell.gateway, dealer, 'webhook/set', { body })).code).toBe('000000')
  return dealer
}

/** A delivered eSIM. */
async function buyEsim(dealer: Dealer): Promise<string> {
  const packageInfoList = [{ packageCode: 'SANDBOX_OK', count: 1 }]
  const body = JSON.stringify({ transactionId: 'first', packageInfoList })
  await waitUntil(async () => (await call(proxy, dealer, 'esim/order', { body })).code === '000000', SETUP_TIMEOUT_MS)
  return waitUntil(async () => {
    const { data } = await call(proxy, dealer, 'esim/query', { body: '{"transactionId":"first"}' })
    return data?.orderStatus === 'DELIVERED' && (data.profileList[0].esimTranNo as string)
  }, SETUP_TIMEOUT_MS)
}

it.skipIf(!isRunnable)(
  'moving a dealer there and back under load loses nothing and duplicates nothing',
  { timeout: 900_000 },
  async () => {
    // The moved dealer, and dealers that stay in either cell. A second attempt has its own.
    const dealers = [await addSeller(cells.main), await addSeller(cells.main), await addSeller(cells.eu1)]
    const esims = await Promise.all(dealers.map(buyEsim))
    const loads = dealers.map((dealer, index) => startDealerLoad(proxy, dealer, esims[index]!))
    onTestFinished(() => {
      for (const each of loads) void each.stop()
    })
    const [load, ...others] = loads
    /** The p99 of the dealers that stay, beside commands that move nothing. */
    const calmP99 = async () => {
      for (let started = 0; started < IDLE_COMMANDS; started++) await admin(['--help'], cells.main.env)
      await Promise.all(others.map((other) => other.waitForMore(CALM_ORDERS)))
      return Math.max(...others.map((other) => other.takeP99()))
    }
    const calmMs = [await calmP99()]
    const { tenantId } = load!.dealer
    let [here, there] = [cells.main, cells.eu1]
    const disturbedMs: number[] = []
    const refusedMs: Record<string, number> = {}
    for (const step of steps) {
      const options = ['--to', there.name, '--after-switch', proxy.reload]
      const isAbort = step === 'move.abort-begun'
      if (isAbort) await cells.moveUntil('move.copied', here, tenantId, ...options)
      const killed = await cells.moveUntil(step, here, tenantId, ...options, ...(isAbort ? ['--abort'] : []))
      expect(killed.stderr).toContain(`paused at ${step}`)
      await load!.waitForMore(SERVED_ORDERS)
      const again = await cells.move(here, tenantId, ...options, ...(isAbort ? ['--abort'] : []))
      expect(again, again.stderr).toMatchObject({ code: 0 })
      await load!.waitForMore(SERVED_ORDERS)
      refusedMs[step] = load!.takeLongestRefusal()
      disturbedMs.push(Math.max(...others.map((other) => other.takeP99())))
      if (!isAbort) [here, there] = [there, here]
      expect(cells.cellOf(load!.dealer.appKey).name).toBe(here.name)
    }
    const refusedInMoves = others.map(({ sums: { refused } }) => refused)
    calmMs.push(await calmP99())
    await Promise.all([load!, ...others].map((one) => one.stop()))
    const sums = [load!, ...others].map((one) => one.sums)
    console.log(JSON.stringify({ calmMs, disturbedMs, refusedMs, sums }))

    expect([load!, ...others].flatMap(({ faults }) => faults)).toEqual([])
    expect(refusedInMoves).toEqual(others.map(() => 0))
    for (const [step, longestMs] of Object.entries(refusedMs)) expect(longestMs, step).toBeLessThan(REFUSED_MAX_MS)
    if (disturbedMs.length >= MOVES_TO_COMPARE)
      expect(median(disturbedMs)).toBeLessThan(P99_FACTOR * Math.max(...calmMs))
    await expectSold(load!, here)
    await expectSold(others[0]!, cells.main)
    await expectSold(others[1]!, cells.eu1)
    expect(await ledgerFaults(there, tenantId)).toEqual([])
  },
)

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor((values.length - 1) / 2)]!
}

interface Sold {
  transactionId: string
  walletVersion: bigint
}

/** Every acknowledged order exists exactly once in the cell: debited, bought and announced to the dealer. */
async function expectSold({ dealer, acknowledged }: DealerLoad, cell: TestCell): Promise<void> {
  const { tenantId } = dealer
  const undelivered = () =>
    cell.db.query({
      text: `select o.*, (select json_agg(i) from order_items i where (i.tenant_id, i.order_id) = (o.tenant_id, o.order_id)) as items
             from orders o where tenant_id = $1 and order_status <> 'DELIVERED' limit 2`,
      values: [tenantId],
    })
  await waitUntil(async () => (await undelivered()).length === 0, SETUP_TIMEOUT_MS).catch(() => {})
  expect(await undelivered()).toEqual([])
  const orders = await cell.db.query<Sold>({
    text: 'select transaction_id, wallet_version from orders where tenant_id = $1 order by wallet_version',
    values: [tenantId],
  })
  const all = acknowledged.flat()
  expect(orders.map(({ transactionId }) => transactionId).sort()).toEqual(
    ['first', ...all.map(({ transactionId }) => transactionId)].sort(),
  )
  // A caller's consecutive orders are debited in that order, whichever cell debits them.
  const places = new Map(orders.map(({ transactionId }, place) => [transactionId, place]))
  for (const own of acknowledged) {
    const found = own.map(({ transactionId }) => places.get(transactionId)!)
    expect(found).toEqual(found.toSorted((left, right) => left - right))
  }
  expect(await ledgerFaults(cell, tenantId)).toEqual([])
  const [counts] = await cell.db.query({
    text: `select (select count(*)::int from transfers where tenant_id = $1 and to_account = 'SALES') as debits,
             (select count(*)::int from profiles where tenant_id = $1) as profiles,
             (select count(*)::int from supplier_attempts where tenant_id = $1 and operation in ('ORDER', 'TOPUP')) as attempts,
             (select count(*)::int from events where tenant_id = $1 and notify_type = 'ORDER_PAID') as paid`,
    values: [tenantId],
  })
  const bought = all.filter(({ isTopUp }) => !isTopUp).length + 1
  expect(counts).toEqual({ debits: orders.length, profiles: bought, attempts: orders.length, paid: orders.length })
  await waitUntil(async () => {
    const announced = new Set(
      receiver.events.map(({ body }) => (JSON.parse(body) as { content: { orderNo: string } }).content.orderNo),
    )
    return all.every(({ orderNo }) => announced.has(orderNo))
  }, SETUP_TIMEOUT_MS)
}
