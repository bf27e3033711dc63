import { randomInt } from 'node:crypto'
import { orderNoOf } from '@dealer-esim/contract'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import { createSimulator } from '@dealer-esim/wholesaler-simulators'
import { HELD, UNSETTLED } from '@dealer-esim/wholesalers/unsettled.ts'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ItemStatus, orderStatusOf } from '#orders/order-item.ts'
import { updateSales } from '#sales/update-sales.ts'
import { ensureBalance } from '#suppliers/balance/balance-state.ts'
import { listPriceDifferences, type PriceDifference, streamPriceDifferences } from '#suppliers/supplier-prices.ts'
import { addPackage } from '#test/harness/shop.ts'
import { firstProduct } from '#test/wholesalers/simulator-fixtures.ts'
import { addTenant, type ConsoleTestbed, REAUTHENTICATION, signedInAs, startConsole } from './console-testbed.ts'

let testbed: ConsoleTestbed
let admin: Awaited<ReturnType<typeof signedInAs>>
beforeAll(async () => {
  testbed = await startConsole()
  admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
})
afterAll(() => testbed.stop())

const SECRET = 'a-secret-of-the-upstream'
const CONFIG = { url: 'https://upstream.test', appKey: 'ak_0123456789', appSecret: SECRET }

function add(supplier: string, more: Record<string, unknown> = {}) {
  return admin.call('POST', '/suppliers', { ...REAUTHENTICATION, supplier, type: 'gateway', config: CONFIG, ...more })
}

async function storedConfig(supplier: string) {
  const [row] = await testbed.db.query<{ config: Buffer }>({
    text: 'select config from suppliers where supplier = $1',
    values: [supplier],
  })
  return JSON.parse(testbed.deps.cipher.decrypt(row!.config, `supplier:${supplier}`).toString())
}

describe('adding a supplier', () => {
  it('requires the password, stores the configuration encrypted, and never exposes its secrets', async () => {
    expect((await add('upstream', { password: 'a guess' })).body.message).toContain('password is wrong')
    expect((await add('upstream')).status).toBe(200)
    expect(await storedConfig('upstream')).toEqual(CONFIG)
    const { body } = await admin.call('GET', '/suppliers/upstream/config')
    const { appSecret: _, ...visible } = CONFIG
    expect(body).toEqual({ supplier: 'upstream', type: 'gateway', config: visible, secrets: ['appSecret'] })
    const log = await admin.call('GET', '/audit?action=supplier.add')
    expect(log.body.entries[0]).toMatchObject({ subject: 'upstream', after: { type: 'gateway' } })
    expect(JSON.stringify(log.body)).not.toContain(SECRET)
  })

  it('fails with a reason for a duplicate name, an unknown type or an invalid configuration', async () => {
    expect((await add('upstream')).body).toMatchObject({ code: 'SUPPLIER_EXISTS' })
    expect((await add('other', { type: 'pigeon' })).body.message).toContain('The type must be one of')
    const { body } = await add('other', { config: { ...CONFIG, appKey: 'short', extra: 1 } })
    expect(body.message).toContain('appKey must be 8 to 64 letters')
    expect(body.message).toContain('unknown member extra')
    expect(body.data.fields).toMatchObject({ appKey: expect.stringMatching(/^It must be 8 to 64 letters/) })
  })

  it('reports a missing daily limit at its fields, without mentioning JSON or commands', async () => {
    const { body } = await add('other', { type: 'zendit', config: { apiKey: 'a-key-of-zendit' } })
    expect(body.message).toBe(
      'A supplier of type zendit needs dailySpendLimit (an amount and a currency) until a purchase has verified the supplier.',
    )
    expect(Object.keys(body.data.fields)).toEqual(['dailySpendLimit.amount', 'dailySpendLimit.currencyCode'])
    const { types } = (await admin.call('GET', '/supplier-types')).body
    const limited = types.filter(({ needsLimit }: { needsLimit: boolean }) => needsLimit)
    expect(limited.map(({ type }: { type: string }) => type)).toContain('zendit')
    expect(limited.map(({ type }: { type: string }) => type)).not.toContain('stock')
  })

  it('is refused to staff and read-only operators, who cannot read configurations either', async () => {
    for (const role of ['OPERATOR_STAFF', 'OPERATOR_READ_ONLY'] as const) {
      const other = await signedInAs(testbed, role)
      expect((await other.call('GET', '/suppliers/upstream/config')).status).toBe(403)
      const body = { ...REAUTHENTICATION, supplier: 'x', type: 'stock', config: {} }
      expect((await other.call('POST', '/suppliers', body)).status).toBe(403)
    }
  })
})

