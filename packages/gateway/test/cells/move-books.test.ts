import { followEndorsements, trustCheckpoint, verifyCheckpoint, verifyConsistency } from '@dealer-esim/contract'
import { createDb, type Database, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { inCell, type Move } from '#cells/move/cell-session.ts'
import { abortMove } from '#cells/move/leftovers.ts'
import { findMove, insertMove } from '#cells/move/move-state.ts'
import { moveTenant } from '#cells/move/move-tenant.ts'
import { getCheckpoint, makeCheckpoint } from '#wallet/books/checkpoints.ts'
import { growTree } from '#wallet/books/grow-tree.ts'
import { getTenantKeys, rotateLedgerKey } from '#wallet/books/ledger-keys.ts'
import { proveConsistency } from '#wallet/books/prove-entries.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { addDealer, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { rowsOf } from './two-cells.ts'

/* The books of a dealer that is moved from cell main to cell eu1. */

let databases: TestDatabase[]
let node: Node
let targetDb: Database
let move: Move
let tenantId: string

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
beforeEach(async () => {
  ;({ tenantId } = await addDealer(node.deps))
  const cells = {
    source: { name: 'main', db: node.deps.db, nodes: [] },
    target: { name: 'eu1', db: targetDb, nodes: [] },
  }
  move = { moveId: node.deps.ids.uuid(), tenantId, ...cells }
  await node.deps.db.tx(async (tx) => insertMove(tx, move, 'OUT', OPERATOR.actor))
})

const source = () => ({ ...node.deps, config: { cellName: 'main' } })
const target = () => ({
  ...{ ...node.deps, db: targetDb, config: { cellName: 'eu1' } },
  links: { publicUrl: 'https://eu1.example.com' },
})
type Cell = ReturnType<typeof source> | ReturnType<typeof target>

async function addEntry(cell: Cell, reference: string): Promise<void> {
  await topUp(cell, { tenantId, amount: 10_000n, reference }, OPERATOR)
  await growTree(cell.db, tenantId)
}

function run(moved = move) {
  const { ids, cipher } = node.deps
  return moveTenant({ ids, cipher, by: OPERATOR, progress() {}, async route() {} }, moved)
}

type Query = Db['query']

/** The move, for a mover that calls `before` with each statement outside a transaction. */
function observed(before: (statement: Parameters<Query>[0]) => Promise<void>): Move {
  const observing = (db: Db): Db => ({
    pool: db.pool,
    tx: (work) => db.tx(work),
    async query(statement) {
      await before(statement)
      return db.query(statement)
    },
  })
  const { source: from, target: to } = move
  return { ...move, source: { ...from, db: observing(from.db) }, target: { ...to, db: observing(to.db) } }
}

const isEntering = (state: string, { values, text }: Parameters<Query>[0]) =>
  text.includes('update tenant_moves set state') && values?.includes(state) === true

/** Changes what the target has of the dealer after the comparison with the source, when the mover waits for the dealer's loops. */
function runWithTampering(text: string) {
  let isDone = false
  const tampered = observed(async (statement) => {
    if (isDone || !statement.text.includes('update tenant_moves set held_until')) return
    isDone = true
    await inCell(move.target, tenantId, (tx) => tx.query({ text, values: [tenantId] }))
  })
  return run(tampered)
}

const notesIn = async ({ db }: { db: Db }) => {
  const rows = await db.query<{ note: string }>({
    text: 'select note from ledger_checkpoints where tenant_id = $1 order by created_at',
    values: [tenantId],
  })
  return rows.map(({ note }) => note)
}
const statesOfMove = () =>
  Promise.all([move.source, move.target].map(async ({ db }) => (await findMove(db, tenantId))?.state))
const recordIn = async ({ db }: { db: Db }, action: string) => {
  const [entry] = await db.query<{ after: { books?: object } }>({
    text: 'select after from audit_log where tenant_id = $1 and action = $2',
    values: [tenantId, action],
  })
  return entry?.after.books
}
async function faultsIn({ db }: { db: Db }): Promise<string[]> {
  const faults: string[] = []
  await verifyLedger(db, { tenantId, onFault: ({ message }) => faults.push(message) })
  return faults
}

test('a moved dealer keeps its tree, its origin and its checkpoints, and can trust the keys of the new cell', async () => {
  await addEntry(source(), 'before')
  const older = await getCheckpoint(source(), tenantId, {})
  const [pinned] = (await getTenantKeys(node.deps.db, { cellName: 'main' }, tenantId)).keys
  await rotateLedgerKey(target(), 0, OPERATOR)
  await run()

  await addEntry(target(), 'after')
  const newer = await getCheckpoint(target(), tenantId, { treeSize: older.treeSize + 1 })
  expect(newer.note.split('\n')[0]).toBe(older.note.split('\n')[0])
  const { keys } = await getTenantKeys(targetDb, { cellName: 'eu1' }, tenantId)
  const trusted = await followEndorsements(pinned!.publicKey, keys)
  expect(await verifyCheckpoint(older.note, trusted)).toBeDefined()
  expect(await verifyCheckpoint(newer.note, trusted)).toBeDefined()
  const sizes = { fromSize: older.treeSize, toSize: newer.treeSize }
  expect(await verifyConsistency(older, newer, await proveConsistency(targetDb, tenantId, sizes))).toBe(true)
  expect(await faultsIn(target())).toEqual([])
})

test('the first checkpoint of the new cell continues the last one of the old cell before the dealer is served there', async () => {
  await addEntry(source(), 'covered')
  const last = await getCheckpoint(source(), tenantId, {})
  await addEntry(source(), 'not covered')
  const report = await run()
  const notes = await notesIn(target())
  expect(notes.slice(0, -1)).toEqual(await notesIn(source()))
  const { keys, restores } = await getTenantKeys(targetDb, { cellName: 'eu1' }, tenantId)
  const remembered = (await verifyCheckpoint(
    last.note,
    keys.map(({ publicKey }) => publicKey),
  ))!
  const trusted = await trustCheckpoint(
    { note: notes.at(-1)!, keys, restores },
    { pinnedKey: remembered.publicKey, note: last.note },
    (sizes) => proveConsistency(targetDb, tenantId, sizes),
  )
  expect(trusted).toMatchObject({ isContinued: true, checkpoint: { treeSize: last.treeSize + 1 } })
  const signed = (await verifyCheckpoint(
    notes.at(-1)!,
    keys.map(({ publicKey }) => publicKey),
  ))!
  expect(signed.publicKey).not.toBe(remembered.publicKey)
  const books = { lastSize: last.treeSize, firstSize: signed.treeSize, rootHash: signed.rootHash }
  expect(report.books).toEqual(books)
  expect(await recordIn(target(), 'tenant.moved_in')).toEqual(books)
  expect(await recordIn(source(), 'tenant.moved_out')).toEqual(books)
})

test('a dealer that never moved trusts the keys of a cell in which another one arrived', async () => {
  await addEntry(source(), 'before')
  await run()
  const { tenantId: neighbour } = await addDealer({ ...node.deps, db: targetDb })
  await growTree(targetDb, neighbour)
  const { note } = await getCheckpoint(target(), neighbour, {})
  const keys = await getTenantKeys(targetDb, { cellName: 'eu1' }, neighbour)
  const trusted = await trustCheckpoint({ note, ...keys }, {}, () => Promise.reject(new Error('nothing to continue')))
  expect(trusted).toMatchObject({ checkpoint: { treeSize: 1 }, isContinued: true })
})

test('a dealer without a checkpoint is moved, and its tree is named by its new cell', async () => {
  const report = await run()
  expect([report.books, await notesIn(target())]).toEqual([undefined, []])
  await growTree(targetDb, tenantId)
  expect((await getCheckpoint(target(), tenantId, {})).note).toMatch(`eu1.example.com/${tenantId}\n`)
  expect(await faultsIn(target())).toEqual([])
})

const CHANGED_HASH =
  'update ledger_tiles set hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 1) where tenant_id = $1'
const KEY_OF_NEW_CELL = `cell = 'eu1' and $1::uuid is not null`

test.each([
  ['a hash of its tree is changed', CHANGED_HASH, 'are not those that it covers'],
  ['hashes of its tree are removed', 'delete from ledger_tiles where tenant_id = $1', 'Hashes of the tree are missing'],
  ['its tree is cut', 'update ledger_trees set size = 1 where tenant_id = $1', 'the tree there has 1'],
  ['its key is not endorsed', `update ledger_keys set endorsement = null where ${KEY_OF_NEW_CELL}`, 'follows from'],
])('a move stops if %s in the new cell, and can be undone', async (_, text, reason) => {
  await addEntry(source(), 'covered')
  await getCheckpoint(source(), tenantId, {})
  await addEntry(source(), 'not covered')
  const kept = await notesIn(source())
  await expect(runWithTampering(text)).rejects.toMatchObject({
    code: 'BOOKS_DIFFER',
    message: expect.stringMatching(new RegExp(`${reason}.*Cell main serves the dealer again. Run the command again`)),
  })
  expect(await statesOfMove()).toEqual(['COPYING', 'COPYING'])
  expect(await notesIn(target())).toEqual(kept)
  await addEntry(source(), 'served again')
  await expectUndone()
})

test('a move that has stopped at the books compares and copies them when it is run again', async () => {
  await addEntry(source(), 'covered')
  await getCheckpoint(source(), tenantId, {})
  await expect(runWithTampering(CHANGED_HASH)).rejects.toThrow('do not continue its last checkpoint')
  expect((await run()).books).toMatchObject({ lastSize: 2, firstSize: 2 })
  expect(await faultsIn(target())).toEqual([])
})

test.each([
  ['transfers', `new.created_at := new.created_at + interval '1 second'`],
  ['ledger_tiles', 'new.hashes := set_byte(new.hashes, 0, get_byte(new.hashes, 0) # 1)'],
  ['ledger_checkpoints', `new.note := 'altered'`],
])('a move stops if a row of %s is altered in transit, and can be undone', async (table, change) => {
  await addEntry(source(), 'before')
  await getCheckpoint(source(), tenantId, {})
  await targetDb.query({
    text: `create or replace function alter_row() returns trigger language plpgsql as $$ begin ${change}; return new; end $$;
           create trigger alter_row before insert on ${table} for each row execute function alter_row()`,
  })
  await expect(run()).rejects.toThrow(`Rows of ${table} are not in the new cell as the old one sent them`)
  await targetDb.query({ text: `drop trigger alter_row on ${table}` })
  expect((await statesOfMove())[0]).toBe('COPYING')
  await addEntry(source(), 'served')
  await expectUndone()
})

async function expectUndone(): Promise<void> {
  await abortMove({ ids: node.deps.ids, by: OPERATOR }, move)
  expect(Object.values(await rowsOf({ db: targetDb }, tenantId)).flat()).toEqual([])
  expect(await faultsIn(source())).toEqual([])
}

/** The old cell serves the dealer again, and continues its books. */
async function endFence(): Promise<void> {
  const text = `update tenant_moves set fenced_until = '-infinity' where tenant_id = $1`
  await node.deps.db.query({ text, values: [tenantId] })
  await addEntry(source(), 'served again')
  await makeCheckpoint(source(), tenantId)
}

/** The move goes on with the books as the old cell has continued them: the dealer never sees what was signed before. */
async function expectReplaced(books: object | undefined, forgotten: string | undefined): Promise<void> {
  expect(books).toMatchObject({ lastSize: 3, firstSize: 3 })
  const notes = await notesIn(target())
  expect(notes.slice(0, -1)).toEqual(await notesIn(source()))
  expect(notes).not.toContain(forgotten)
  expect(await faultsIn(target())).toEqual([])
}

test('a move that is killed after its books were proved goes on, and what was signed then is replaced', async () => {
  await addEntry(source(), 'covered')
  await getCheckpoint(source(), tenantId, {})
  let isKilled = false
  const killed = observed(async (statement) => {
    isKilled ||= isEntering('VERIFIED', statement)
    if (isKilled) throw new Error('killed')
  })
  await expect(run(killed)).rejects.toThrow('killed')
  const forgotten = (await notesIn(target())).at(-1)!
  expect(await notesIn(source())).not.toContain(forgotten)
  await endFence()
  await expectReplaced((await run()).books, forgotten)
})

test('a move whose fence ends after its books were proved proves them again', async () => {
  await addEntry(source(), 'covered')
  await getCheckpoint(source(), tenantId, {})
  let forgotten: string | undefined
  const delayed = observed(async (statement) => {
    if (forgotten !== undefined || !isEntering('VERIFIED', statement)) return
    forgotten = (await notesIn(target())).at(-1)
    await endFence()
  })
  const { books } = await run(delayed)
  expect(forgotten).toBeDefined()
  await expectReplaced(books, forgotten)
})
