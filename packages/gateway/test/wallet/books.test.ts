import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import {
  type CheckpointAnswer,
  followEndorsements,
  type StatementEntry,
  verifyCheckpoint,
  verifyConsistency,
  verifyInclusion,
  verifyRestore,
} from '@dealer-esim/contract'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import fc from 'fast-check'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENCRYPTED_COLUMNS } from '#platform/deployment/encrypted-columns.ts'
import { reencryptColumn } from '#platform/deployment/reencrypt.ts'
import { enforceRetention } from '#platform/retention/retention-loop.ts'
import { growAllTrees, makeDueCheckpoints } from '#wallet/books/books-loop.ts'
import { getCheckpoint } from '#wallet/books/checkpoints.ts'
import { growTree } from '#wallet/books/grow-tree.ts'
import { forgetOldKeys, getTenantKeys, listLedgerKeys, rotateLedgerKey } from '#wallet/books/ledger-keys.ts'
import { proveConsistency, proveEntry } from '#wallet/books/prove-entries.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { listStatement } from '#wallet/statement/list-statements.ts'
import { canRun } from '../harness/can-run.ts'
import { testLog } from '../harness/debugging.ts'
import { ALICE, createWalletTestbed, insertPaidOrder, refuseItems } from '../harness/wallets.ts'

let money: Awaited<ReturnType<typeof createWalletTestbed>>
let books: (typeof money)['deps'] & { links: { publicUrl: string }; log: typeof testLog }
beforeAll(async () => {
  money = await createWalletTestbed()
  books = { ...money.deps, links: { publicUrl: 'https://esim.example.com:8443/gateway' }, log: testLog }
})
afterAll(() => money.close())

/** A tenant with entries of each kind: payments, orders and refunds. */
async function tenantWith(entries: number): Promise<string> {
  const { tenantId } = await money.tenant()
  await addEntries(tenantId, entries)
  return tenantId
}

async function addEntries(tenantId: string, entries: number): Promise<void> {
  for (let left = entries; left > 0; ) {
    if (left < 3) {
      left -= 1
      await topUp(money.deps, { tenantId, amount: 50_000n, reference: `INV-${left} – ${Math.random()}` }, ALICE)
      continue
    }
    left -= 3
    await topUp(money.deps, { tenantId, amount: 100_000n, reference: `東京 ${left} ${Math.random()}` }, ALICE)
    const orderId = await insertPaidOrder(money.db, tenantId, [10_000n])
    await refuseItems(money.db, tenantId, orderId, [{ itemNo: 1, amount: 10_000n }])
  }
}

async function entriesOf(tenantId: string): Promise<StatementEntry[]> {
  const page = await listStatement({ db: money.db, linkKey: Buffer.alloc(32) }, tenantId, { pageSize: 500 })
  return page.entryList.reverse()
}

const keysOf = async (tenantId: string) =>
  (await getTenantKeys(money.db, money.deps.config, tenantId)).keys.map(({ publicKey }) => publicKey)

async function expectGenuine(tenantId: string, answer: CheckpointAnswer): Promise<void> {
  const { note, ...head } = answer
  expect(await verifyCheckpoint(note, await keysOf(tenantId))).toMatchObject(head)
}

const python = canRun('proofs of the gateway, checked in Python', 'python3')
const SCRIPT = fileURLToPath(new URL('../../../../test/books/verify_books.py', import.meta.url))

