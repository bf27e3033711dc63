import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addDealer, type Dealer, type Node, OPERATOR, startNode } from '@dealer-esim/gateway/test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '@dealer-esim/gateway/test/harness/databases/database.ts'
import { getCheckpoint } from '@dealer-esim/gateway/wallet/books/checkpoints.ts'
import { growTree } from '@dealer-esim/gateway/wallet/books/grow-tree.ts'
import { forgetOldKeys, rotateLedgerKey } from '@dealer-esim/gateway/wallet/books/ledger-keys.ts'
import { RECORD_LEDGER_RESTORE } from '@dealer-esim/gateway/wallet/books/record-restore.ts'
import { topUp } from '@dealer-esim/gateway/wallet/ledger/top-up-wallet.ts'
import { verifyLedger } from '@dealer-esim/gateway/wallet/verify/verify-ledger.ts'
import { command, environment } from '@dealer-esim/sdk/test/command.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'

/*
 * What docs/books.md promises: the database's owner changes entries, and the dealer's audit and the operator's ledger verify find
 * what they say they find.
 */

let database: TestDatabase
let node: Node
let dealer: Dealer
let cwd: string
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})
beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'dealer-esim-audit-'))
  dealer = await addDealer(node.deps, 100)
  await addEntries(7)
})
afterEach(() => rmSync(cwd, { recursive: true }))

async function addEntries(count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const reference = `INV-${index}-${Math.random()}`
    await topUp(node.deps, { tenantId: dealer.tenantId, amount: 10_000n * BigInt(index + 1), reference }, OPERATOR)
  }
}

const grow = () => growTree(node.deps.db, dealer.tenantId)

/** Runs `dealer-esim audit`; a checkpoint of this moment covers the entries. */
async function audit(...options: string[]) {
  await run(`update ledger_trees set checkpoint_at = null where tenant_id = $1`)
  const env = environment({ ...dealer, baseUrl: node.baseUrl })
  const { code, out, err } = await command(['audit', '--json', ...options], { cwd, env })
  return {
    code,
    err,
    ...(JSON.parse(out) as { verdict: string; entries: number; compared: number; finding: Finding | null }),
  }
}

interface Finding {
  entryNo: string | null
  message: string
}

async function verifyFaults(): Promise<string[]> {
  const faults: string[] = []
  const { tenantId } = dealer
  await verifyLedger(node.deps.db, {
    tenantId,
    onFault: ({ kind, message }) => kind === 'BOOKS' && faults.push(message),
  })
  return faults
}

/** Runs statements as the database's owner; `$1` is the tenant. */
async function run(...statements: string[]): Promise<void> {
  await node.deps.db.tx(async (tx) => {
    for (const text of statements) await tx.query({ text, values: [dealer.tenantId] })
  })
}

const STATE = ['--state', 'books.json']

const RENUMBER = (by: number, after: number) => [
  `update transfers set wallet_version = -wallet_version where tenant_id = $1 and wallet_version > ${after}`,
  `update transfers set wallet_version = -wallet_version + (${by}) where tenant_id = $1 and wallet_version < 0`,
  `update wallets set version = version + (${by}) where tenant_id = $1`,
]
const REBALANCE = [
  `update transfers t set balance_after = summed.balance from (
     select wallet_version, sum(case to_account when 'WALLET' then amount else -amount end) over (order by wallet_version) as balance
     from transfers where tenant_id = $1) as summed
   where tenant_id = $1 and t.wallet_version = summed.wallet_version`,
  `update wallets set balance = (select balance_after from transfers where tenant_id = $1 order by wallet_version desc limit 1)
   where tenant_id = $1`,
]
const COPY = (version: number) => `
  insert into transfers select tenant_id, ${version}, kind, from_account, to_account, amount, balance_after, order_id, item_no,
    'inserted', reason, actor, created_at from transfers where tenant_id = $1 and wallet_version = ${version - 1}`

