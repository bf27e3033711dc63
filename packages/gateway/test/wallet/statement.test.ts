import fc from 'fast-check'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { getStatementPage, type StatementEntry, streamEntries } from '#wallet/statement/statement-entries.ts'
import { firstVersionAt, getMonthStatement } from '#wallet/statement/statement-month.ts'
import { type ExplainedQuery, explainQueries, waitForBlockedStatements } from '../harness/databases/statements.ts'
import { ALICE, createWalletTestbed, insertPaidOrder } from '../harness/wallets.ts'

let money: Awaited<ReturnType<typeof createWalletTestbed>>
beforeAll(async () => {
  money = await createWalletTestbed()
})
afterAll(() => money.close())

/** Posts movements at the given times, each one unit larger than the last, of alternating kinds. */
async function plantHistory(moments: Date[]): Promise<string> {
  const { tenantId } = await money.tenant()
  let balance = 0n
  const rows = moments.map((createdAt, index) => {
    const amount = BigInt(index + 1)
    const into = index % 3 !== 1
    balance += into ? amount : -amount
    return { version: index + 1, createdAt, amount, into, balance }
  })
  await money.db.query(sql`
    insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, reference,
                           created_at)
    select ${tenantId}, version, case when into_wallet then 'TOP_UP' else 'ADJUSTMENT' end,
           case when into_wallet then 'TOP_UPS' else 'WALLET' end, case when into_wallet then 'WALLET' else 'ADJUSTMENTS' end,
           amount, balance, 'R' || version, created_at
    from unnest(${rows.map((row) => row.version)}::bigint[], ${rows.map((row) => row.into)}::boolean[],
                ${rows.map((row) => row.amount)}::bigint[], ${rows.map((row) => row.balance)}::bigint[],
                ${rows.map((row) => row.createdAt)}::timestamptz[])
      as planted (version, into_wallet, amount, balance, created_at)`)
  await money.db.query(sql`
    update wallets set version = ${rows.length}, balance = ${balance} where tenant_id = ${tenantId}`)
  return tenantId
}

async function entriesOf(tenantId: string, month: string): Promise<StatementEntry[]> {
  const { versions } = await getMonthStatement(money.db, tenantId, month)
  const entries: StatementEntry[] = []
  for await (const page of streamEntries(money.db, tenantId, versions)) entries.push(...page)
  return entries
}

const MONTHS = Array.from({ length: 14 }, (_, index) => new Date(Date.UTC(2025, 11 + index)).toISOString().slice(0, 7))

describe('a year of movements', () => {
  let tenantId: string
  const moments: Date[] = []
  beforeAll(async () => {
    // Unevenly over 2026, with an empty month, and in the first and last millisecond of months.
    for (let day = 0; day < 365; day += 1 + (day % 5)) {
      const moment = new Date(Date.UTC(2026, 0, 1 + day, 12))
      if (moment.getUTCMonth() !== 6) moments.push(moment)
    }
    for (const month of [1, 2, 3]) {
      moments.push(
        new Date(Date.UTC(2026, month)),
        new Date(Date.UTC(2026, month) - 1),
        new Date(Date.UTC(2026, month)),
      )
    }
    moments.sort((a, b) => a.getTime() - b.getTime())
    tenantId = await plantHistory(moments)
  })

  test('each month’s opening balance is the closing balance of the previous month', async () => {
    const statements = []
    for (const month of MONTHS) statements.push(await getMonthStatement(money.db, tenantId, month))
    expect(statements[0]).toMatchObject({ opening: 0n, closing: 0n })
    for (const [index, statement] of statements.entries()) {
      const next = statements[index + 1]
      if (!next) continue
      expect(next.opening).toBe(statement.closing)
      expect(next.versions.from).toBe(statement.versions.to)
    }
    const [wallet] = await money.db.query<{ balance: bigint }>(
      sql`select balance from wallets where tenant_id = ${tenantId}`,
    )
    expect(statements.at(-1)!.closing).toBe(wallet!.balance)
  })

  test.each(MONTHS)('the entries in %s are those dated in that month, and add up to its totals', async (month) => {
    const statement = await getMonthStatement(money.db, tenantId, month)
    const entries = await entriesOf(tenantId, month)
    const dated = moments.filter((moment) => moment.toISOString().startsWith(month))
    expect(entries.map((entry) => entry.createdAt)).toEqual(dated)
    expect(statement.closing - statement.opening).toBe(entries.reduce((sum, entry) => sum + entry.amount, 0n))
    for (const { kind, count, amount } of statement.totals) {
      const ofKind = entries.filter((entry) => entry.kind === kind)
      expect({ count, amount }).toEqual({
        count: ofKind.length,
        amount: ofKind.reduce((sum, entry) => sum + entry.amount, 0n),
      })
    }
  })

  test('pages of any size contain every movement once, newest first', async () => {
    for (const limit of [1, 7, 500]) {
      const versions: bigint[] = []
      for (let after: bigint | null | undefined; after !== null; ) {
        const page = await getStatementPage(money.db, tenantId, { limit, ...(after ? { after } : {}) })
        versions.push(...page.entries.map((entry) => entry.walletVersion))
        after = page.next
      }
      expect(versions).toEqual(moments.map((_, index) => BigInt(moments.length - index)))
    }
  })

  test('a filter by kind selects the movements of that kind, both in pages and in the file', async () => {
    const all = (await getStatementPage(money.db, tenantId, { limit: 500 })).entries
    const within = (await getMonthStatement(money.db, tenantId, '2026-03')).versions
    for (const kind of ['TOP_UP', 'ADJUSTMENT', 'ORDER'] as const) {
      const wanted = all.filter((entry) => entry.kind === kind)
      const paged: StatementEntry[] = []
      for (let after: bigint | undefined; ; ) {
        const page = await getStatementPage(money.db, tenantId, { limit: 7, kind, ...(after && { after }) })
        paged.push(...page.entries)
        if (page.next === null) break
        after = page.next
      }
      expect(paged).toEqual(wanted)
      const ofMonth = wanted.filter((one) => one.walletVersion >= within.from && one.walletVersion < within.to)
      const inFile: StatementEntry[] = []
      for await (const page of streamEntries(money.db, tenantId, within, kind)) inFile.push(...page)
      expect(inFile).toEqual(ofMonth.reverse())
    }
  })

  test('a page within a month ends at the end of the month', async () => {
    const { versions } = await getMonthStatement(money.db, tenantId, '2026-03')
    const page = await getStatementPage(money.db, tenantId, { limit: 500, within: versions })
    expect(page.next).toBeNull()
    expect(page.entries).toEqual((await entriesOf(tenantId, '2026-03')).reverse())
  })
})