describe('a supplier’s state', () => {
  const rowOf = async (supplier: string) => {
    const { body } = await admin.call('GET', '/suppliers')
    return body.suppliers.find((one: { supplier: string }) => one.supplier === supplier)
  }
  const failing = async () => (await admin.call('GET', '/dashboard')).body.attention.failingSuppliers

  it('is the result of the test after it was added or changed, and a failure needs attention', async () => {
    const simulator = await createSimulator('esim-access', { catalogueSize: 3 })
    try {
      const before = await failing()
      const config = {
        ...{ url: simulator.url, ...simulator.credentials },
        dailySpendLimit: { amount: '1000', currencyCode: 'USD' },
      }
      const added = await add('wrong', { type: 'esim-access', config: { ...config, secretKey: 'f'.repeat(32) } })
      expect(added.body).toEqual({ works: false, words: expect.stringMatching(/secretKey/) })
      expect(await rowOf('wrong')).toMatchObject({
        ...{ state: 'FAILING', seenBy: 'TEST', failure: added.body.words },
        failingSince: expect.any(String),
      })
      expect(await failing()).toBe(before + 1)
      const changed = await admin.call('PUT', '/suppliers/wrong/config', { ...REAUTHENTICATION, config })
      expect(changed.body).toEqual({ works: true, words: null })
      expect(await rowOf('wrong')).toMatchObject({ state: 'WORKING', seenBy: 'TEST', failure: null })
      expect(await failing()).toBe(before)
    } finally {
      await simulator.close()
    }
    const tested = await admin.call('POST', '/suppliers/wrong/test')
    expect(tested.body).toEqual({ works: false, words: expect.any(String) })
    expect(await rowOf('wrong')).toMatchObject({ state: 'FAILING', failure: tested.body.words })
    // Nothing is bought from a paused supplier, so nobody has to act.
    const attention = await failing()
    await admin.call('POST', '/suppliers/wrong/pause')
    expect(await failing()).toBe(attention - 1)
  })

  it('is “not tested” until it is observed, as for a supplier added by an earlier release', async () => {
    await testbed.db.query({
      text: `insert into suppliers (supplier, type, config) values ('old', 'stock', '')`,
    })
    expect(await rowOf('old')).toMatchObject({ state: 'NOT_TESTED', seenAt: null, failingSince: null })
  })
})

describe('changing a configuration', () => {
  const put = (config: Record<string, unknown>) =>
    admin.call('PUT', '/suppliers/upstream/config', { ...REAUTHENTICATION, config })

  it('keeps omitted secrets, and logs the names of the changed members', async () => {
    const { appSecret: _, ...visible } = CONFIG
    expect((await put({ ...visible, timeoutMs: 9_000 })).status).toBe(200)
    expect(await storedConfig('upstream')).toEqual({ ...CONFIG, timeoutMs: 9_000 })
    const log = await admin.call('GET', '/audit?action=supplier.set')
    expect(log.body.entries[0].after).toEqual({ changed: ['timeoutMs'] })
  })

  it('never sends a stored secret to a different address', async () => {
    const { appSecret: _, ...visible } = CONFIG
    const { status, body } = await put({ ...visible, url: 'https://attacker.test' })
    expect([status, body.message]).toEqual([422, expect.stringContaining('Enter appSecret again')])
    expect((await storedConfig('upstream')).url).toBe(CONFIG.url)
    expect((await put({ ...CONFIG, url: 'https://moved.test', appSecret: 'another-secret' })).status).toBe(200)
    expect(await storedConfig('upstream')).toEqual({
      ...CONFIG,
      url: 'https://moved.test',
      appSecret: 'another-secret',
    })
  })

  it('can replace a configuration that this master key cannot read', async () => {
    await testbed.db.query({
      text: `insert into suppliers (supplier, type, config) values ('sealed', 'gateway', 'another key')`,
    })
    const { body } = await admin.call('GET', '/suppliers/sealed/config')
    expect(body).toEqual({ supplier: 'sealed', type: 'gateway', config: null, secrets: [] })
    const replaced = await admin.call('PUT', '/suppliers/sealed/config', { ...REAUTHENTICATION, config: CONFIG })
    expect(replaced.status).toBe(200)
    expect(await storedConfig('sealed')).toEqual(CONFIG)
  })
})

