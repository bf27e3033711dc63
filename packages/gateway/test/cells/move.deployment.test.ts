import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { MOVED_TABLES } from '#cells/move/moved-tables.ts'
import { updateSales } from '#sales/update-sales.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { call, type Dealer, NODE_ENV, OPERATOR, startNode } from '../harness/api-node.ts'
import { startGateway, stopGateways } from '../harness/processes/gateway-process.ts'
import { waitUntil } from '../harness/shop.ts'
import { expectSumsToEqualRows } from '../sales/sales-model.ts'
import { expectMonthsToEqualRows } from '../sales/supplier-months.ts'
import { ledgerFaults, rowsOf, startTwoCells, type TestCell, type TwoCells } from './two-cells.ts'

/* A dealer with orders in every state, top-ups, actions and events is moved to another cell and back. */

/** Two moves, each with several hundred small transactions, on a busy machine. */
const MOVES_TIMEOUT_MS = 300_000
const STATES_TIMEOUT_MS = 120_000

let cells: TwoCells
let dealer: Dealer

beforeAll(async () => {
  cells = await startTwoCells('api')
  const operator = await startNode(cells.main.database.url, cells.main.env)
  dealer = await addDealerOf(operator.deps)
  await operator.stop()
  await sellEverything(cells.main)
}, MOVES_TIMEOUT_MS)
afterAll(async () => {
  await cells?.close()
  await stopGateways()
})

async function addDealerOf(deps: Awaited<ReturnType<typeof startNode>>['deps']): Promise<Dealer> {
  const made = await createTenant(deps, { clientName: 'Acme', currencyCode: 'USD' }, OPERATOR)
  await topUp(deps, { tenantId: made.tenantId, amount: 10_000_000n, reference: 'opening' }, OPERATOR)
  return made
}

const json = (cell: TestCell, operation: string, body: object, parts = {}) =>
  call(cell.gateway, dealer, operation, { body: JSON.stringify(body), ...parts })
const order = (cell: TestCell, transactionId: string, packageCode: string, parts = {}) =>
  json(cell, 'esim/order', { transactionId, packageInfoList: [{ packageCode, count: 1 }] }, parts)

/** Orders that end in every state, a top-up and an action, created by a worker that is then stopped. */
async function sellEverything(cell: TestCell): Promise<void> {
  const worker = await startGateway({
    databaseUrl: cell.database.url,
    role: 'worker',
    env: { ...NODE_ENV, ...cell.env },
  })
  const states = {
    SANDBOX_OK: 'DELIVERED',
    SANDBOX_REFUSED: 'FAILED',
    SANDBOX_UNKNOWN: 'UNDER_REVIEW',
    SANDBOX_CANCEL_FEE: 'DELIVERED',
  }
  for (const packageCode of Object.keys(states)) await order(cell, packageCode, packageCode)
  for (const [transactionId, status] of Object.entries(states)) {
    await waitUntil(
      async () => (await json(cell, 'esim/query', { transactionId })).data.orderStatus === status,
      STATES_TIMEOUT_MS,
    )
  }
  const { data } = await json(cell, 'esim/query', { transactionId: 'SANDBOX_CANCEL_FEE' })
  const { esimTranNo } = data.profileList[0]
  const cancel = await json(cell, 'esim/cancel', { transactionId: 'cancel', action: 'CANCEL', esimTranNo })
  expect(cancel.code).toBe('000000')
  await waitUntil(
    async () => (await json(cell, 'esim/action/query', { transactionId: 'cancel' })).data.actionStatus === 'DONE',
    STATES_TIMEOUT_MS,
  )
  const sold = (await json(cell, 'esim/query', { transactionId: 'SANDBOX_OK' })).data.profileList[0]
  await json(cell, 'esim/topup', { transactionId: 'top-up', esimTranNo: sold.esimTranNo, packageCode: 'SANDBOX_TOPUP' })
  await worker.kill()
  // Not processed by any worker yet.
  expect((await order(cell, 'open', 'SANDBOX_OK')).code).toBe('000000')
}

