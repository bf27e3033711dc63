import { leafText, type StatementEntry, verifyConsistency, verifyInclusion } from '@dealer-esim/contract'
import { leafHash, nodeHash } from '@dealer-esim/contract/tree'
import type { Db, Statement } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTreeGrower } from '#wallet/books/books-loop.ts'
import { getCheckpoint } from '#wallet/books/checkpoints.ts'
import { proveConsistency, proveEntry } from '#wallet/books/prove-entries.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { recordStatements } from '../harness/databases/statements.ts'
import { testLog } from '../harness/debugging.ts'
import { ALICE, createWalletTestbed } from '../harness/wallets.ts'

/*
 * What the books cost, counted: proofs and checkpoints at 10 000 and at 5 000 000 entries, and passes over idle dealers.
 *
 * All leaves of the large trees but one are equal, so that a few tiles make up the whole tree: a complete subtree has the same hash
 * everywhere, unless it contains the one entry.
 */

let money: Awaited<ReturnType<typeof createWalletTestbed>>
beforeAll(async () => {
  money = await createWalletTestbed(1) // the server counts per connection
})
afterAll(() => money.close())

const TILE_WIDTH = 32
const EQUAL_LEAF = leafHash('equal')

/** Inserts the tiles of a tree that the proofs of one entry read: those above it, and those at the end of each level. */
async function insertTree(entry: StatementEntry, size: number): Promise<string> {
  const { tenantId } = await money.tenant()
  await money.db.query(sql`insert into ledger_trees (tenant_id, size) values (${tenantId}, ${size})`)
  let [equal, own] = [EQUAL_LEAF, leafHash(leafText(entry))]
  let [level, count, position] = [0, size, Number(entry.entryNo) - 1]
  while (count > 0) {
    const hashAt = (at: number) => (at === position ? own : equal)
    for (const tile of new Set([position, count].map((at) => Math.floor(at / TILE_WIDTH)))) {
      const first = tile * TILE_WIDTH
      const hashes = Array.from({ length: Math.min(TILE_WIDTH, count - first) }, (_, index) => hashAt(first + index))
      if (hashes.length === 0) continue
      await money.db.query(sql`
        insert into ledger_tiles (tenant_id, level, tile, hashes)
        values (${tenantId}, ${level}, ${tile}, ${Buffer.concat(hashes)})`)
    }
    for (let width = TILE_WIDTH; width > 1; width /= 2) {
      own = position % 2 === 0 ? nodeHash(own, equal) : nodeHash(equal, own)
      equal = nodeHash(equal, equal)
      position = Math.floor(position / 2)
    }
    level += 1
    count = Math.floor(count / TILE_WIDTH)
  }
  return tenantId
}

function entryAt(entryNo: number): StatementEntry {
  const nothing = { orderNo: null, transactionId: null, esimTranNo: null, actionNo: null, keyLabel: null }
  const amounts = { amount: 10_000, balanceAfter: 10_000, currencyCode: 'USD' }
  const created = { reference: 'INV-1', createTime: '2026-11-20T13:28:09.000Z' }
  return { entryNo: String(entryNo), kind: 'WALLET_TOPUP', ...amounts, ...nothing, ...created } as StatementEntry
}

async function costsOf(size: number) {
  const entry = entryAt(Math.floor(size / 3))
  const tenantId = await insertTree(entry, size)
  const count = async <Answer>(run: (db: Db) => Promise<Answer>) => {
    const sent: { statement: string; rows: number }[] = []
    const answer = await run(recordStatements(money.db, sent))
    const tiles = sent.find(({ statement }) => statement === 'books-tiles')!.rows
    return { answer, cost: { statements: sent.length, tiles } }
  }
  const books = { ...money.deps, links: { publicUrl: 'https://esim.example.com' } }
  const fromSize = Number(entry.entryNo)
  const older = await getCheckpoint(books, tenantId, { treeSize: fromSize })
  const newer = await count((db) => getCheckpoint({ ...books, db }, tenantId, { treeSize: size }))
  const proof = await count((db) => proveEntry(db, tenantId, { entryNo: entry.entryNo, treeSize: size }))
  const consistency = await count((db) => proveConsistency(db, tenantId, { fromSize, toSize: size }))
  expect(await verifyInclusion(entry, proof.answer, newer.answer)).toBe(true)
  expect(await verifyConsistency(older, newer.answer, consistency.answer)).toBe(true)
  return { proof: proof.cost, consistency: consistency.cost, checkpoint: newer.cost }
}

test('a proof takes one statement at any size, and reads two tiles of a level', async () => {
  const [small, large] = [await costsOf(10_001), await costsOf(5_000_001)]
  // Three levels, and five: the entry's tile and the last one of each, which at the top are one.
  expect(small.proof).toEqual({ statements: 1, tiles: 5 })
  expect(large.proof).toEqual({ statements: 1, tiles: 9 })
  expect([small.consistency, large.consistency]).toEqual([small.proof, large.proof])
  expect(large.checkpoint.statements).toBe(small.checkpoint.statements)
  expect([small.checkpoint.tiles, large.checkpoint.tiles]).toEqual([3, 5])
})

test('a pass reads no wallet while nothing is posted, and finds the one with a new entry among 2 000', async () => {
  await money.db.query(sql`
    with added as (
      insert into tenants (tenant_id, tenant_name, app_key, currency_code)
      select gen_random_uuid(), 'Idle ' || n, 'ak_main_' || n, 'USD' from generate_series(1, 2000) n returning tenant_id)
    insert into wallets (tenant_id, currency_code) select tenant_id, 'USD' from added`)
  const rowsRead = async () => {
    await reportCounts()
    const [read] = await money.db.query<{ rows: number }>(sql`
      select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_user_tables
      where relname in ('wallets', 'ledger_trees')`)
    return read!.rows
  }
  const { tenantId } = await money.tenant()
  const grow = createTreeGrower({ db: money.db, log: testLog })
  await post(tenantId)
  await reportCounts()
  await grow()
  const before = await rowsRead()
  for (let passes = 0; passes < 10; passes++) await grow()
  expect((await rowsRead()) - before).toBe(0)
  await post(tenantId)
  await reportCounts()
  await grow()
  expect(await sizeOf(tenantId)).toBe(2n)
})

test('an entry that is posted while a pass reads wallets is found by the next pass', async () => {
  const { tenantId } = await money.tenant()
  let isPosted = false
  const db: Db = {
    ...money.db,
    async query<Row>(statement: Statement) {
      const rows = await money.db.query<Row>(statement)
      if (!isPosted && statement.text.includes('from wallets')) {
        isPosted = true
        await post(tenantId)
        await reportCounts()
      }
      return rows
    },
  }
  const grow = createTreeGrower({ db, log: testLog })
  await grow()
  expect([isPosted, await sizeOf(tenantId)]).toEqual([true, undefined])
  await grow()
  expect(await sizeOf(tenantId)).toBe(1n)
})

function post(tenantId: string) {
  return topUp(money.deps, { tenantId, amount: 10_000n, reference: `INV-${Math.random()}` }, ALICE)
}

/** Makes the only connection add its counts to the server's. */
async function reportCounts(): Promise<void> {
  await money.db.query({ text: 'select pg_stat_force_next_flush()' })
}

async function sizeOf(tenantId: string): Promise<bigint | undefined> {
  const [tree] = await money.db.query<{ size: bigint }>(
    sql`select size from ledger_trees where tenant_id = ${tenantId}`,
  )
  return tree?.size
}