describe('supplier reports', () => {
  const reports = '/supplier-reports'
  beforeAll(async () => {
    expect((await add('reporter')).status).toBe(200)
  })

  /** An order for one eSIM, placed long ago. */
  async function addOldOrder(
    tenantId: string,
    time: string,
    item: { status: ItemStatus; cost?: number; charge?: number },
  ) {
    const orderId = `${firstUuidAt(Date.parse(time)).slice(0, 24)}${tenantId.slice(-10)}${randomInt(16, 256).toString(16)}`
    const orderNo = orderNoOf(orderId)
    await testbed.db.query({
      text: `insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
               wallet_version, package_lines, status_history, event_sequence, created_at, updated_at)
             values ($1, $2, $3, $5, 500, 'USD', 0, 1, '[{}]', '[]', 1, $4, $4)`,
      values: [tenantId, orderId, orderNo, time, orderStatusOf([{ itemStatus: item.status, asked: true }])],
    })
    await testbed.db.query({
      text: `insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, item_status, supplier,
               cost, cost_currency, supplier_charge, supplier_charge_currency, updated_at)
             values ($1, $2, 1, 0, 'P', 500, $3, 'reporter', $4, 'USD', $5, case when $5::bigint is not null then 'USD' end, $6)`,
      values: [tenantId, orderId, item.status, item.cost ?? null, item.charge ?? null, time],
    })
    if (item.status === 'WAITING')
      await testbed.db.query({ text: 'update orders set due_at = created_at where order_id = $1', values: [orderId] })
    return orderNo
  }

  it('sum a month’s orders from its first moment to its last, by supplier and currency', async () => {
    const tenantId = await addTenant(testbed, 'Reported')
    for (const [time, item] of [
      ['2026-01-31T23:59:59.999Z', { status: 'DELIVERED', cost: 1_000 }],
      ['2026-02-01T00:00:00.000Z', { status: 'DELIVERED', cost: 300 }],
      ['2026-02-14T12:00:00.000Z', { status: 'REFUSED' }],
      ['2026-02-28T23:59:59.999Z', { status: 'DELIVERED', cost: 300, charge: 350 }],
      ['2026-03-01T00:00:00.000Z', { status: 'DELIVERED', cost: 1_000 }],
    ] as const)
      await addOldOrder(tenantId, time, item)
    await testbed.db.query({
      text: `insert into sales_progress (tenant_id, wallet_version, open_days, dirty_days)
             values ($1, 0, '{}', '{2026-01-31,2026-02-01,2026-02-14,2026-02-28,2026-03-01}')`,
      values: [tenantId],
    })
    await updateSales(testbed.db)
    const { body } = await admin.call('GET', `${reports}/months?month=2026-02`)
    const ofReporter = { supplier: 'reporter', currencyCode: 'USD', cancelled: 0, underReview: 0, orphans: 0 }
    const amounts = { sales: 1_500, refunds: 500, cost: 650, costCurrency: 'USD', charged: 1, chargedCost: 350 }
    expect(body.months).toEqual([{ ...ofReporter, delivered: 2, refused: 1, ...amounts }])
    const file = await admin.call('GET', `${reports}/months.csv?month=2026-02`)
    expect(parse(String(file.body), { bom: true, columns: true })).toMatchObject([
      { month: '2026-02', supplier: 'reporter', delivered: '2', sales: '0.15', cost: '0.065', charged: '1' },
    ])
    expect((await admin.call('GET', `${reports}/months?month=2026-13`)).status).toBe(400)
  })

  it('list that month’s orders without eSIMs and eSIMs without orders, newest first', async () => {
    const tenantId = await addTenant(testbed, 'Discrepant')
    const stuck = await addOldOrder(tenantId, '2026-04-03T00:00:00.000Z', { status: 'WAITING' })
    const doubted = await addOldOrder(tenantId, '2026-04-20T00:00:00.000Z', { status: 'REVIEW' })
    await addOldOrder(tenantId, '2026-05-01T00:00:00.000Z', { status: 'REVIEW' })
    await testbed.db.query({
      text: `insert into unclaimed_esims (supplier, key, iccid, found_at)
             values ('reporter', 'KEY', '8985001', '2026-04-10T00:00:00Z')`,
    })
    const { body } = await admin.call('GET', `${reports}/discrepancies?month=2026-04`)
    expect(body).toMatchObject({
      discrepancies: [
        { kind: 'ORDER_WITHOUT_ESIM', tenantId, orderNo: doubted, itemNo: 1, detail: 'REVIEW' },
        { kind: 'ESIM_WITHOUT_ORDER', tenantId: null, orderNo: null, iccid: '8985001' },
        { kind: 'ORDER_WITHOUT_ESIM', tenantId, orderNo: stuck, detail: 'WAITING' },
      ],
      omitted: 0,
      isComplete: true,
    })
    const file = await admin.call('GET', `${reports}/discrepancies.csv?month=2026-04`)
    const lines = parse(String(file.body), { bom: true, columns: true }) as Record<string, string>[]
    expect(lines.map((line) => line.orderNo)).toEqual([doubted, '', stuck])
  })

  it('list all discrepancies in the file, and say on the page at least how many are left out', async () => {
    const count = 10_100
    await testbed.db.query({
      text: `insert into unclaimed_esims (supplier, key, iccid, found_at)
             select 'reporter', 'KEY', 'many-' || i, '2026-06-01'::timestamptz + i * interval '4 minutes'
             from generate_series(0, $1::integer) i`,
      values: [count - 1],
    })
    const file = await admin.call('GET', `${reports}/discrepancies.csv?month=2026-06`)
    const lines = parse(String(file.body), { bom: true, columns: true }) as Record<string, string>[]
    expect(lines.map((line) => line.iccid)).toEqual(Array.from({ length: count }, (_, i) => `many-${count - 1 - i}`))
    const { body } = await admin.call('GET', `${reports}/discrepancies?month=2026-06`)
    expect(body.discrepancies).toHaveLength(200)
    expect(body).toMatchObject({ omitted: count - 200, isComplete: false })
  })

  it('list each price difference exactly once across all pages', async () => {
    for (const packageCode of ['PAGED-1', 'PAGED-2', 'PAGED-3'])
      await addPackage(testbed.db, packageCode, [
        { supplier: 'reporter', productCode: 'PAGED', cost: 100n },
        { supplier: 'upstream', productCode: 'PAGED', cost: 100n },
      ])
    await testbed.db.query({
      text: `insert into supplier_prices (supplier, product_code, currency_code, price, seen_at)
             select supplier, 'PAGED', 'USD', 120, now() from unnest(array['reporter', 'upstream']) supplier`,
    })
    const all = await listPriceDifferences(testbed.db, { limit: 1_000 })
    expect(all.filter(({ productCode }) => productCode === 'PAGED')).toHaveLength(6)
    for (const limit of [1, 2, 4, all.length]) {
      const read: PriceDifference[] = []
      for await (const rows of streamPriceDifferences(testbed.db, limit)) read.push(...rows)
      expect(read).toEqual(all)
    }
    await testbed.db.query({ text: `delete from supplier_prices where product_code = 'PAGED'` })
  })

  it('list packages on sale whose supplier charges a price other than the recorded cost', async () => {
    await addPackage(testbed.db, 'DEARER', [{ supplier: 'reporter', productCode: 'D', cost: 100n }])
    await testbed.db.query({
      text: `insert into supplier_prices (supplier, product_code, currency_code, price, seen_at)
             values ('reporter', 'D', 'USD', 120, now())`,
    })
    const ofPackage = async () => {
      const { body } = await admin.call('GET', `${reports}/prices`)
      return body.prices.filter((row: { packageCode: string }) => row.packageCode === 'DEARER')
    }
    expect(await ofPackage()).toMatchObject([{ supplier: 'reporter', productCode: 'D', price: 120, cost: 100 }])
    const file = String((await admin.call('GET', `${reports}/prices.csv`)).body)
    expect(file).toContain('reporter,DEARER,D,0.012,0.01,USD')
    await testbed.db.query({ text: `update package_suppliers set cost_price = 120 where package_code = 'DEARER'` })
    expect(await ofPackage()).toEqual([])
  })
})