/** Removes the traces of a move, which changes the tenant's versions and is recorded in the audit log. */
function withoutTraces(rows: Record<string, string[]>): Record<string, string[]> {
  return {
    ...rows,
    tenants: rows.tenants!.map((row) => row.replace(/"version":\d+/, '')),
    audit_log: rows.audit_log!.filter((row) => !row.includes('"tenant.move')),
    request_ids: [],
  }
}

async function expectMoved(from: TestCell, to: TestCell): Promise<void> {
  expect(cells.cellOf(dealer.appKey).name).toBe(to.name)
  expect(withoutTraces(await rowsOf(to, dealer.tenantId))).toEqual(withoutTraces(await rowsOf(from, dealer.tenantId)))
  for (const cell of [from, to]) expect(await ledgerFaults(cell, dealer.tenantId)).toEqual([])
  // Earlier orders are answered as before, and not debited again.
  const { data: before } = await json(to, 'account/balance', {})
  // The old cell forwards requests.
  for (const cell of [to, from]) {
    const replayed = await order(cell, 'SANDBOX_OK', 'SANDBOX_OK')
    expect([replayed.code, replayed.headers['idempotent-replayed']]).toEqual(['000000', 'true'])
  }
  expect((await order(to, 'cancel', 'SANDBOX_OK')).code).toBe('200012')
  expect((await json(to, 'account/balance', {})).data.balance).toBe(before.balance)
}

/** Checks that a cell's sums match its rows, even after it has removed a dealer's rows. */
async function expectSums({ db }: TestCell): Promise<void> {
  await updateSales(db)
  await expectSumsToEqualRows(db)
  await expectMonthsToEqualRows(db)
}

it('a dealer moves there and back with all its rows, and its used ids stay used in both cells', {
  timeout: MOVES_TIMEOUT_MS,
}, async () => {
  const { main, eu1 } = cells
  const requestId = randomUUID()
  const timestamp = Date.now()
  expect((await json(main, 'health', {}, { requestId, timestamp })).code).toBe('000000')
  const before = await rowsOf(main, dealer.tenantId)
  for (const table of ['orders', 'profiles', 'events', 'deliveries', 'esim_actions', 'supplier_attempts', 'transfers'])
    expect(before[table]!.length, table).toBeGreaterThan(0)

  /** Moves the dealer. @returns for which part of that time it was refused */
  const move = async (from: TestCell, to: TestCell): Promise<number> => {
    const startedAt = performance.now()
    const { stdout, stderr } = await cells.move(from, dealer.tenantId, '--to', to.name, '--json')
    const tookMs = performance.now() - startedAt
    expect(stderr).toBe('')
    return JSON.parse(stdout).fencedMs / tookMs
  }
  const refusedThere = await move(main, eu1)
  await expectMoved(main, eu1)
  await expectSums(eu1)
  expect((await json(eu1, 'health', {}, { requestId, timestamp })).code).toBe('101006')

  expect((await order(eu1, 'in-eu1', 'SANDBOX_OK')).code).toBe('000000')
  const refusedBack = await move(eu1, main)
  // The dealer is refused for only a part of a move: most rows are copied before. A busy machine may delay one of the two.
  expect(Math.min(refusedThere, refusedBack)).toBeLessThan(1 / 2)
  await expectMoved(eu1, main)
  expect((await json(main, 'health', {}, { requestId, timestamp })).code).toBe('101006')

  // Orders that were open when the dealer left are delivered once, in the dealer's current cell.
  const worker = await startGateway({
    databaseUrl: main.database.url,
    role: 'worker',
    env: { ...NODE_ENV, ...main.env },
  })
  for (const transactionId of ['open', 'in-eu1']) {
    await waitUntil(
      async () => (await json(main, 'esim/query', { transactionId })).data.orderStatus === 'DELIVERED',
      STATES_TIMEOUT_MS,
    )
  }
  await worker.kill()
  const clean = await cells.move(eu1, dealer.tenantId, '--clean')
  expect(clean).toMatchObject({ code: 0, stderr: '' })
  expect(Object.values(await rowsOf(eu1, dealer.tenantId)).flat()).toEqual([])
  for (const cell of [main, eu1]) await expectSums(cell)
  expect(await eu1.db.query({ text: 'select from daily_purchases' })).toEqual([])
  expect(await eu1.db.query({ text: 'select from tenant_moves' })).toEqual([])
  expect((await json(eu1, 'health', {})).code).toBe('101004')
})

