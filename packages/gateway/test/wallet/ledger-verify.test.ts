import { systemIds } from '@dealer-esim/lib/ids.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import sql, { type Sql } from 'sql-template-tag'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import type { LedgerFault } from '#wallet/verify/verification.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { checkToday, findLatestLedgerCheck } from '#wallet/verify/verify-loop.ts'
import { runOnNode, tablesOf } from '../harness/databases/tables.ts'
import { ALICE, createWalletTestbed, insertPaidOrder, refuseItems } from '../harness/wallets.ts'

let money: Awaited<ReturnType<typeof createWalletTestbed>>
let tenantId: string
/** 1 top-up 1000 · 2 order 50 (30 + 20) · 3 refund of its item 1 · 4 order 40 · 5 top-up 7 */
let first: string
let second: string

beforeAll(async () => {
  money = await createWalletTestbed()
})
afterAll(() => money.close())

beforeEach(async () => {
  tenantId = (await money.tenant()).tenantId
  await topUp(money.deps, { tenantId, amount: 1_000n, reference: 'A' }, ALICE)
  first = await insertPaidOrder(money.db, tenantId, [30n, 20n])
  await refuseItems(money.db, tenantId, first, [{ itemNo: 1, amount: 30n }])
  second = await insertPaidOrder(money.db, tenantId, [40n])
  await topUp(money.deps, { tenantId, amount: 7n, reference: 'B' }, ALICE)
})

async function faultsOf(id: string | 'all' = tenantId, pageRows = 2): Promise<LedgerFault[]> {
  const faults: LedgerFault[] = []
  const only = id === 'all' ? {} : { tenantId: id }
  const counts = await verifyLedger(money.db, { ...only, pageRows, onFault: (fault) => faults.push(fault) })
  expect(counts.faults).toBe(BigInt(faults.length))
  return faults
}

const kinds = (faults: LedgerFault[]) => [...new Set(faults.map((fault) => fault.kind))].sort()

test('a consistent ledger has no faults at any page size, and every entry is counted', async () => {
  for (const pageRows of [1, 2, 3, 5, 1_000]) {
    const faults: LedgerFault[] = []
    const counts = await verifyLedger(money.db, { tenantId, pageRows, onFault: (fault) => faults.push(fault) })
    expect({ ...counts, faults }).toEqual({ tenants: 1n, transfers: 5n, orders: 2n, faults: [] })
  }
})