/** What is done to the entries 1 to 8, of which 3 is the first that differs. */
const TAMPERINGS: [what: string, statements: string[]][] = [
  ['a changed reference', [`update transfers set reference = 'other' where tenant_id = $1 and wallet_version = 3`]],
  ['a changed amount', [`update transfers set amount = 1 where tenant_id = $1 and wallet_version = 3`]],
  [
    'a changed amount with all balances recomputed',
    [`update transfers set amount = 1 where tenant_id = $1 and wallet_version = 3`, ...REBALANCE],
  ],
  ['a deleted entry', [`delete from transfers where tenant_id = $1 and wallet_version = 3`]],
  [
    'a deleted entry, with the others renumbered',
    [`delete from transfers where tenant_id = $1 and wallet_version = 3`, ...RENUMBER(-1, 3), ...REBALANCE],
  ],
  ['an inserted entry, with the others renumbered', [...RENUMBER(1, 2), COPY(3), ...REBALANCE]],
  [
    'two entries in the other order',
    [
      `update transfers set wallet_version = -wallet_version where tenant_id = $1 and wallet_version in (3, 4)`,
      `update transfers set wallet_version = 7 + wallet_version where tenant_id = $1 and wallet_version < 0`,
      ...REBALANCE,
    ],
  ],
]

describe('an entry that a checkpoint covers', () => {
  test.each(TAMPERINGS)('%s is found and named by the next audit and by ledger verify', async (_, statements) => {
    await grow()
    expect(await audit(...STATE)).toMatchObject({ code: 0, verdict: 'EQUAL', entries: 8, compared: 0 })
    expect(await audit(...STATE)).toMatchObject({ code: 0, verdict: 'EQUAL', entries: 8, compared: 8 })
    expect(await verifyFaults()).toEqual([])
    await run(...statements)
    expect(await audit(...STATE)).toMatchObject({ code: 1, verdict: 'DIFFERS', finding: { entryNo: '3' } })
    expect((await verifyFaults())[0]).toMatch(/^Entry 3 is/)
  })

  test.each(TAMPERINGS)('%s is found even if the tree was computed again', async (what, statements) => {
    await grow()
    await audit(...STATE)
    await addEntries(2)
    await run(...statements)
    if (what !== 'a deleted entry') {
      await run(
        `delete from ledger_tiles where tenant_id = $1`,
        `update ledger_trees set size = 0 where tenant_id = $1`,
      )
      await grow()
    }
    expect(await audit(...STATE)).toMatchObject({ code: 1, finding: { entryNo: '3' } })
    expect((await verifyFaults()).join()).toMatch(
      what === 'a deleted entry'
        ? /Entry 3 is missing/
        : /checkpoint of 8 entries does not hold. One of the entries 1 to 8/,
    )
  })

  test('is found by the audit even by somebody with the signing key, who has signed all checkpoints again', async () => {
    await grow()
    await audit(...STATE)
    await run(
      ...TAMPERINGS[2]![1],
      `delete from ledger_checkpoints where tenant_id = $1`,
      `delete from ledger_tiles where tenant_id = $1`,
      `update ledger_trees set size = 0 where tenant_id = $1`,
    )
    await grow()
    await getCheckpoint(node.deps, dealer.tenantId, { treeSize: 8 })
    expect(await audit(...STATE)).toMatchObject({ code: 1, finding: { entryNo: '3' } })
    // Nothing in this database contradicts the new history, so nothing is promised.
    expect(await verifyFaults()).toEqual([])
  })

  test('is missed once it was the last one and is gone', async () => {
    await grow()
    await audit(...STATE)
    await run(
      `delete from transfers where tenant_id = $1 and wallet_version = 8`,
      `delete from ledger_tiles where tenant_id = $1`,
      `update ledger_trees set size = 0 where tenant_id = $1`,
      `update wallets set version = 7 where tenant_id = $1`,
      ...REBALANCE,
    )
    await grow()
    expect(await audit(...STATE)).toMatchObject({ code: 1, finding: { entryNo: '8' } })
    expect((await verifyFaults())[0]).toBe('There is a checkpoint of 8 entries, but the tree has 7.')
  })

  test('is not read again with --new-only, which still proves that the ledger was only continued', async () => {
    await grow()
    await audit(...STATE)
    await addEntries(3)
    await grow()
    expect(await audit(...STATE, '--new-only')).toMatchObject({ code: 0, entries: 11, compared: 0 })
    expect(await audit(...STATE)).toMatchObject({ code: 0, entries: 11, compared: 11 })
  })
})

describe('an entry before its first checkpoint', () => {
  test('can be changed unnoticed in what no balance depends on, which nothing promises to find', async () => {
    await run(...TAMPERINGS[0]![1])
    await grow()
    expect(await audit(...STATE)).toMatchObject({ code: 0 })
    expect(await verifyFaults()).toEqual([])
  })

  test('is named if its balance does not follow', async () => {
    await run(...TAMPERINGS[1]![1])
    await grow()
    expect(await audit()).toMatchObject({ code: 1, finding: { entryNo: '3' } })
  })
})