describe('the tree of a ledger', () => {
  test('proves every entry at every size, however its growth was divided into steps', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 25 }), { minLength: 2, maxLength: 3 }), async (steps) => {
        const tenantId = await tenantWith(0)
        const checkpoints: CheckpointAnswer[] = [await getCheckpoint(books, tenantId, { treeSize: 0 })]
        let treeSize = 0
        for (const step of steps) {
          await addEntries(tenantId, step)
          while ((await growTree(money.db, tenantId, 7))?.more) {}
          treeSize += step
          checkpoints.push(await getCheckpoint(books, tenantId, { treeSize }))
        }
        await expectAllProved(tenantId, checkpoints)
      }),
      { numRuns: 2, endOnFailure: true },
    )
  })

  async function expectAllProved(tenantId: string, checkpoints: CheckpointAnswer[]): Promise<void> {
    const entries = await entriesOf(tenantId)
    const last = checkpoints.at(-1)!
    expect(last.treeSize).toBe(entries.length)
    const inclusion = []
    for (const entry of entries) {
      const proof = await proveEntry(money.db, tenantId, { entryNo: entry.entryNo, treeSize: last.treeSize })
      expect(await verifyInclusion(entry, proof, last)).toBe(true)
      inclusion.push(proof)
    }
    const consistency = []
    for (const older of checkpoints.slice(1)) {
      await expectGenuine(tenantId, older)
      const sizes = { fromSize: older.treeSize, toSize: last.treeSize }
      const proof = await proveConsistency(money.db, tenantId, sizes)
      expect(await verifyConsistency(older, last, proof)).toBe(true)
      consistency.push({ ...sizes, ...proof })
    }
    const [publicKey] = await keysOf(tenantId)
    const origin = `esim.example.com/${tenantId}`
    const notes = checkpoints.map(({ note, treeSize }) => ({
      note,
      treeSize,
      publicKey,
      keyName: origin,
      genuine: true,
    }))
    const document = { leaves: entries.map((entry) => ({ entry })), roots: checkpoints, inclusion, consistency, notes }
    if (!python) return
    const checked = spawnSync('python3', ['-B', SCRIPT], { input: JSON.stringify(document), encoding: 'utf8' })
    expect([checked.stdout, checked.stderr]).toEqual(['', ''])
  }

  test('has a root of the tiles for each size, and stores each hash once', async () => {
    const tenantId = await tenantWith(70)
    await growTree(money.db, tenantId)
    const tiles = await money.db.query<{ level: number; hashes: number }>(sql`
      select level, sum(length(hashes) / 32)::int as hashes from ledger_tiles where tenant_id = ${tenantId}
      group by level order by level`)
    expect(tiles).toEqual([
      { level: 0, hashes: 70 },
      { level: 1, hashes: 2 },
    ])
  })

  test('grows on one node at a time, and an interrupted step has changed nothing', async () => {
    const tenantId = await tenantWith(12)
    const grown = await Promise.all(Array.from({ length: 4 }, () => growTree(money.db, tenantId, 5)))
    const added = grown.map((each) => each?.added ?? 0).reduce((sum, each) => sum + each, 0)
    const [tree] = await money.db.query<{ size: bigint }>(
      sql`select size from ledger_trees where tenant_id = ${tenantId}`,
    )
    expect(Number(tree!.size)).toBe(added)
    await growAllTrees(books)
    await growAllTrees(books)
    const last = await getCheckpoint(books, tenantId, {})
    await expectAllProved(tenantId, [last])
  })

  test('does not grow past a missing entry, and lets the others grow', async () => {
    const [damaged, other] = [await tenantWith(5), await tenantWith(5)]
    await money.db.query(sql`delete from transfers where tenant_id = ${damaged} and wallet_version = 3`)
    await expect(growTree(money.db, damaged)).rejects.toThrow(`entry 3 of ${damaged} is missing`)
    await growAllTrees(books)
    expect(await getCheckpoint(books, other, {})).toMatchObject({ treeSize: 5 })
    expect(await getCheckpoint(books, damaged, {})).toMatchObject({ treeSize: 0 })
  })

  test('is refused beyond its size, and for sizes and entries that contradict each other', async () => {
    const tenantId = await tenantWith(3)
    await growTree(money.db, tenantId)
    const refused = { code: '000108' }
    await expect(getCheckpoint(books, tenantId, { treeSize: 4 })).rejects.toMatchObject(refused)
    await expect(proveEntry(money.db, tenantId, { entryNo: '3', treeSize: 2 })).rejects.toMatchObject(refused)
    await expect(proveEntry(money.db, tenantId, { entryNo: '1', treeSize: 4 })).rejects.toMatchObject(refused)
    await expect(proveEntry(money.db, tenantId, { entryNo: '1', treeSize: 0 })).rejects.toMatchObject(refused)
    await expect(proveConsistency(money.db, tenantId, { fromSize: 3, toSize: 2 })).rejects.toMatchObject(refused)
    await expect(proveConsistency(money.db, tenantId, { fromSize: 1, toSize: 4 })).rejects.toMatchObject(refused)
    expect(await proveConsistency(money.db, tenantId, { fromSize: 3, toSize: 3 })).toEqual({ hashes: [] })
  })
})