/** Tampered rows, the kinds of faults that verify reports, and part of the messages. */
const TAMPERINGS: [what: string, () => Sql[], kinds: string[], words: string][] = [
  [
    'an edited balance',
    () => [sql`update wallets set balance = balance + 5 where tenant_id = ${tenantId}`],
    ['BALANCE'],
    'balance is 0.0952, the sum of its transfers 0.0947',
  ],
  [
    'an edited version',
    () => [sql`update wallets set version = 6 where tenant_id = ${tenantId}`],
    ['BALANCE'],
    'version is 6, but it has 5 transfers',
  ],
  [
    'a deleted transfer',
    () => [sql`delete from transfers where tenant_id = ${tenantId} and wallet_version = 3`],
    ['BALANCE', 'CHAIN', 'GAP', 'REFUND'],
    'Transfer 4 follows 2',
  ],
  [
    'a deleted last transfer',
    () => [sql`delete from transfers where tenant_id = ${tenantId} and wallet_version = 5`],
    ['BALANCE'],
    'sum of its transfers 0.094.',
  ],
  [
    'a deleted first transfer',
    () => [sql`delete from transfers where tenant_id = ${tenantId} and wallet_version = 1`],
    ['BALANCE', 'CHAIN', 'GAP'],
    'Transfer 2 follows 0',
  ],
  [
    'an edited balance_after',
    () => [sql`update transfers set balance_after = 1 where tenant_id = ${tenantId} and wallet_version = 1`],
    ['CHAIN'],
    'Transfer 1 moves 0.10 after a balance of 0.00 but records a balance of 0.0001',
  ],
  [
    'an edited amount',
    () => [sql`update transfers set amount = 8 where tenant_id = ${tenantId} and wallet_version = 5`],
    ['BALANCE', 'CHAIN'],
    'Transfer 5 moves 0.0008',
  ],
  [
    'a transfer dated earlier than the previous one',
    () => [
      sql`update transfers set created_at = created_at - interval '1 hour' where tenant_id = ${tenantId} and wallet_version = 4`,
    ],
    ['TIME'],
    'Transfer 4 is dated',
  ],
  [
    'an order booked against an account other than sales',
    () => [sql`update transfers set to_account = 'TOP_UPS' where tenant_id = ${tenantId} and wallet_version = 2`],
    ['ACCOUNTS'],
    'Transfer 2 has the kind ORDER but moves from WALLET to TOP_UPS',
  ],
  [
    'a top-up with reversed accounts',
    () => [
      sql`update transfers set from_account = 'WALLET', to_account = 'TOP_UPS' where tenant_id = ${tenantId} and wallet_version = 5`,
    ],
    ['ACCOUNTS', 'BALANCE', 'CHAIN'],
    'Transfer 5 has the kind TOP_UP',
  ],
  [
    'an order without its debit',
    () => [
      sql`update transfers set kind = 'ADJUSTMENT', reference = 'X', order_id = null, to_account = 'ADJUSTMENTS'
          where tenant_id = ${tenantId} and wallet_version = 4`,
    ],
    ['ORDER'],
    'refers to transfer 4 as its debit, which is not a debit of this order',
  ],
  [
    'a debit without its order',
    () => [
      sql`delete from order_items where tenant_id = ${tenantId} and order_id = ${second}`,
      sql`delete from orders where tenant_id = ${tenantId} and order_id = ${second}`,
    ],
    ['ORDER'],
    'Transfer 4 debits order',
  ],
  [
    'an order debited twice',
    () => [
      sql`insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, order_id,
                                 created_at)
          select tenant_id, 6, 'ORDER', 'WALLET', 'SALES', 40, balance - 40, ${second}, updated_at
          from wallets where tenant_id = ${tenantId}`,
      sql`update wallets set version = 6, balance = balance - 40 where tenant_id = ${tenantId}`,
    ],
    ['ORDER'],
    'Transfer 6 debits order',
  ],
  [
    'an order whose amount differs from its debit',
    () => [
      sql`update orders set amount = 41 where tenant_id = ${tenantId} and order_id = ${second}`,
      sql`update order_items set price = 41 where tenant_id = ${tenantId} and order_id = ${second}`,
    ],
    ['ORDER'],
    'costs 0.0041, but 0.004 was debited',
  ],
  [
    'an order whose balance differs from the one that its debit left',
    () => [sql`update orders set balance_after = 3 where tenant_id = ${tenantId} and order_id = ${second}`],
    ['ORDER'],
    'records a balance of 0.0003, but its debit left 0.094.',
  ],
  [
    'items that do not add up to the order',
    () => [sql`update order_items set price = 39 where tenant_id = ${tenantId} and order_id = ${second}`],
    ['ORDER'],
    'costs 0.004, but its items cost 0.0039',
  ],
  [
    'an edited refunded_amount',
    () => [sql`update orders set refunded_amount = 31 where tenant_id = ${tenantId} and order_id = ${first}`],
    ['REFUND'],
    'records refunds of 0.0031, but its refunds add up to 0.003.',
  ],
  [
    'a refused item without a refund',
    () => [
      sql`update order_items set item_status = 'REFUSED' where tenant_id = ${tenantId} and order_id = ${first} and item_no = 2`,
    ],
    ['REFUND'],
    'has refused or cancelled items of 0.002 without a refund',
  ],
  [
    'a refund of a delivered item',
    () => [
      sql`update order_items set item_status = 'DELIVERED' where tenant_id = ${tenantId} and order_id = ${first} and item_no = 1`,
    ],
    ['REFUND'],
    'which was neither refused nor cancelled',
  ],
  [
    'a refund of a nonexistent item',
    () => [sql`update transfers set item_no = 9 where tenant_id = ${tenantId} and wallet_version = 3`],
    ['REFUND'],
    'refunds item 9 of order',
  ],
  [
    'a refund of an amount other than the item’s price',
    () => [
      sql`update order_items set price = 29 where tenant_id = ${tenantId} and order_id = ${first} and item_no = 1`,
      sql`update order_items set price = 21 where tenant_id = ${tenantId} and order_id = ${first} and item_no = 2`,
    ],
    ['REFUND'],
    "which is not the item's price",
  ],
]