it('an aborted move leaves the dealer in its cell, and no rows in the other cell', {
  timeout: MOVES_TIMEOUT_MS,
}, async () => {
  const { main, eu1 } = cells
  const killed = await cells.moveUntil('move.books-proved', main, dealer.tenantId, '--to', 'eu1')
  expect(killed.stderr).toContain('paused at')
  expect((await cells.move(main, dealer.tenantId, '--to', 'eu1', '--abort')).code).toBe(0)
  expect((await order(main, 'after-abort', 'SANDBOX_OK')).code).toBe('000000')
  expect(Object.values(await rowsOf(eu1, dealer.tenantId)).flat()).toEqual([])
  const left = await main.db.query({ text: `select tgname from pg_trigger where tgname like 'moved%'` })
  expect(left).toEqual([])
})

it('an eSIM delivered while the tables are being copied arrives together with its item', {
  timeout: MOVES_TIMEOUT_MS,
}, async () => {
  const { main, eu1 } = cells
  const copiedItems = MOVED_TABLES.findIndex(({ table }) => table === 'order_items') + 1
  const killed = await cells.moveUntil(`move.page-copied:kill:${copiedItems}`, main, dealer.tenantId, '--to', 'eu1')
  expect(killed.stderr).toContain('paused at move.page-copied')
  const worker = await startGateway({
    databaseUrl: main.database.url,
    role: 'worker',
    env: { ...NODE_ENV, ...main.env },
  })
  await order(main, 'while-copied', 'SANDBOX_OK')
  await waitUntil(
    async () => (await json(main, 'esim/query', { transactionId: 'while-copied' })).data.orderStatus === 'DELIVERED',
    STATES_TIMEOUT_MS,
  )
  await worker.kill()
  expect(await cells.move(main, dealer.tenantId, '--to', 'eu1')).toMatchObject({ code: 0 })
  expect(await ledgerFaults(eu1, dealer.tenantId)).toEqual([])
  expect((await json(eu1, 'esim/query', { transactionId: 'while-copied' })).data.profileList).toHaveLength(1)
  expect(await cells.move(eu1, dealer.tenantId, '--to', 'main')).toMatchObject({ code: 0 })
})

it('a move that would lose something is refused with a message that says what to do', {
  timeout: MOVES_TIMEOUT_MS,
}, async () => {
  const { main, eu1 } = cells
  await eu1.db.query({ text: `update deployment set master_key_fingerprint = 'other'` })
  expect((await cells.move(main, dealer.tenantId, '--to', 'eu1')).stderr).toMatch(/different master keys.*rotate/)
  await eu1.db.query({
    text: 'update deployment set master_key_fingerprint = $1',
    values: [
      (await main.db.query<{ key: string }>({ text: 'select master_key_fingerprint as key from deployment' }))[0]!.key,
    ],
  })
  await main.db.query({
    text: `insert into tenant_prices values ($1, 'ONLY_MAIN', 1, false, now())`,
    values: [dealer.tenantId],
  })
  expect((await cells.move(main, dealer.tenantId, '--to', 'eu1')).stderr).toMatch(/eu1 lacks packages.*ONLY_MAIN/)
  expect((await cells.move(main, dealer.tenantId, '--to', 'us1')).stderr).toMatch(/does not list cell us1/)
  expect(await main.db.query({ text: `select from tenant_moves where direction = 'OUT'` })).toEqual([])
})
