import { followEndorsements, verifyCheckpoint, verifyConsistency } from '@dealer-esim/contract'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Move } from '#cells/move/cell-session.ts'
import { insertMove } from '#cells/move/move-state.ts'
import { moveTenant } from '#cells/move/move-tenant.ts'
import { getCheckpoint } from '#wallet/books/checkpoints.ts'
import { growTree } from '#wallet/books/grow-tree.ts'
import { getTenantKeys, rotateLedgerKey } from '#wallet/books/ledger-keys.ts'
import { proveConsistency } from '#wallet/books/prove-entries.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { addDealer, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'

let databases: TestDatabase[]
let node: Node
let targetDb: Database
beforeAll(async () => {
  databases = await Promise.all([createTestDatabase(), createTestDatabase()])
  const [main, eu1] = databases
  node = await startNode(main!.url)
  targetDb = createDb({ url: eu1!.url, poolSize: 4, applicationName: 'test eu1' })
})
afterAll(async () => {
  await node.stop()
  await targetDb.close()
  for (const database of databases) await database.drop()
})

test('a moved dealer keeps its tree, its origin and its checkpoints, and can trust the keys of the new cell', async () => {
  const { deps } = node
  const { tenantId } = await addDealer(deps)
  await topUp(deps, { tenantId, amount: 10_000n, reference: 'before' }, OPERATOR)
  await growTree(deps.db, tenantId)
  const source = { ...deps, config: { cellName: 'main' } }
  const target = {
    ...source,
    db: targetDb,
    config: { cellName: 'eu1' },
    links: { publicUrl: 'https://eu1.example.com' },
  }
  const older = await getCheckpoint(source, tenantId, {})
  const [pinned] = (await getTenantKeys(deps.db, source.config, tenantId)).keys
  await rotateLedgerKey(target, 0, OPERATOR)

  const cells = { source: { name: 'main', db: deps.db, nodes: [] }, target: { name: 'eu1', db: targetDb, nodes: [] } }
  const move: Move = { moveId: deps.ids.uuid(), tenantId, ...cells }
  await deps.db.tx(async (tx) => insertMove(tx, move, 'OUT', OPERATOR.actor))
  await moveTenant({ ids: deps.ids, cipher: deps.cipher, by: OPERATOR, progress() {}, async route() {} }, move)

  await topUp(target, { tenantId, amount: 10_000n, reference: 'after' }, OPERATOR)
  await growTree(targetDb, tenantId)
  const newer = await getCheckpoint(target, tenantId, { treeSize: older.treeSize + 1 })
  expect(newer.note.split('\n')[0]).toBe(older.note.split('\n')[0])
  const { keys } = await getTenantKeys(targetDb, target.config, tenantId)
  const trusted = await followEndorsements(pinned!.publicKey, keys)
  expect(await verifyCheckpoint(older.note, trusted)).toBeDefined()
  expect(await verifyCheckpoint(newer.note, trusted)).toBeDefined()
  const sizes = { fromSize: older.treeSize, toSize: newer.treeSize }
  expect(await verifyConsistency(older, newer, await proveConsistency(targetDb, tenantId, sizes))).toBe(true)
  const faults: string[] = []
  await verifyLedger(targetDb, { tenantId, onFault: ({ message }) => faults.push(message) })
  expect(faults).toEqual([])
})
