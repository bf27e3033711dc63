import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { command, environment } from '@dealer-esim/sdk/test/command.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { getCheckpoint } from '#wallet/books/checkpoints.ts'
import { growTree } from '#wallet/books/grow-tree.ts'
import { addDealer, call, type Dealer, NODE_ENV, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { adminJsonWith, adminWith } from '../harness/processes/admin-in-process.ts'
import { temporaryFolder } from '../harness/processes/gateway-process.ts'

/* What operators do with a whole gateway, and what becomes of its test twins. */

let database: TestDatabase
let node: Node
let twinsDb: Database
let dealer: Dealer
let twin: Dealer
const folder = temporaryFolder('twins')

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  twinsDb = createDb({ url: database.url, schema: 'public_twins', poolSize: 1, applicationName: 'test' })
  dealer = await addDealer(node.deps, 1)
  twin = await adminJsonWith<Dealer>(['tenant', 'twin', 'create', dealer.tenantId], env())
})
afterAll(async () => {
  await twinsDb.close()
  await node.stop()
  await database.drop()
})

const env = (more = {}) => ({ ...NODE_ENV, DATABASE_URL: database.url, DATABASE_SCHEMA: 'public', ...more })
const verify = (...options: string[]) => adminWith(['ledger', 'verify', '--json', ...options], env())
const ofTwin = (text: string) => twinsDb.query({ text, values: [twin.tenantId] })

test('ledger verify checks the ledgers of test twins, and counts them apart from live money', async () => {
  const counts = { tenants: 1, transfers: 1, orders: 0, faults: 0 }
  const { code, stdout } = await verify()
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { ok: true, ...counts, twins: counts }])
  await ofTwin('update wallets set balance = balance + 1 where tenant_id = $1')
  for (const options of [[], ['--tenant', twin.tenantId]]) {
    const found = await verify(...options)
    expect([found.code, JSON.parse(found.stdout)]).toMatchObject([
      1,
      { ok: false, faults: 0, twins: { faults: 1 }, faultList: [{ tenantId: twin.tenantId, kind: 'BALANCE' }] },
    ])
  }
  expect((await verify('--tenant', dealer.tenantId)).code).toBe(0)
  await ofTwin('update wallets set balance = balance - 1 where tenant_id = $1')
  expect((await verify('--tenant', '0194fdc2-fa2f-4cc0-81d3-ff12045b73c8')).code).toBe(1)
})

test('the origin of a twin’s checkpoints names its resets, and an audit across one is no false alarm', async () => {
  const twins = (await node.deps.twins.open())!
  const audit = async () => {
    await growTree(twinsDb, twin.tenantId)
    await ofTwin('update ledger_trees set checkpoint_at = null where tenant_id = $1')
    const variables = environment({ ...twin, baseUrl: node.baseUrl })
    const { code, out } = await command(['audit', '--json', '--state', 'books.json'], { cwd: folder, env: variables })
    return { code, ...JSON.parse(out) }
  }
  const origin = async () => (await getCheckpoint(twins, twin.tenantId, {})).note.split('\n')[0]
  const balance = (amount: number) =>
    call(node, twin, 'test/balance/set', { body: JSON.stringify({ balance: amount }) })
  await balance(5)
  expect(await audit()).toMatchObject({ code: 0, entries: 2, wasReset: false })
  expect(await origin()).toBe(`127.0.0.1/${twin.tenantId}`)
  for (const resets of [1, 2]) {
    await adminJsonWith(['tenant', 'twin', 'reset', dealer.tenantId], env())
    expect(await audit()).toMatchObject({ code: 0, entries: 1, compared: 0, wasReset: true })
    expect(await origin()).toBe(`127.0.0.1/${twin.tenantId}/test/${resets}`)
    await balance(7)
    expect(await audit()).toMatchObject({ code: 0, entries: 2, compared: 1, wasReset: false })
  }
  // Only a reset begins another ledger.
  await ofTwin('delete from ledger_checkpoints where tenant_id = $1')
  await ofTwin(`update ledger_trees set origin = '127.0.0.1/' || tenant_id || '/test/1' where tenant_id = $1`)
  expect(await audit()).toMatchObject({ code: 1, verdict: 'DIFFERS' })
  await ofTwin(`update ledger_trees set origin = '127.0.0.1/' || tenant_id || '/test/2' where tenant_id = $1`)
})

test('an operator’s package cannot have a code of the sandbox in production, and any in a local deployment', async () => {
  const reserved = (packageCode: string) => putPackages(node.deps, [packageInput({ packageCode })], OPERATOR)
  await reserved('SANDBOX_OK')
  await node.deps.db.query({ text: `update deployment set kind = 'production'` })
  try {
    await expect(reserved('SANDBOX_MINE')).rejects.toMatchObject({ data: { details: [{ field: 'packageCode' }] } })
    await reserved('SANDBOX_OK') // an earlier one can be changed
    await reserved('MY_SANDBOX_PACKAGE')
  } finally {
    await node.deps.db.query({ text: `update deployment set kind = 'local'` })
  }
})

test('a backup says that it has no test twins, and a restore refuses a database with those of another time', async () => {
  const made = await adminJsonWith<{ file: string; notIncluded: string[] }>(['backup', folder], env())
  expect(made.notIncluded.join()).toContain('test twins')
  const other = await createEmptyDatabase()
  try {
    const db = createDb({ url: other.url, poolSize: 1, applicationName: 'test' })
    await db.query({ text: 'create schema public_twins' })
    const restore = () => adminWith(['restore', made.file], env({ DATABASE_URL: other.url }))
    expect((await restore()).stderr).toContain(
      'still has the test twins of another gateway, in the schema public_twins',
    )
    await db.query({ text: 'drop schema public_twins' })
    await db.close()
    expect(await restore()).toMatchObject({ code: 0 })
    const restored = await startNode(other.url)
    // The twin is unknown as a whole; its dealer is there, and waits for the end of the recovery.
    expect((await call(restored, twin, 'health')).code).toBe('101004')
    expect((await call(restored, dealer, 'account/balance')).code).not.toBe('101004')
    await restored.stop()
  } finally {
    await other.drop()
  }
})

test('a rotation of the master key re-encrypts what a twin holds, and master-key show counts it', async () => {
  await node.stop()
  const [OLD, NEW] = [NODE_ENV.MASTER_KEY, Buffer.alloc(32, 9).toString('base64')]
  const both = env({ MASTER_KEY: `${NEW},${OLD}` })
  const show = () => adminJsonWith<{ outdated: number }>(['master-key', 'show'], both)
  const outdatedOfDealers = (await show()).outdated
  await adminJsonWith(['master-key', 'rotate'], both)
  expect(await show()).toMatchObject({ outdated: 0 })
  expect(outdatedOfDealers).toBeGreaterThan(1)
  node = await startNode(database.url, { MASTER_KEY: NEW })
  expect((await call(node, twin, 'health')).code).toBe('000000')
  const [secret] = await twinsDb.query<{ secret: Buffer }>({
    text: 'select ciphertext as secret from tenant_secrets where tenant_id = $1',
    values: [twin.tenantId],
  })
  const cipher = createCipher([Buffer.from(NEW, 'base64')])
  expect(cipher.decrypt(secret!.secret, twin.tenantId).toString()).toBe(twin.appSecret)
})