describe('verify finds', () => {
  test.each(TAMPERINGS)('%s', async (_, tamper, expected, words) => {
    await money.db.tx(async (tx) => {
      for (const statement of tamper()) tx.send(statement)
    })
    const faults = await faultsOf()
    expect(kinds(faults)).toEqual(expected)
    expect(faults.map((fault) => fault.message).join('\n')).toContain(words)
    expect(await faultsOf(tenantId, 1_000)).toEqual(faults)
  })

  test('an item refunded twice, with the unique index dropped', async () => {
    await money.db.query(sql`drop index transfers_refund`)
    await money.db.tx(async (tx) => {
      tx.send(sql`
        insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, order_id,
                               item_no, created_at)
        select tenant_id, 6, 'REFUND', 'REFUNDS', 'WALLET', 30, balance + 30, ${first}, 1, updated_at
        from wallets where tenant_id = ${tenantId}`)
      tx.send(sql`update wallets set version = 6, balance = balance + 30 where tenant_id = ${tenantId}`)
    })
    const faults = await faultsOf()
    expect(kinds(faults)).toEqual(['REFUND'])
    const messages = faults.map((fault) => fault.message).join('\n')
    expect(messages).toContain('refunded 0.006, more than its amount of 0.005')
    await money.db.query(sql`delete from transfers where tenant_id = ${tenantId} and wallet_version = 6`)
    await money.db.query(sql`
      create unique index transfers_refund on transfers (tenant_id, order_id, item_no) where kind = 'REFUND'`)
  })

  test('no fault in the refund for a delivered item whose profile was cancelled', async () => {
    await money.db.query(sql`
      update order_items set item_status = 'DELIVERED' where tenant_id = ${tenantId} and order_id = ${first}`)
    await money.db.query(sql`
      insert into profiles (tenant_id, profile_id, order_id, item_no, supplier, iccid, smdp_address, secrets, esim_status,
                            total_duration, duration_unit, created_at, updated_at)
      values (${tenantId}, ${systemIds.uuid()}, ${first}, 1, 's', '8900', 'x', '', 'CANCEL', 7, 'DAY', now(), now())`)
    expect(await faultsOf()).toEqual([])
  })

  test('movements and orders without a tenant, if the whole ledger is checked', async () => {
    const nobody = systemIds.uuid()
    await money.db.query(sql`
      insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, reference,
                             created_at)
      values (${nobody}, 1, 'TOP_UP', 'TOP_UPS', 'WALLET', 1, 1, 'R', now())`)
    const faults = (await faultsOf('all', 1_000)).filter((fault) => fault.tenantId === nobody)
    expect(kinds(faults)).toEqual(['WALLET'])
    await money.db.query(sql`delete from transfers where tenant_id = ${nobody}`)
  })

  test('a tenant without a wallet', async () => {
    const { tenantId: bare } = await money.tenant()
    await money.db.query(sql`delete from wallets where tenant_id = ${bare}`)
    expect(kinds(await faultsOf(bare))).toEqual(['WALLET'])
  })
})

test('one tenant can be checked alone', async () => {
  const { tenantId: other } = await money.tenant()
  await money.db.query(sql`update wallets set balance = 1 where tenant_id = ${other}`)
  expect(await faultsOf(tenantId)).toEqual([])
  expect(kinds(await faultsOf(other))).toEqual(['BALANCE'])
})

test('a nonexistent tenant is reported as not found', async () => {
  await expect(faultsOf('acme')).rejects.toMatchObject({ status: 404 })
})

test('movements during the check are not reported as faults', async () => {
  for (let round = 0; round < 20; round++) {
    // A new one each time: a check reads its whole history.
    const { tenantId } = await money.tenant()
    const move = (index: number) => topUp(money.deps, { tenantId, amount: 1n, reference: `M${index}` }, ALICE)
    for (let index = 0; index < 30; index++) await move(index)
    let isChecking = true
    const mover = (async () => {
      for (let index = 30; isChecking; index++) await move(index)
    })()
    try {
      expect(await faultsOf(tenantId, 3)).toEqual([])
    } finally {
      isChecking = false
      await mover
    }
  }
})

describe('the daily check', () => {
  const deps = () => ({ db: money.db, ids: systemIds, log: silentLog })
  const noticed = () =>
    money.db.query<{ message: string }>(sql`
    select message from alerts where kind = 'LEDGER_FAULT' order by alert_id`)

  test('runs once a day on one of many nodes, stores its result and alerts operators', async () => {
    // Removes the rows that earlier tests tampered with.
    const emptied = await tablesOf(money.db, 'tenants', 'transfers', 'orders', 'ledger_checks')
    await runOnNode(money.db, `truncate ${emptied} cascade`)
    const { tenantId } = await money.tenant()
    await money.db.query(sql`update wallets set balance = 1 where tenant_id = ${tenantId}`)
    const checks = await Promise.all(Array.from({ length: 5 }, () => checkToday(deps())))
    expect(checks.filter((counts) => counts !== undefined)).toHaveLength(1)
    const state = await findLatestLedgerCheck(money.db)
    const message = `Tenant ${tenantId}: The wallet's balance is 0.0001, the sum of its transfers 0.00.`
    expect(state).toMatchObject({ tenants: 1n, transfers: 0n, orders: 0n, faults: 1n, firstFaults: [message] })
    expect((await noticed()).at(-1)!.message).toContain('The daily check of the ledger found faults')
    expect(await checkToday(deps())).toBeUndefined()
  })

  test('is taken over from a node that died during the check', async () => {
    await money.db.query(sql`update ledger_checks set finished_at = null, started_at = now() - interval '5 hours'`)
    expect(await checkToday(deps())).toBeUndefined()
    await money.db.query(sql`update ledger_checks set started_at = now() - interval '7 hours'`)
    expect(await checkToday(deps())).toBeDefined()
  })

  test('can run on another node immediately after it was aborted', async () => {
    await money.db.query(sql`delete from ledger_checks`)
    const gone = AbortSignal.abort(new Error('stopping'))
    await expect(checkToday(deps(), gone)).rejects.toThrow('stopping')
    expect(await checkToday(deps())).toBeDefined()
  })
})
