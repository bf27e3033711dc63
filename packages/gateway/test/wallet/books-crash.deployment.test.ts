import { verifyConsistency } from '@dealer-esim/contract'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getCheckpoint } from '#wallet/books/checkpoints.ts'
import { proveConsistency } from '#wallet/books/prove-entries.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { addDealer, NODE_ENV, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { spawnGateway, startGateway, stopGateways } from '../harness/processes/gateway-process.ts'

/* A gateway is killed while it keeps the books, and two others continue simultaneously. */

let database: TestDatabase
let inspector: Node
beforeAll(async () => {
  database = await createTestDatabase()
  inspector = await startNode(database.url)
})
afterAll(async () => {
  await inspector.stop()
  await stopGateways()
  await database.drop()
})

const DEALERS = 5
const ENTRIES = 40

async function addEntries(ids: string[]): Promise<void> {
  for (const tenantId of ids) {
    for (let index = 0; index < ENTRIES; index++) {
      await topUp(inspector.deps, { tenantId, amount: 10_000n, reference: `${index} ${Math.random()}` }, OPERATOR)
    }
  }
}

describe('a crash while the books are kept', () => {
  it.each(['books.before-growth', 'books.after-growth', 'books.before-checkpoint', 'books.after-checkpoint'])(
    'at %s leaves trees that others continue, and that contradict no checkpoint',
    async (point) => {
      // One transaction adds the entries of all dealers, but makes one checkpoint.
      const time = point.endsWith('growth') ? 1 : 3
      const { deps } = inspector
      const ids: string[] = []
      for (let count = 0; count < DEALERS; count++) ids.push((await addDealer(deps, 1)).tenantId)
      await addEntries(ids)
      const options = { databaseUrl: database.url, role: 'worker' } as const
      const env = { MASTER_KEY: NODE_ENV.MASTER_KEY, PUBLIC_URL: 'http://127.0.0.1:8080' }
      // It may die before it is ready.
      const doomed = spawnGateway({ ...options, env: { ...env, PAUSE_AT: `${point}:kill:${time}` } })
      expect(await doomed.exited).toMatchObject({ signal: 'SIGKILL' })
      const before = await deps.db.query<{ tenantId: string; treeSize: bigint; rootHash: string }>(sql`
        select tenant_id, tree_size, root_hash from ledger_checkpoints where tenant_id = any (${ids}::uuid[])`)

      const next = await Promise.all([startGateway({ ...options, env }), startGateway({ ...options, env })])
      await addEntries(ids)
      const behind = sql`
        select from wallets w left join ledger_trees t using (tenant_id)
        where tenant_id = any (${ids}::uuid[]) and w.version > coalesce(t.size, 0)`
      await expect.poll(() => deps.db.query(behind), { timeout: 60_000 }).toEqual([])
      for (const { tenantId, ...older } of before) {
        const newer = await getCheckpoint(deps, tenantId, { treeSize: 1 + 2 * ENTRIES })
        const head = { treeSize: Number(older.treeSize), rootHash: older.rootHash }
        const sizes = { fromSize: head.treeSize, toSize: newer.treeSize }
        expect(await verifyConsistency(head, newer, await proveConsistency(deps.db, tenantId, sizes))).toBe(true)
      }
      for (const tenantId of ids) {
        const faults: string[] = []
        await verifyLedger(deps.db, { tenantId, onFault: ({ message }) => faults.push(message) })
        expect(faults).toEqual([])
      }
      await Promise.all(next.map((gateway) => gateway.kill('SIGTERM')))
    },
  )
})