describe('a checkpoint', () => {
  test('is the last one again within a second, and the stored one of a size', async () => {
    const tenantId = await tenantWith(6)
    await growTree(money.db, tenantId)
    const first = await getCheckpoint(books, tenantId, {})
    expect(await getCheckpoint(books, tenantId, {})).toEqual(first)
    expect(await getCheckpoint(books, tenantId, { treeSize: 6 })).toEqual(first)
    const smaller = await getCheckpoint(books, tenantId, { treeSize: 2 })
    expect(smaller.treeSize).toBe(2)
    expect(await getCheckpoint(books, tenantId, {})).toEqual(first)
    await age(tenantId, 'checkpoint_at', '2 seconds')
    const later = await getCheckpoint(books, tenantId, {})
    expect(later).toMatchObject({ treeSize: 6, rootHash: first.rootHash })
    expect(later.note).not.toBe(first.note)
  })

  test('keeps the name that the tree was given first', async () => {
    const tenantId = await tenantWith(1)
    await growTree(money.db, tenantId)
    const renamed = { ...books, links: { publicUrl: 'https://other.example.com' } }
    const origins = [await getCheckpoint(books, tenantId, {}), await getCheckpoint(renamed, tenantId, { treeSize: 0 })]
    for (const { note } of origins) expect(note.split('\n')[0]).toBe(`esim.example.com/${tenantId}`)
  })

  test('is made within the hour for a tenant with new entries, and at the end of a month for every tenant', async () => {
    const tenantId = await tenantWith(3)
    await growTree(money.db, tenantId)
    await makeDueCheckpoints(books)
    await makeDueCheckpoints(books)
    expect(await sizesOf(tenantId)).toEqual([3]) // the month before had no entries
    await addEntries(tenantId, 2)
    await growTree(money.db, tenantId)
    await makeDueCheckpoints(books)
    expect(await sizesOf(tenantId)).toEqual([3])
    await age(tenantId, 'checkpoint_at', '61 minutes')
    await makeDueCheckpoints(books)
    expect(await sizesOf(tenantId)).toEqual([3, 5])
    // The first four entries were made a month ago.
    await money.db.query(sql`
      update transfers set created_at = created_at - interval '1 month' where tenant_id = ${tenantId} and wallet_version <= 4`)
    await money.db.query(sql`update ledger_trees set closed_month = null where tenant_id = ${tenantId}`)
    await makeDueCheckpoints(books)
    expect(await sizesOf(tenantId)).toEqual([3, 5, 4])
  })

  test('is not made by the loop while the gateway has no public URL', async () => {
    const tenantId = await tenantWith(1)
    await growTree(money.db, tenantId)
    await makeDueCheckpoints({ ...books, links: { publicUrl: '' } })
    expect(await sizesOf(tenantId)).toEqual([])
  })

  test('is kept for ever as the first or the last of a month, 90 days as the first of an hour, otherwise a day', async () => {
    const tenantId = await tenantWith(4)
    await growTree(money.db, tenantId)
    for (const treeSize of [1, 2]) await getCheckpoint(books, tenantId, { treeSize })
    const kept = await money.db.query<{ treeSize: bigint; days: number | null }>(sql`
      select tree_size, round(extract(epoch from kept_until - created_at) / 86400)::int as days from ledger_checkpoints
      where tenant_id = ${tenantId} order by created_at`)
    expect(kept).toEqual([
      { treeSize: 1n, days: null },
      { treeSize: 2n, days: 1 },
    ])
    await money.db.query(sql`
      update ledger_checkpoints set kept_until = kept_until - interval '2 days' where tenant_id = ${tenantId}`)
    const retention = { ...money.deps, config: { travellerDays: 90 }, databaseClock: { now: () => Date.now() } }
    while ((await enforceRetention(retention as never)).some(({ more }) => more)) {}
    expect(await sizesOf(tenantId)).toEqual([1])
  })
})

