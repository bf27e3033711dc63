import { type LeafEntry, leafText, verifyBooksFile, verifyBooksHead } from '@dealer-esim/contract'
import { leafHash } from '@dealer-esim/contract/tree'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readBooks, writeBooksFile } from '#wallet/books/books-file.ts'
import { getCheckpoint } from '#wallet/books/checkpoints.ts'
import { growTree } from '#wallet/books/grow-tree.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { ALICE, insertPaidOrder } from '../harness/wallets.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from '../http/console/console-testbed.ts'

/* Books files: written by the gateway, judged by the verifier that the portal and the offline page use. */

const ENTRIES = 21

let bed: ConsoleTestbed
let tenantId: string
let dealer: Awaited<ReturnType<typeof signedInAs>>
beforeAll(async () => {
  bed = await startConsole()
  tenantId = await addTenant(bed, 'Acme Travel')
  dealer = await signedInAs(bed, 'DEALER_ADMIN', tenantId)
})
afterAll(() => bed.stop())

async function addEntries(count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    if (index % 3 === 2) await insertPaidOrder(bed.db, tenantId, [10_000n])
    else await topUp(bed.deps, { tenantId, amount: 20_000n, reference: `INV-${Math.random()}` }, ALICE)
  }
  await growTree(bed.db, tenantId)
}

async function collect(parts: AsyncIterable<string>): Promise<string[]> {
  const collected: string[] = []
  for await (const part of parts) collected.push(part)
  return collected
}

const path = () => `/tenants/${tenantId}/books`

async function download(query = ''): Promise<string[]> {
  const { status, body } = await dealer.call('GET', `${path()}/file${query}`)
  expect(status).toBe(200)
  return String(body).split('\n').slice(0, -1)
}

/** The file with one of its objects changed. Line 0 is the head. */
function changed(lines: readonly string[], line: number, change: (object: never) => void): string[] {
  const object = JSON.parse(lines[line]!) as never
  change(object)
  return lines.with(line, JSON.stringify(object))
}

interface Row {
  leaf: string
  entry: LeafEntry
}

/** Changes an entry, and its hash to fit. */
function forge(row: Row, change: Partial<LeafEntry>): void {
  row.entry = { ...row.entry, ...change }
  row.leaf = leafHash(leafText(row.entry)).toString('base64')
}

test('a ledger without a checkpoint has no file, and shows none', async () => {
  expect(await dealer.call('GET', path())).toMatchObject({ status: 200, body: { books: null } })
  const { status, body } = await dealer.call('GET', `${path()}/file`)
  expect({ status, body }).toMatchObject({ status: 404, body: { message: 'There is no such checkpoint.' } })
})

/** One hash in 64 begins with an A already. */
const otherHash = (hash: string) => (hash.startsWith('A') ? 'B' : 'A') + hash.slice(1)

