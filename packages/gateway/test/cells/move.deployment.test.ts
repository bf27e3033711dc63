import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addDealer, call, type Dealer, startNode } from '../harness/api-node.ts'
import { stopGateways } from '../harness/processes/gateway-process.ts'
import { waitUntil } from '../harness/shop.ts'
import { ledgerFaults, startTwoCells, type TwoCells } from './two-cells.ts'

/*
 * A dealer is moved there and back while it orders, and the mover is killed at every step. Callers choose the cell as a load
 * balancer does, by the file of cells. Another dealer stays where it is.
 */

/** Failpoints before the source is closed, and what the operator does then. */
const BEFORE = {
  'move.prepared': 'resume',
  'move.guarded': 'abort',
  'move.page-copied': 'resume',
  'move.copied': 'abort',
  'move.held': 'resume',
  'move.fenced': 'abort',
  'move.copied-behind-fence': 'resume',
  'move.verified': 'abort',
  'move.abort-begun': 'abort',
} as const
const AFTER = ['move.source-closed', 'move.target-opened', 'move.routed'] as const

const CALLERS = 3
const THINK_MS = 20
const RETRY_MS = 50
const UNDISTURBED_MS = 5_000
/** What a busy machine adds to a refusal: the request after the fence, and the caller's own pause. */
const TOLERANCE_MS = 1_500

let cells: TwoCells
let dealer: Dealer
let neighbour: Dealer

beforeAll(async () => {
  cells = await startTwoCells('all')
  const operator = await startNode(cells.main.database.url, cells.main.env)
  dealer = await addDealer(operator.deps)
  neighbour = await addDealer(operator.deps)
  await operator.stop()
})
afterAll(async () => {
  await cells?.close()
  await stopGateways()
})

/** Orders until it is stopped. Each order is repeated until it is acknowledged. */
function startLoad(by: Dealer) {
  const placed: string[] = []
  const durationsMs: number[] = []
  const unexpected: string[] = []
  let longestRefusalMs = 0
  let isStopped = false
  async function place(transactionId: string): Promise<void> {
    let refusedSince: number | undefined
    for (;;) {
      const startedAt = performance.now()
      const body = JSON.stringify({ transactionId, packageInfoList: [{ packageCode: 'SANDBOX_OK', count: 1 }] })
      const { code } = await call(cells.cellOf(by.appKey).gateway, by, 'esim/order', { body })
      const now = performance.now()
      if (refusedSince !== undefined) longestRefusalMs = Math.max(longestRefusalMs, now - refusedSince)
      if (code === '000000') {
        durationsMs.push(now - startedAt)
        placed.push(transactionId)
        return
      }
      if (code !== '000002') unexpected.push(code)
      refusedSince ??= now
      await delay(RETRY_MS)
    }
  }
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!isStopped) {
      await place(randomUUID())
      await delay(THINK_MS)
    }
  })
  return {
    placed,
    unexpected,
    /** @returns the 99th percentile since the last call */
    takeP99: () =>
      durationsMs
        .splice(0)
        .sort((left, right) => left - right)
        .at(-1 - Math.floor(durationsMs.length / 100)) ?? 0,
    takeLongestRefusal() {
      const longest = longestRefusalMs
      longestRefusalMs = 0
      return longest
    },
    async stop() {
      isStopped = true
      await Promise.all(callers)
    },
  }
}

it('a dealer that is moved there and back under load loses and doubles nothing, with the mover killed at every step', {
  timeout: 900_000,
}, async () => {
  const { tenantId, appKey } = dealer
  const load = startLoad(dealer)
  const beside = startLoad(neighbour)
  await delay(UNDISTURBED_MS)
  const undisturbedMs = beside.takeP99()
  const here = () => cells.cellOf(appKey)
  const there = () => (here() === cells.main ? cells.eu1 : cells.main)
  const refusals: Record<string, number> = {}

  async function killAt(point: string, ...options: string[]) {
    const killed = await cells.moveUntil(point, here(), tenantId, '--to', there().name, ...options)
    expect(killed.stderr).toContain(`paused at ${point}`)
  }
  async function finish(from = here(), to = there()) {
    const moved = await cells.move(from, tenantId, '--to', to.name)
    expect(moved).toMatchObject({ code: 0 })
    expect(here().name).toBe(to.name)
  }
  for (const [point, then] of Object.entries(BEFORE)) {
    if (point === 'move.abort-begun') {
      await killAt('move.copied')
      await killAt(point, '--abort')
    } else await killAt(point)
    const acknowledged = load.placed.length
    await waitUntil(async () => load.placed.length > acknowledged + CALLERS) // the source goes on by itself
    if (then === 'resume') await finish()
    else expect(await cells.move(here(), tenantId, '--to', there().name, '--abort')).toMatchObject({ code: 0 })
    refusals[point] = Math.round(load.takeLongestRefusal())
    expect(refusals[point], point).toBeLessThan(5_000 + TOLERANCE_MS)
  }
  for (const point of AFTER) {
    const [from, to] = [here(), there()]
    await killAt(point)
    await finish(from, to)
    // Between the two cells nobody serves the dealer until the operator runs the command again.
    refusals[point] = Math.round(load.takeLongestRefusal())
  }
  const disturbedMs = beside.takeP99()
  await Promise.all([load.stop(), beside.stop()])
  console.log({ refusals, undisturbedMs, disturbedMs, orders: load.placed.length })
  expect([...load.unexpected, ...beside.unexpected]).toEqual([])
  expect(disturbedMs).toBeLessThan(2 * undisturbedMs + 250)

  const cell = here()
  const rows = await cell.db.query<{ transactionId: string }>({
    text: 'select transaction_id from orders where tenant_id = $1',
    values: [tenantId],
  })
  expect(rows.map(({ transactionId }) => transactionId).sort()).toEqual([...load.placed].sort())
  expect(await ledgerFaults(cell, tenantId)).toEqual([])
  await waitUntil(async () => {
    const text = `select from orders where tenant_id = $1 and order_status <> 'DELIVERED'`
    return (await cell.db.query({ text, values: [tenantId] })).length === 0
  })
  const [sold] = await cell.db.query({
    text: `select (select count(*)::int from events where tenant_id = $1 and notify_type = 'ORDER_PAID') as paid,
             (select count(*)::int from profiles where tenant_id = $1) as profiles,
             (select count(*)::int from supplier_attempts where tenant_id = $1 and operation = 'ORDER') as purchases`,
    values: [tenantId],
  })
  const { length } = load.placed
  expect(sold).toEqual({ paid: length, profiles: length, purchases: length })
})