test('a rare kind of movement is found without reading the many orders', async () => {
  const { tenantId } = await money.tenant()
  await money.db.query(sql`
    insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, order_id,
                           reference, created_at)
    select ${tenantId}, n, case n when 1 then 'TOP_UP' else 'ORDER' end, case n when 1 then 'TOP_UPS' else 'WALLET' end,
           case n when 1 then 'WALLET' else 'SALES' end, 1, 1, case when n > 1 then gen_random_uuid() end,
           case n when 1 then 'R' end, now()
    from generate_series(1, 20000) as n`)
  await money.db.query(sql`analyze transfers`)
  const seen: ExplainedQuery[] = []
  const db = explainQueries(money.db, seen)
  const { entries } = await getStatementPage(db, tenantId, { limit: 50, kind: 'TOP_UP' })
  for await (const _ of streamEntries(db, tenantId, { from: 1n, to: 20_001n }, 'TOP_UP'));
  expect(entries).toHaveLength(1)
  expect(seen).toHaveLength(2)
  for (const { pages } of seen) expect(pages).toBeLessThan(30)
})

test('the binary search finds the first version at a given time in any history', async () => {
  const times = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 30 }).map((list) => list.sort((a, b) => a - b))
  const property = fc.asyncProperty(times, fc.integer({ min: -1, max: 41 }), async (list, at) => {
    const tenantId = await plantHistory(list.map((time) => new Date(1_700_000_000_000 + time)))
    const found = await firstVersionAt(money.db, tenantId, BigInt(list.length), new Date(1_700_000_000_000 + at))
    const index = list.findIndex((time) => time >= at)
    expect(found).toBe(BigInt(index === -1 ? list.length + 1 : index + 1))
  })
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  console.log(`statement halving: SEED=${seed}`)
  await fc.assert(property, { seed, numRuns: 60 })
})

test('entries for an order and its refund contain the orderNo', async () => {
  const { tenantId } = await money.tenant()
  const orderId = await insertPaidOrder(money.db, tenantId, [30n, 20n])
  const { entries } = await getStatementPage(money.db, tenantId, { limit: 10 })
  expect(entries).toMatchObject([
    { kind: 'ORDER', amount: -50n, transactionId: `T-${orderId}`, itemNo: null, reference: null, actor: null },
  ])
  expect(entries[0]!.orderNo).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/)
})

test('the current month is incomplete, a past month is complete, a future month is empty', async () => {
  const { tenantId } = await money.tenant()
  await topUp(money.deps, { tenantId, amount: 5n, reference: 'R' }, ALICE)
  const [clock] = await money.db.query<{ month: string }>(
    sql`select to_char(now() at time zone 'utc', 'YYYY-MM') as month`,
  )
  const statement = await getMonthStatement(money.db, tenantId, clock!.month)
  expect(statement).toMatchObject({ complete: false, opening: 0n, closing: 5n })
  expect(await getMonthStatement(money.db, tenantId, '2020-02')).toMatchObject({ complete: true, closing: 0n })
  const future = await getMonthStatement(money.db, tenantId, '2999-01')
  expect(future).toMatchObject({ complete: false, opening: 5n, closing: 5n })
})

test('a statement waits for a movement in progress', async () => {
  const { tenantId } = await money.tenant()
  let statement: Promise<{ closing: bigint }> | undefined
  await money.db.tx(async (tx) => {
    await tx.query(sql`select from wallets where tenant_id = ${tenantId} for no key update`)
    let settled = false
    statement = getMonthStatement(money.db, tenantId, '2999-01').finally(() => {
      settled = true
    })
    await waitForBlockedStatements(money.db)
    expect(settled).toBe(false)
    tx.send(sql`update wallets set version = 1, balance = 9 where tenant_id = ${tenantId}`)
    tx.send(sql`
      insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, reference,
                             created_at)
      values (${tenantId}, 1, 'TOP_UP', 'TOP_UPS', 'WALLET', 9, 9, 'R', now())`)
  })
  expect(await statement).toMatchObject({ closing: 9n })
})

test.each(['2026', '2026-13', '2026-00', '26-01', '2026-1', 'x'])('“%s” is not a month', async (month) => {
  const { tenantId } = await money.tenant()
  await expect(getMonthStatement(money.db, tenantId, month)).rejects.toMatchObject({ code: 'MONTH_INVALID' })
})

test('a nonexistent tenant has no statement', async () => {
  await expect(getMonthStatement(money.db, 'x', '2026-01')).rejects.toMatchObject({ status: 404 })
})