describe('a file of the whole ledger', () => {
  let lines: string[]
  beforeAll(async () => {
    await addEntries(ENTRIES)
    const checkpoint = await dealer.call('POST', `${path()}/checkpoints`)
    expect(checkpoint).toMatchObject({ status: 200, body: { treeSize: ENTRIES } })
    lines = await download()
  })

  test('is shown with its note once', async () => {
    const { status, body } = await dealer.call('GET', path())
    expect(status).toBe(200)
    expect(JSON.stringify(body).split(JSON.stringify(body.books.note))).toHaveLength(2)
  })

  test('is equal, and names the checkpoint', async () => {
    expect(lines).toHaveLength(1 + ENTRIES)
    const result = await verifyBooksFile(lines)
    expect(result).toMatchObject({ verdict: 'EQUAL', from: 1, to: ENTRIES })
    expect(result.trusted?.checkpoint).toMatchObject({ treeSize: ENTRIES, origin: `gateway.test/${tenantId}` })
  })

  test('can be checked for each range of entries', async () => {
    const books = (await readBooks(bed.deps, tenantId))!
    for (let from = 1; from <= ENTRIES; from++) {
      for (let to = from; to <= ENTRIES; to++) {
        const range = { from: BigInt(from), to: BigInt(to) + 1n }
        const parts = await collect(writeBooksFile(bed.db, { tenantId, currencyCode: 'USD' }, books, range))
        const part = parts.join('').split('\n')
        expect(await verifyBooksFile(part)).toMatchObject({ verdict: 'EQUAL', from, to })
        const moved = changed(part, 0, (head: { from: number; to: number }) => {
          head.from += 1
          head.to += 1
        })
        expect((await verifyBooksFile(moved)).verdict).toBe('DIFFERS')
      }
    }
  })

  test.each<[string, number | null, (lines: string[]) => string[]]>([
    ['an amount', 4, (all) => changed(all, 4, (row: { entry: { amount: number } }) => row.entry.amount++)],
    [
      'a reference',
      5,
      (all) => changed(all, 5, (row: { entry: { reference: string } }) => (row.entry.reference = 'x')),
    ],
    ['a hash', 6, (all) => changed(all, 6, (row: { leaf: string }) => (row.leaf = otherHash(row.leaf)))],
    ['a removed entry', 7, (all) => all.toSpliced(7, 1)],
    [
      'an entry added at the end',
      ENTRIES + 1,
      (all) => [...all, changed(all, 21, (row: Row) => forge(row, { entryNo: '22', amount: 0 }))[21]!],
    ],
    ['an entry twice', 9, (all) => all.toSpliced(8, 0, all[8]!)],
    ['two entries in the other order', 10, (all) => all.with(10, all[11]!).with(11, all[10]!)],
    [
      'the note',
      null,
      (all) => changed(all, 0, (head: { note: string }) => (head.note = head.note.replace('time 2', 'time 1'))),
    ],
    ['no key', null, (all) => changed(all, 0, (head: { keys: unknown[] }) => (head.keys = []))],
  ])('with %s changed names the entry', async (_, entryNo, change) => {
    const { verdict, finding } = await verifyBooksFile(change(lines))
    expect({ verdict, entryNo: finding?.entryNo }).toEqual({
      verdict: entryNo === null && finding!.message.includes('no key') ? 'CANNOT_TELL' : 'DIFFERS',
      entryNo: entryNo === null ? null : String(entryNo),
    })
  })

  test('whose entry and hash were both changed does not lead to the root', async () => {
    const other = await download()
    const forged = changed(other, 3, (row: Row) => forge(row, { reference: 'another payment' }))
    const { verdict, finding } = await verifyBooksFile(forged)
    expect(verdict).toBe('DIFFERS')
    expect(finding).toMatchObject({ entryNo: null, message: expect.stringContaining('do not lead to the root') })
  })

  test.each<[string, (lines: string[]) => string[], string]>([
    ['ends too early', (all) => all.slice(0, 5), 'The file ends after entry 4, but should contain entries up to 21.'],
    ['was cut in a line', (all) => [...all.slice(0, 5), all[5]!.slice(0, 30)], 'The file ends after entry 4'],
    ['is another file', () => ['transactionId,amount', 'T-1,4.50'], 'This is not a books file.'],
    ['is empty', () => [], 'This is not a books file.'],
    ['has a line of something else', (all) => all.with(3, '{}'), 'This is not a books file.'],
  ])('that %s cannot be judged', async (_, change, message) => {
    const { verdict, finding } = await verifyBooksFile(change(lines))
    expect({ verdict, message: finding?.message }).toEqual({
      verdict: 'CANNOT_TELL',
      message: expect.stringContaining(message),
    })
  })

  test('is compared with the dealer’s own orders', async () => {
    const orders = lines
      .map((line) => JSON.parse(line).entry)
      .filter((entry) => entry?.kind === 'ORDER')
      .map(({ transactionId, amount }, index) => ({ transactionId, amount: -amount, line: index + 2 }))
    expect(orders).toHaveLength(ENTRIES / 3)
    expect((await verifyBooksFile(lines, { orders })).verdict).toBe('EQUAL')
    const dearer = orders.with(1, { ...orders[1]!, amount: 10_001 })
    expect((await verifyBooksFile(lines, { orders: dearer })).finding).toMatchObject({ entryNo: '6' })
    expect((await verifyBooksFile(lines, { orders: orders.slice(1) })).finding).toMatchObject({ entryNo: '3' })
  })
})