test('changed hashes and notes are reported by ledger verify', async () => {
  await grow()
  await getCheckpoint(node.deps, dealer.tenantId, {})
  const { db } = node.deps
  const tile = await db.query<{ hashes: Buffer }>({
    text: 'select hashes from ledger_tiles where tenant_id = $1',
    values: [dealer.tenantId],
  })
  await run(
    `update ledger_tiles set hashes = set_byte(hashes, 5 * 32, get_byte(hashes, 5 * 32) # 1) where tenant_id = $1`,
  )
  expect(await verifyFaults()).toEqual([expect.stringMatching(/^Entry 6 is not as it was/)])
  await db.query({
    text: 'update ledger_tiles set hashes = $2 where tenant_id = $1',
    values: [dealer.tenantId, tile[0]!.hashes],
  })
  expect(await verifyFaults()).toEqual([])
  await run(`update ledger_checkpoints set note = replace(note, 'time 2', 'time 3') where tenant_id = $1`)
  expect(await verifyFaults()).toEqual([expect.stringMatching(/^The note of a checkpoint of 8 entries is not genuine/)])
})

test('a restore is distinguished from tampering by the record that the gateway signs', async () => {
  await grow()
  await audit(...STATE)
  const backup = [
    `delete from transfers where tenant_id = $1 and wallet_version > 5`,
    `delete from ledger_tiles where tenant_id = $1`,
    `delete from ledger_checkpoints where tenant_id = $1`,
    `update ledger_trees set size = 0 where tenant_id = $1`,
    `update wallets set version = 5 where tenant_id = $1`,
    ...REBALANCE,
  ]
  await run(...backup)
  await node.deps.db.query({ text: RECORD_LEDGER_RESTORE, values: [node.deps.ids.uuid()] })
  await addEntries(6)
  await grow()
  expect(await audit(...STATE)).toMatchObject({ code: 0, verdict: 'EQUAL', restoredAt: 5, entries: 11, compared: 5 })
  expect(await audit(...STATE)).toMatchObject({ code: 0, restoredAt: null, compared: 11 })
})

describe('the key of a checkpoint', () => {
  test('may be replaced by one that it endorses, and by no other', async () => {
    await grow()
    await audit(...STATE)
    await rotateLedgerKey(node.deps, 0, OPERATOR)
    await run(
      `update ledger_keys set valid_from = valid_from - interval '1 second' where valid_until is null and $1::uuid is not null`,
    )
    const renewed = await audit(...STATE)
    expect(renewed).toMatchObject({ code: 1, finding: { message: expect.stringMatching(/not signed by a key/) } })
    await run(
      `update ledger_keys set valid_from = valid_from + interval '1 second' where valid_until is null and $1::uuid is not null`,
    )
    expect(await audit(...STATE)).toMatchObject({ code: 0 })
    await forgetOldKeys(node.deps.db)
  })

  test('is published for anybody', async () => {
    await getCheckpoint(node.deps, dealer.tenantId, {})
    const answer = await fetch(`${node.baseUrl}/.well-known/dealer-esim-keys`)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    const { keys, ...others } = (await answer.json()) as { keys: { publicKey: string }[] }
    expect(keys[0]!.publicKey).toMatch(/^[A-Za-z0-9+/]{43}=$/)
    expect(others).toEqual({})
  })
})

describe('--orders', () => {
  const list = (...rows: string[]) =>
    writeFileSync(join(cwd, 'orders.csv'), ['amount,transactionId', ...rows, ''].join('\r\n'))

  test('names the first row that differs on either side', async () => {
    await grow()
    list()
    expect(await audit('--orders', 'orders.csv')).toMatchObject({ code: 0 })
    list('4.50,T-1')
    const { finding } = await audit('--orders', 'orders.csv')
    expect(finding!.message).toBe('Line 2 of your list, T-1, is not in the ledger.')
  })
})

test.each([
  ['a state file of something else', ['--state', 'other.json'], 'other.json is not the state file of an audit'],
  ['a list without a header', ['--orders', 'other.json'], 'needs a first line with the columns'],
  ['a list that does not exist', ['--orders', 'none.csv'], 'none.csv cannot be read'],
])('%s is a usage error', async (_, options, message) => {
  writeFileSync(join(cwd, 'other.json'), '{}')
  const { code, err } = await command(['audit', ...options], {
    cwd,
    env: environment({ ...dealer, baseUrl: node.baseUrl }),
  })
  expect(code).toBe(2)
  expect(err).toContain(message)
})
