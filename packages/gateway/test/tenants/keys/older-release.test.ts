import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { listPeers } from '#platform/deployment/peers.ts'
import { createKey, listKeys } from '#tenants/keys/manage-keys.ts'
import { addDealer, call, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { waitUntil } from '#test/harness/shop.ts'

let database: TestDatabase
let node: Node
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

it.each([
  ['with its process id', (keys: string) => `dealer-esim gateway 4711 ${keys}`],
  ['whose name had no room for it', (keys: string) => `dealer-esim wake ${keys}`],
])('restricted keys are made only once no gateway of an older release is connected, %s', async (_, nameOf) => {
  const { deps } = node
  const { tenantId } = await addDealer(deps, 1)
  const make = () => createKey(deps, tenantId, { label: 'webshop' }, OPERATOR)
  const applicationName = nameOf(`keys=${deps.cipher.keyIds.join(',')}`)
  const older = createDb({ url: deps.config.databaseUrl!, poolSize: 1, applicationName })
  try {
    await older.query({ text: 'select 1' })
    const refusal = await make().catch((error) => error)
    expect(refusal).toMatchObject({ status: 409, code: 'OLDER_RELEASE_CONNECTED' })
    expect(refusal.message).toMatch(/knows no restricted keys.*connection \d+\)\. Replace/)
    expect(await listKeys(deps.db, tenantId)).toEqual([])
  } finally {
    await older.close()
    await waitUntil(async () => (await listPeers(deps.db)).every(({ release }) => release > 1))
  }
  const key = { tenantId, ...(await make()) }
  expect((await call(node, key, 'health', { body: '{}' })).code).toBe('000000')
})