describe('verifying a supplier', () => {
  it('shows the price and what is unproven, and buys only after an administrator enters the password', async () => {
    const simulator = await createSimulator('zendit', { catalogueSize: 3 })
    try {
      const dailySpendLimit = { amount: '1000', currencyCode: 'USD' }
      const config = { url: simulator.url, ...simulator.credentials, dailySpendLimit }
      expect((await add('zen', { type: 'zendit', config })).status).toBe(200)
      await testbed.deps.suppliers.refresh()
      const { supplier } = testbed.deps.suppliers.get('zen')!
      const buy = await firstProduct(supplier)
      const verify = (more: object, by = admin) =>
        by.call('POST', '/suppliers/zen/verify', { ...REAUTHENTICATION, buy, ...more })
      const shown = async (): Promise<object> => {
        const { suppliers } = (await admin.call('GET', '/suppliers')).body
        return suppliers.find((one: { supplier: string }) => one.supplier === 'zen')
      }
      expect(await shown()).toMatchObject({ heldAgainst: HELD.zendit, unsettled: UNSETTLED.zendit, verifiedAt: null })
      expect((await verify({}, await signedInAs(testbed, 'OPERATOR_STAFF'))).status).toBe(403)
      expect((await verify({ password: 'a guess' })).body.message).toContain('password is wrong')
      // A confirmation replaces the password.
      const { confirmation } = (await admin.call('POST', '/account/confirm/password', REAUTHENTICATION)).body
      expect((await verify({ password: undefined, confirmation })).body).toMatchObject({ code: 'NOT_CONFIRMED' })
      const stated = await verify({})
      expect(stated.body).toMatchObject({ code: 'NOT_CONFIRMED' })
      const [, price] = /costs (\d+\.\d+) USD at zen\. This is a real purchase/.exec(stated.body.message)!
      expect((await verify({ confirm: '0.01' })).body.code).toBe('NOT_CONFIRMED')
      expect(simulator.counters().taken).toBe(0)
      expect((await verify({ confirm: price })).body).toMatchObject({ cancelled: true, message: null })
      expect(simulator.counters()).toMatchObject({ taken: 1, cancelled: 1 })
      const verified = { status: null, verifiedAt: expect.any(String), heldAgainst: [], unsettled: [] }
      expect(await shown()).toMatchObject(verified)
    } finally {
      await simulator.close()
    }
  })
})