async function sizesOf(tenantId: string): Promise<number[]> {
  const rows = await money.db.query<{ treeSize: bigint }>(sql`
    select tree_size from ledger_checkpoints where tenant_id = ${tenantId} order by created_at`)
  return rows.map(({ treeSize }) => Number(treeSize))
}

async function age(tenantId: string, column: 'checkpoint_at', by: string): Promise<void> {
  await money.db.query({
    text: `update ledger_trees set ${column} = ${column} - $2::interval where tenant_id = $1`,
    values: [tenantId, by],
  })
}

describe('the keys of ledgers', () => {
  test('are created once, however many nodes sign first', async () => {
    const testbed = await createWalletTestbed()
    try {
      const deps = { ...testbed.deps, links: books.links }
      const tenants = await Promise.all(Array.from({ length: 6 }, () => testbed.tenant()))
      await Promise.all(tenants.map(({ tenantId }) => getCheckpoint(deps, tenantId, {})))
      expect(await listLedgerKeys(testbed.db)).toHaveLength(1)
    } finally {
      await testbed.close()
    }
  })

  test('are replaced with an overlap and endorsed by the one before, and signed notes stay genuine', async () => {
    const tenantId = await tenantWith(2)
    await growTree(money.db, tenantId)
    const before = await getCheckpoint(books, tenantId, {})
    const [pinned] = await keysOf(tenantId)
    const next = await rotateLedgerKey(money.deps, 24, ALICE)
    expect(
      await verifyCheckpoint((await getCheckpoint(books, tenantId, { treeSize: 1 })).note, [pinned!]),
    ).toBeDefined()
    await expect(rotateLedgerKey(money.deps, 24, ALICE)).rejects.toThrow('Rotate again after that')
    const { keys } = await getTenantKeys(money.db, money.deps.config, tenantId)
    expect(await followEndorsements(pinned!, keys)).toEqual([pinned, next.publicKey])
    expect(keys.map(({ validUntil }) => validUntil)).toEqual([next.validFrom, null])
    await money.db.query(sql`
      update ledger_keys set valid_from = valid_from - interval '3 days', valid_until = valid_until - interval '3 days'`)
    const after = await getCheckpoint(books, tenantId, { treeSize: 0 })
    expect(await verifyCheckpoint(after.note, [next.publicKey])).toBeDefined()
    await forgetOldKeys(money.db)
    await expectGenuine(tenantId, before)
    const [row] = await money.db.query<{ kept: bigint }>(sql`
      select count(private_key) as kept from ledger_keys`)
    expect(row!.kept).toBe(1n)
  })

  test('are rewritten by a rotation of the master key', async () => {
    const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
    const column = ENCRYPTED_COLUMNS.find(({ table }) => table === 'ledger_keys')!
    const testbed = await createWalletTestbed()
    try {
      const deps = { ...testbed.deps, links: books.links, cipher: createCipher([oldKey]) }
      const { tenantId: other } = await testbed.tenant()
      await getCheckpoint(deps, other, {})
      await reencryptColumn({ db: testbed.db, cipher: createCipher([newKey, oldKey]) }, column, () => {})
      const rewritten = { ...deps, cipher: createCipher([newKey]) }
      await testbed.db.query(sql`update ledger_trees set checkpoint_at = null`)
      expect(await getCheckpoint(rewritten, other, {})).toMatchObject({ treeSize: 0 })
      expect(await listLedgerKeys(testbed.db)).toHaveLength(1)
    } finally {
      await testbed.close()
    }
  })
})

test('a restore is signed before the first checkpoint of the history that follows it', async () => {
  const tenantId = await tenantWith(3)
  await growTree(money.db, tenantId)
  await money.db.query(sql`
    insert into ledger_restores (tenant_id, restore_id, tree_size, restored_at)
    values (${tenantId}, ${money.deps.ids.uuid()}, 3, '2026-12-02T08:00:00Z')`)
  const { note } = await getCheckpoint(books, tenantId, {})
  const { restores } = await getTenantKeys(money.db, money.deps.config, tenantId)
  const origin = note.split('\n')[0]!
  expect(await verifyRestore(restores[0]!, origin, await keysOf(tenantId))).toEqual({
    treeSize: 3,
    time: '2026-12-02T08:00:00.000Z',
  })
})
