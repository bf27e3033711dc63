import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { parseCells } from '#cells/cells-file.ts'
import type { DealerMove } from '#cells/move/cell-session.ts'
import { liftFence, setFence } from '#cells/move/move-state.ts'
import { type MoveDeps, moveTenant } from '#cells/move/move-tenant.ts'
import { createAdminDeps } from '#cli/kernel/cli-deps.ts'
import { openMove } from '#cli/tenants/moving-cells.ts'
import { suspendTenant } from '#tenants/change-tenant.ts'
import { createKey, revokeKey } from '#tenants/keys/manage-keys.ts'
import { addDealer, call, type Dealer, NODE_ENV, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { adminJsonWith, adminWith } from '../harness/processes/admin-in-process.ts'
import { admin } from '../harness/processes/admin-process.ts'
import { temporaryFolder } from '../harness/processes/gateway-process.ts'
import { rowsOf } from './two-cells.ts'

/* A dealer with a test twin is moved from cell main to cell eu1. */

/** Several moves, each with hundreds of small transactions, on a busy machine. */
const TIMEOUT_MS = 300_000
vi.setConfig({ testTimeout: TIMEOUT_MS })

const JAPAN = packageInput({
  packageCode: 'JP_1_7',
  status: 'ON_SALE',
  prices: [{ currencyCode: 'USD', price: 45_000, retailPrice: null }],
})
const CELLS = ['main', 'eu1'] as const
type CellName = (typeof CELLS)[number]
const databases = {} as Record<CellName, TestDatabase>
const nodes = {} as Record<CellName, Node>
/** The schemas of the twins. */
const twinDbs = {} as Record<CellName, Database>
const folder = temporaryFolder('move-twin')
const file = join(folder, 'cells.json')
let dealer: Dealer
let twin: Dealer

beforeAll(async () => {
  for (const cell of CELLS) {
    databases[cell] = await createTestDatabase()
    nodes[cell] = await startNode(databases[cell].url, { CELL_NAME: cell })
    twinDbs[cell] = createDb({
      ...{ url: databases[cell].url, schema: 'public_twins', poolSize: 2, applicationName: 'test' },
    })
    await putPackages(nodes[cell].deps, [JAPAN], OPERATOR)
    const variables = Object.entries(env(cell)).map(([name, value]) => `${name}=${value}\n`)
    writeFileSync(join(folder, `${cell}.env`), variables.join(''))
  }
})
beforeEach(async () => {
  const cells = CELLS.map((name) => ({
    name,
    nodes: [{ host: '127.0.0.1', port: nodes[name].port, metricsPort: nodes[name].port }],
    environmentFile: `${name}.env`,
  }))
  writeFileSync(file, JSON.stringify({ cells }))
  dealer = await addDealer(nodes.main.deps)
  twin = await adminJsonWith<Dealer>(['tenant', 'twin', 'create', dealer.tenantId], env('main'))
})
afterEach(() => vi.unstubAllEnvs())
afterAll(async () => {
  for (const cell of CELLS) {
    await twinDbs[cell]?.close()
    await nodes[cell]?.stop()
    await databases[cell]?.drop()
  }
})

function env(cell: CellName) {
  return { ...NODE_ENV, CELL_NAME: cell, DATABASE_URL: databases[cell].url, DATABASE_SCHEMA: 'public' }
}
const moveCommand = (...options: string[]) =>
  adminWith(['tenant', 'move', dealer.tenantId, '--file', file, ...options], env('main'))
const codeAt = async (cell: CellName, by: Dealer) => (await call(nodes[cell], by, 'health')).code
function buy(cell: CellName, transactionId: string) {
  const body = JSON.stringify({ transactionId, packageInfoList: [{ packageCode: 'SANDBOX_OK', count: 1 }] })
  return call(nodes[cell], twin, 'esim/order', { body })
}
const twinRows = (cell: CellName) => rowsOf({ db: twinDbs[cell] }, twin.tenantId)
const cellsByAppKey = () => Object.fromEntries(parseCells(readFileSync(file, 'utf8')).movedAppKeys)

/** Runs `work` with the move that `tenant move --to eu1` would carry out or continue. */
async function withMove<Result>(work: (deps: MoveDeps, move: DealerMove) => Promise<Result>): Promise<Result> {
  for (const [name, value] of Object.entries(env('main'))) vi.stubEnv(name, value)
  const { deps, close } = await createAdminDeps()
  const opened: Database[] = []
  try {
    const { move } = await openMove(deps, { tenantId: dealer.tenantId, to: 'eu1', file, abort: false }, opened)
    const steps = { ids: deps.ids, cipher: deps.cipher, by: OPERATOR, progress() {}, async route() {} }
    return await work(steps, move)
  } finally {
    await Promise.all(opened.map((db) => db.close()))
    await close()
  }
}

test('a dealer takes its test twin and restricted keys along, with orders, limits, clock and ledger', async () => {
  const { tenantId } = dealer
  const input = { label: 'shop', operations: ['health', 'esim/order'], perDayMax: 100_000n, totalMax: 200_000n }
  const key = { tenantId, ...(await createKey(nodes.main.deps, tenantId, input, OPERATOR)) }
  const revoked = await createKey(nodes.main.deps, tenantId, { label: 'old' }, OPERATOR)
  await revokeKey(nodes.main.deps, tenantId, revoked.appKey, OPERATOR)
  const bought = JSON.stringify({ transactionId: 'K-1', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
  expect((await call(nodes.main, key, 'esim/order', { body: bought })).code).toBe('000000')
  const limitsAt = async (cell: CellName) => (await call(nodes[cell], key, 'health')).data.keyLimits
  const limits = await limitsAt('main')
  expect(limits.totalSpent).toBeGreaterThan(0)
  const sold = await buy('main', 'T-1')
  expect(sold.code).toBe('000000')
  const hours = JSON.stringify({ hours: 48 })
  const { testTime } = (await call(nodes.main, twin, 'test/clock/advance', { body: hours })).data
  const moved = await moveCommand('--to', 'eu1')
  expect(moved).toMatchObject({ code: 0 })

  expect(cellsByAppKey()).toEqual({ [dealer.appKey]: 'eu1', [key.appKey]: 'eu1', [twin.appKey]: 'eu1' })
  for (const cell of CELLS) expect(await limitsAt(cell)).toEqual(limits)
  expect((await call(nodes.eu1, key, 'account/balance')).code).toBe('101009')
  expect(await codeAt('eu1', { ...key, appKey: revoked.appKey })).toBe('101004')
  const [there, here] = [await twinRows('eu1'), await twinRows('main')]
  for (const table of ['twins', 'tenant_secrets', 'wallets', 'transfers', 'orders', 'order_items', 'events'])
    expect([table, there[table]]).toEqual([table, here[table]])
  expect(there.orders).toHaveLength(1)
  // The old cell forwards requests.
  for (const cell of CELLS) {
    expect((await call(nodes[cell], twin, 'health')).data).toMatchObject({ mode: 'TEST', tenantId: twin.tenantId })
    const replayed = await buy(cell, 'T-1')
    expect([replayed.code, replayed.headers['idempotent-replayed']]).toEqual(['000000', 'true'])
    const repeated = await call(nodes[cell], twin, 'test/clock/advance', {
      body: hours.replace('}', ',"fromTime":"2020-01-01T00:00:00.000Z"}'),
    })
    expect([repeated.code, Date.parse(repeated.data.current) >= Date.parse(testTime)]).toEqual(['200005', true])
  }
  expect((await buy('eu1', 'T-2')).data.balanceAfter).toBe(10_000_000 - 2 * 10_000)
  // Its dealer's standing is now read in the new cell.
  await suspendTenant(nodes.eu1.deps, dealer.tenantId, OPERATOR)
  expect(await codeAt('main', twin)).toBe('101005')

  expect(await moveCommand('--clean')).toMatchObject({ code: 0 })
  expect(Object.values(await twinRows('main')).flat()).toEqual([])
  expect(await codeAt('main', twin)).toBe('101004')
})

test('a move that is interrupted after every step goes on, and both accounts are served throughout', async () => {
  await buy('main', 'T-1')
  const seen = new Set<string>()
  const killOnce = (step: string) => {
    // Most tables are left out, because each interruption takes a second.
    if (seen.has(step) || /^(?!test twin: copied (twins|wallets|orders)).*copied /.test(step)) return
    seen.add(step)
    throw new Error('killed')
  }
  const run = () =>
    withMove((deps, move) =>
      moveTenant({ ...deps, progress: killOnce, route: async ({ tenantId }) => killOnce(`route ${tenantId}`) }, move),
    ).then(
      () => true,
      (error: Error) => {
        if (error.message === 'killed') return false
        throw error
      },
    )
  while (!(await run())) {
    expect([await codeAt('main', dealer), await codeAt('main', twin)]).toEqual(['000000', '000000'])
  }
  const steps = [...seen]
  const stepAt = (text: string) => steps.indexOf(text)
  for (const step of ['copied twins: 1 rows', 'copied wallets: 1 rows', 'copied orders: 1 rows'])
    expect(stepAt(`test twin: ${step}`), step).toBeGreaterThan(0)
  expect(stepAt('test twin: cell eu1 serves the dealer')).toBeGreaterThan(stepAt(`route ${dealer.tenantId}`))
  expect(stepAt(`route ${twin.tenantId}`)).toBeGreaterThan(0)
  expect([await codeAt('eu1', dealer), await codeAt('eu1', twin)]).toEqual(['000000', '000000'])
  expect((await buy('eu1', 'T-1')).headers['idempotent-replayed']).toBe('true')
})

test('a move that is killed after the dealer has arrived and before its twin has shows both, and goes on', async () => {
  await buy('main', 'T-1')
  const killAt = async (point: string) => {
    const command = ['tenant', 'move', dealer.tenantId, '--file', file, '--to', 'eu1']
    expect((await admin(command, { ...env('main'), PAUSE_AT: point })).stderr).toContain(`paused at ${point}`)
  }
  const shown = async (cell: CellName) => {
    const command = ['tenant', 'move', dealer.tenantId, '--status']
    const { moveList } = await adminJsonWith<{ moveList: Record<string, string>[] }>(command, env(cell))
    expect(moveList.map(({ tenantId }) => tenantId)).toEqual([dealer.tenantId, twin.tenantId])
    return moveList.map(({ mode, state }) => `${mode} ${state}`)
  }
  await killAt('move.target-opened')
  for (const cell of CELLS) expect(await shown(cell)).toEqual(['LIVE SWITCHED', 'TEST COPYING'])
  for (const cell of CELLS) expect([await codeAt(cell, dealer), await codeAt(cell, twin)]).toEqual(['000000', '000000'])
  expect((await buy('eu1', 'T-2')).code).toBe('000000')

  // The dealer has arrived, so only its twin passes this point.
  await killAt('move.source-closed')
  expect([await shown('main'), await shown('eu1')]).toEqual([
    ['LIVE SWITCHED', 'TEST SWITCHED'],
    ['LIVE SWITCHED', 'TEST VERIFIED'],
  ])
  for (const cell of CELLS) expect([await codeAt(cell, dealer), await codeAt(cell, twin)]).toEqual(['000000', '000002'])

  expect(await moveCommand('--to', 'eu1')).toMatchObject({ code: 0 })
  for (const cell of CELLS) expect(await shown(cell)).toEqual(['LIVE DONE', 'TEST DONE'])
  const human = await adminWith(['tenant', 'move', '--status'], env('eu1'))
  expect(human.stdout).toMatch(new RegExp(`${twin.tenantId} +test twin of ${dealer.tenantId} +from main +DONE`))
  for (const [transactionId, cell] of [
    ['T-1', 'main'],
    ['T-2', 'eu1'],
  ] as const)
    expect((await buy(cell, transactionId)).headers['idempotent-replayed']).toBe('true')
  expect((await twinRows('eu1')).orders).toHaveLength(2)
})

test('a twin answers 000002 behind its fence, as its dealer does, and neither can be changed in between', async () => {
  await withMove(async (deps, move) => {
    const halfway = moveTenant(
      {
        ...deps,
        progress: () => {
          throw new Error('killed')
        },
      },
      move,
    )
    await expect(halfway).rejects.toThrow('killed')
    await setFence(move.twin!, 60_000)
    const refused = await call(nodes.main, twin, 'health')
    expect([refused.code, refused.headers['retry-after']]).toEqual(['000002', '1'])
    expect(await codeAt('main', dealer)).toBe('000000')
    await liftFence(move.twin!)
    expect(await codeAt('main', twin)).toBe('000000')
  })
  for (const change of ['reset', 'delete']) {
    const { code, stderr } = await adminWith(['tenant', 'twin', change, dealer.tenantId], env('main'))
    expect([code, stderr]).toEqual([1, expect.stringContaining('The dealer is being moved')])
  }
  const aborted = await moveCommand('--to', 'eu1', '--abort')
  expect(aborted).toMatchObject({ code: 0 })
  for (const cell of CELLS)
    expect(
      await twinDbs[cell].query({ text: 'select from tenant_moves where tenant_id = $1', values: [twin.tenantId] }),
    ).toEqual([])
  expect(Object.values(await twinRows('eu1')).flat()).toEqual([])
  expect((await adminWith(['tenant', 'twin', 'reset', dealer.tenantId], env('main'))).code).toBe(0)
  expect(await codeAt('main', twin)).toBe('000000')
})

test('a dealer is not moved back to a cell that still has a twin that was deleted elsewhere', async () => {
  expect(await moveCommand('--to', 'eu1')).toMatchObject({ code: 0 })
  const here = await adminWith(['tenant', 'twin', 'create', dealer.tenantId], env('main'))
  expect(here.stderr).toContain('Do this in its new cell')
  await adminJsonWith(['tenant', 'twin', 'delete', dealer.tenantId], env('eu1'))
  const back = () => adminWith(['tenant', 'move', dealer.tenantId, '--file', file, '--to', 'main'], env('eu1'))
  expect((await back()).stderr).toContain('Cell main still has an earlier test twin of this dealer')
  expect(await moveCommand('--clean')).toMatchObject({ code: 0 })
  expect(await back()).toMatchObject({ code: 0 })
  expect(await codeAt('eu1', dealer)).toBe('000000')
})