describe('the balance', () => {
  it('shows the last reading of each day, with a level that read-only operators cannot set', async () => {
    const { db } = testbed
    await testbed.deps.suppliers.refresh()
    await db.tx((tx) => ensureBalance(tx, 'upstream'))
    await db.query({
      text: `update supplier_balances set amount = 700, currency_code = 'USD', read_at = now() where supplier = 'upstream'`,
    })
    await db.query({
      text: `insert into supplier_balance_readings (supplier, read_at, amount, currency_code)
             select 'upstream', date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' + t, a, c
             from (values (interval '-1 hour', 900, 'USD'), ('-2 hours', 950, 'USD'), ('-49 hours', 5, 'EUR'),
               ('0', 700, 'USD')) as r(t, a, c)`,
    })
    const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
    const reader = await signedInAs(testbed, 'OPERATOR_READ_ONLY')
    const path = '/suppliers/upstream/balance'
    expect((await reader.call('PUT', `${path}/alert`, { alertBelow: 800 })).status).toBe(403)
    expect((await staff.call('PUT', `${path}/alert`, { alertBelow: 800 })).status).toBe(200)
    const { body } = await reader.call('GET', `${path}?days=3`)
    expect(body).toMatchObject({ isStated: true, amount: 700, currencyCode: 'USD', message: null, alertBelow: 800 })
    expect(body.days.map(({ amount }: { amount: number | null }) => amount)).toEqual([null, 900, 700])
    expect(body.unexplained).toEqual([])
    await db.query({
      text: `insert into supplier_balance_days (supplier, day, currency_code, fell, rose, bought_min, bought_max, unexplained)
             select 'upstream', (now() at time zone 'utc')::date - d, 'USD', 45000, 0, 20000, 20000, u
             from (values (1, 25000), (2, 0), (3, null), (4, -7)) as r(d, u)`,
    })
    const { unexplained } = (await reader.call('GET', path)).body
    expect(
      unexplained.map(({ amount, currencyCode }: { amount: number; currencyCode: string }) => [amount, currencyCode]),
    ).toEqual([
      [25_000, 'USD'],
      [-7, 'USD'],
    ])
    const log = await admin.call('GET', '/audit?action=supplier.alert_below')
    expect(log.body.entries[0]).toMatchObject({ subject: 'upstream', after: { alertBelow: 800 } })
  })
})

it('each supplier type has a schema with marked secrets and a documentation page', async () => {
  const { types } = (await admin.call('GET', '/supplier-types')).body
  for (const { type, docs, config } of types) {
    expect([type, docs]).toEqual([type, expect.stringMatching(/^docs\/[a-z0-9-]+\.md$/)])
    for (const [member, schema] of Object.entries<{ title?: string; writeOnly?: boolean }>(config.properties)) {
      expect([type, member, schema.title]).toEqual([type, member, expect.any(String)])
      const isSecret = /secret|password|apiKey|^key$|accessCode/i.test(member)
      expect([type, member, schema.writeOnly ?? false]).toEqual([type, member, isSecret])
    }
  }
})