describe('a remembered checkpoint', () => {
  test('is continued by a later one, unless an entry of then was changed', async () => {
    const before = (await dealer.call('GET', path())).body.books
    const { pinnedKey } = (await verifyBooksHead(before)).trusted!
    const remembered = { pinnedKey, note: before.note as string }
    await addEntries(4)
    await getCheckpoint(bed.deps, tenantId, { treeSize: ENTRIES + 4 })
    const query = `?knownSize=${ENTRIES}`
    const { books } = (await dealer.call('GET', `${path()}${query}`)).body
    const result = await verifyBooksHead(books, remembered)
    expect(result).toMatchObject({ verdict: 'EQUAL', trusted: { isContinued: true, last: { treeSize: ENTRIES } } })
    expect((await verifyBooksFile(await download(query), { remembered })).verdict).toBe('EQUAL')
    const another = remembered.note.replace(/\n21\n(.)/, (_, first) => `\n21\n${first === 'A' ? 'B' : 'A'}`)
    expect((await verifyBooksHead(books, { pinnedKey, note: another })).verdict).toBe('CANNOT_TELL')
    expect(await verifyBooksHead({ ...books, consistency: null }, remembered)).toMatchObject({
      verdict: 'CANNOT_TELL',
      finding: {
        message: 'There is no proof between the checkpoint of 25 entries and the one of 21 entries that you know.',
      },
    })
    const { fromSize, hashes } = books.consistency
    const wrong = { ...books, consistency: { fromSize, hashes: hashes.toReversed() } }
    expect((await verifyBooksHead(wrong, remembered)).verdict).toBe('DIFFERS')
  })

  test('of a statement is compared with a later file from the first entry on', async () => {
    const earlier = await getCheckpoint(bed.deps, tenantId, { treeSize: 10 })
    const lines = await download()
    expect((await verifyBooksFile(lines, { earlierNote: earlier.note })).verdict).toBe('EQUAL')
    const other = await addTenant(bed, 'Third')
    const { note } = await getCheckpoint(bed.deps, other, {})
    expect((await verifyBooksFile(lines, { earlierNote: note })).verdict).toBe('CANNOT_TELL')
    await bed.db.query(sql`
      update ledger_tiles set hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 1) where tenant_id = ${tenantId} and level = 0`)
    const forged = await getCheckpoint(bed.deps, tenantId, { treeSize: 9 })
    await bed.db.query(sql`
      update ledger_tiles set hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 1) where tenant_id = ${tenantId} and level = 0`)
    expect(await verifyBooksFile(lines, { earlierNote: forged.note })).toMatchObject({
      verdict: 'DIFFERS',
      finding: { message: 'The entries 1 to 9 are not those of the earlier checkpoint.' },
    })
  })
})

test('a person who may only read signs a checkpoint of the newest entries', async () => {
  const reader = await signedInAs(bed, 'OPERATOR_READ_ONLY')
  const sign = async () => (await reader.call('POST', `${path()}/checkpoints`)).body.treeSize
  const before = await sign()
  await addEntries(1)
  await expect.poll(sign).toBe(before + 1) // at most one checkpoint a second
})

test('a file of a month has its entries, and another dealer has none of it', async () => {
  const [row] = await bed.db.query<{ month: string }>(sql`select to_char(now() at time zone 'utc', 'YYYY-MM') as month`)
  const response = await dealer.call('GET', `${path()}/file?month=${row!.month}`)
  expect(response.headers['content-disposition']).toBe(`attachment; filename="books-acme-travel-${row!.month}.jsonl"`)
  expect((await verifyBooksFile(String(response.body).split('\n'))).verdict).toBe('EQUAL')
  const empty = await download('?month=2020-01')
  expect(await verifyBooksFile(empty)).toMatchObject({ verdict: 'EQUAL', from: 1, to: 0 })
  const other = await signedInAs(bed, 'DEALER_ADMIN', await addTenant(bed, 'Other'))
  for (const [method, suffix] of [
    ['GET', ''],
    ['GET', '/file'],
    ['POST', '/checkpoints'],
  ] as const)
    expect((await other.call(method, `${path()}${suffix}`)).status).toBe(404)
})
