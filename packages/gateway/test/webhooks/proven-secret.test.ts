import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { verifyEvent } from '@dealer-esim/sdk'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { resetSecret } from '#tenants/app-secret.ts'
import { webhooksLoop } from '#webhooks/sending/sender.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackages } from '../http/dealer/api-fixture.ts'
import { type Receiver, startReceiver } from './receiver.ts'

// From a request signed with the new secret to the next event: dealer API, admission, database, sender.

let database: TestDatabase
let node: Node
let sender: ReturnType<typeof webhooksLoop>
let receiver: Receiver
const warned: string[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  const log: Log = { ...silentLog, warn: (...words: unknown[]) => void warned.push(String(words.at(-1))) }
  node = await startNode(database.url, {}, { log })
  await addPackages(node)
  receiver = await startReceiver()
  sender = webhooksLoop(node.deps)
})
afterAll(async () => {
  await sender.stop(1_000)
  await node.stop()
  await receiver.close()
  await database.drop()
})

let dealer: Dealer
/** The new secret; `dealer` still has the old one, which remains valid for another hour. */
let newSecret: string
beforeEach(async () => {
  dealer = await addDealer(node.deps)
  const body = JSON.stringify({ callbackUrl: receiver.url, eventTypes: ['ORDER_PAID'] })
  expect((await call(node, dealer, 'webhook/set', { body })).code).toBe('000000')
  newSecret = (await resetSecret(node.deps, dealer.tenantId, { graceMs: 3_600_000 }, OPERATOR)).appSecret
  receiver.received = []
})
afterEach(() => node.deps.db.query({ text: 'drop trigger if exists unproven on tenant_secrets' }))

const requestWith = async (secret: string) =>
  expect((await call(node, dealer, 'health', { secret })).code).toBe('000000')

async function isProven(): Promise<boolean> {
  const [row] = await node.deps.db.query<{ proven: boolean }>({
    text: 'select proven_at is not null as proven from tenant_secrets where tenant_id = $1 and valid_until is null',
    values: [dealer.tenantId],
  })
  return row!.proven
}

/** Places an order. @returns the secret that signs its event in the request scheme */
async function nextEventIsSignedWith(): Promise<'old' | 'new'> {
  const seen = receiver.events.length
  const order = { transactionId: `T-${seen}`, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
  expect((await call(node, dealer, 'esim/order', { body: JSON.stringify(order) })).code).toBe('000000')
  await expect.poll(() => receiver.events.length).toBe(seen + 1)
  const { body, headers: all } = receiver.events[seen]!
  const headers = Object.fromEntries(Object.entries(all).filter(([name]) => !name.startsWith('webhook-')))
  const verifies = (appSecret: string) =>
    verifyEvent({ appSecret, headers, body }).then(
      () => true,
      () => false,
    )
  const [byOld, byNew] = [await verifies(dealer.appSecret), await verifies(newSecret)]
  expect(byOld).toBe(!byNew)
  return byNew ? 'new' : 'old'
}

test('in a grace period, only a request signed with the new secret makes events use that secret', async () => {
  await requestWith(dealer.appSecret)
  expect(await nextEventIsSignedWith()).toBe('old')
  await requestWith(newSecret)
  await expect.poll(isProven).toBe(true)
  expect(await nextEventIsSignedWith()).toBe('new')
})

test('a request refused for its RequestID still proves the new secret', async () => {
  const requestId = crypto.randomUUID()
  expect((await call(node, dealer, 'health', { requestId })).code).toBe('000000')
  expect((await call(node, dealer, 'health', { requestId, secret: newSecret })).code).toBe('101006')
  await expect.poll(isProven).toBe(true)
  expect(await nextEventIsSignedWith()).toBe('new')
})

test('if the first use of the secret cannot be saved, the next request saves it', async () => {
  await node.deps.db.query({
    text: `create or replace function unproven() returns trigger language plpgsql as
             $$ begin raise exception 'the disk is full'; end $$`,
  })
  await node.deps.db.query({
    text: `create trigger unproven before update of proven_at on tenant_secrets for each row execute function unproven()`,
  })
  warned.length = 0
  await requestWith(newSecret)
  await expect.poll(() => warned).toEqual(['the first use of a secret could not be saved'])
  expect(await nextEventIsSignedWith()).toBe('old')
  await node.deps.db.query({ text: 'drop trigger unproven on tenant_secrets' })
  await requestWith(newSecret)
  await expect.poll(isProven).toBe(true)
  expect(await nextEventIsSignedWith()).toBe('new')
})
