import { randomInt, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Dealer } from '#test/harness/api-node.ts'
import { createTestingTestbed, PRICE, type TestingTestbed } from './testing-testbed.ts'

let bed: TestingTestbed
beforeAll(async () => {
  bed = await createTestingTestbed()
})
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

const eventsOf = async ({ tenantId }: Dealer, type: string) => {
  const text = 'select content from events where tenant_id = $1 and notify_type = $2 order by notify_id'
  // biome-ignore lint/suspicious/noExplicitAny: the content of any event
  const rows = await bed.node.deps.db.query<{ content: any }>({ text, values: [tenantId, type] })
  return rows.map(({ content }) => content)
}

describe('test/balance/set', () => {
  it('posts a difference as an adjustment', async () => {
    const dealer = await bed.dealer(100)
    for (const balance of [400_000, 1_250_000, 1_250_000, -5_000]) {
      const { data } = await bed.json(dealer, 'test/balance/set', { balance })
      expect(data).toEqual((await bed.json(dealer, 'account/balance')).data)
      expect(data).toMatchObject({ balance })
    }
    const { entryList } = (await bed.json(dealer, 'account/statement', { kind: 'ADJUSTMENT' })).data
    const adjusted = entryList.map(({ amount, balanceAfter }: Record<string, number>) => [amount, balanceAfter])
    expect(adjusted).toEqual([
      [-1_255_000, -5_000],
      [850_000, 1_250_000],
      [-600_000, 400_000],
    ])
  })

  it('refuses a difference beyond the largest amount, and leaves room for refunds', async () => {
    const dealer = await bed.dealer(0)
    const set = async (balance: number) => (await bed.json(dealer, 'test/balance/set', { balance })).code
    expect(await set(Number.MAX_SAFE_INTEGER)).toBe('000000')
    expect(await set(-1)).toBe('000108')
    expect(await set(0)).toBe('000000')
    expect((await bed.json(dealer, 'test/balance/set', { balance: 1.5 })).code).toBe('000108')
    expect((await bed.json(dealer, 'account/balance')).data.balance).toBe(0)
    expect(await set(100 * PRICE)).toBe('000000')
    await bed.buy(dealer)
    expect(await set(Number.MAX_SAFE_INTEGER)).toBe('000108')
  })

  it('reports a low balance as a debit does', async () => {
    const dealer = await bed.dealer(100)
    const text = 'update wallets set low_balance_threshold = 500000 where tenant_id = $1'
    await bed.node.deps.db.query({ text, values: [dealer.tenantId] })
    await bed.json(dealer, 'test/balance/set', { balance: 240_000 })
    expect(await eventsOf(dealer, 'BALANCE_LOW')).toMatchObject([{ balance: 240_000, percent: 50 }])
  })

  it('keeps the ledger whole among simultaneous orders', async () => {
    const dealer = await bed.dealer(1_000)
    const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
    console.log(`SEED=${seed}`)
    let state = seed
    const draw = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31
      return state % below
    }
    const balances = Array.from({ length: 40 }, () => draw(100) * PRICE)
    const calls = balances.flatMap((balance) => [
      bed.json(dealer, 'test/balance/set', { balance }),
      ...Array.from({ length: draw(3) }, () => bed.buy(dealer, 'SANDBOX_REFUSED')),
    ])
    await Promise.all(calls)
    const { entryList } = (await bed.json(dealer, 'account/statement', { pageSize: 500 })).data
    let balance = 0
    for (const [index, entry] of entryList.toReversed().entries()) {
      balance += entry.amount
      expect(entry).toMatchObject({ entryNo: String(index + 1), balanceAfter: balance })
      if (entry.kind === 'ADJUSTMENT') expect(balances).toContain(balance)
    }
  })
})

describe('test/esim/update', () => {
  it('causes states, thresholds and events as a report of the supplier does', async () => {
    const dealer = await bed.dealer()
    const { esimTranNo, iccid, totalVolume } = await bed.delivered(dealer)
    const update = async (body: object) => (await bed.json(dealer, 'test/esim/update', { esimTranNo, ...body })).data
    expect(await update({ smdpStatus: 'INSTALLATION' })).toMatchObject({
      ...{ smdpStatus: 'INSTALLATION', esimStatus: 'IN_USE' },
      expiredTime: expect.any(String),
    })
    expect(await update({ smdpStatus: 'DOWNLOAD' })).toMatchObject({ smdpStatus: 'INSTALLATION' })
    expect(await update({ usedPercent: 81 })).toMatchObject({ orderUsage: Math.ceil((totalVolume * 81) / 100) })
    const byIccid = (await bed.json(dealer, 'test/esim/update', { iccid, orderUsage: totalVolume })).data
    expect(byIccid).toMatchObject({ esimTranNo, esimStatus: 'USED_UP', orderUsage: totalVolume })
    expect(byIccid).toEqual((await bed.json(dealer, 'esim/profile/list', { esimTranNo })).data.profileList[0])
    expect((await eventsOf(dealer, 'ESIM_USAGE')).map(({ threshold }) => threshold)).toEqual([50, 80, 100])
    const statuses = (await eventsOf(dealer, 'DELIVERY_UPDATED')).map(({ profiles }) => profiles[0]?.esimStatus)
    expect(statuses).toEqual(['GOT_RESOURCE', 'IN_USE', 'USED_UP'])
  })

  it('puts an unused eSIM into use once usage is reported', async () => {
    const dealer = await bed.dealer()
    const { esimTranNo } = await bed.delivered(dealer)
    const update = (usedPercent: number) => bed.json(dealer, 'test/esim/update', { esimTranNo, usedPercent })
    expect((await update(0)).data).toMatchObject({ esimStatus: 'GOT_RESOURCE', orderUsage: 0 })
    expect((await update(1)).data).toMatchObject({ esimStatus: 'IN_USE' })
    expect((await update(1_000)).data).toMatchObject({ esimStatus: 'USED_UP' })
    expect((await update(1_001)).code).toBe('000108')
  })

  it('refuses usage twice, no report, a percentage of no volume, and eSIMs that it does not find', async () => {
    const dealer = await bed.dealer()
    const { esimTranNo } = await bed.delivered(dealer, 'UNLIMITED')
    const codeOf = async (body: object) => (await bed.json(dealer, 'test/esim/update', body)).code
    expect(await codeOf({ esimTranNo, usedPercent: 1 })).toBe('000108')
    expect(await codeOf({ esimTranNo, orderUsage: 5 })).toBe('000000')
    expect(await codeOf({ esimTranNo, usedPercent: 1, orderUsage: 1 })).toBe('000108')
    expect(await codeOf({ esimTranNo })).toBe('000105')
    expect(await codeOf({ usedPercent: 1 })).toBe('000105')
    expect(await codeOf({ esimTranNo: randomUUID(), usedPercent: 1 })).toBe('310403')
    const other = await bed.dealer()
    expect((await bed.json(other, 'test/esim/update', { esimTranNo, orderUsage: 6 })).code).toBe('310403')
    const text = "update profiles set supplier = 'another' where profile_id = $1"
    await bed.node.deps.db.query({ text, values: [esimTranNo] })
    const { code, data } = await bed.json(dealer, 'test/esim/update', { esimTranNo, orderUsage: 6 })
    expect([code, data.action]).toEqual(['200015', 'TEST'])
  })
})

describe('test/order/resolve', () => {
  const resolve = (of: Dealer, orderNo: string, outcome: string) =>
    bed.json(of, 'test/order/resolve', { orderNo, outcome })

  it.each(['ALLOCATING', 'UNDER_REVIEW'])('delivers or refunds an order that is %s', async (status) => {
    const dealer = await bed.dealer()
    const balance = async () => (await bed.json(dealer, 'account/balance')).data.balance
    const before = await balance()
    const [delivered, refused] = [await bed.buy(dealer, 'SANDBOX_UNKNOWN'), await bed.buy(dealer, 'SANDBOX_UNKNOWN', 2)]
    for (const { orderNo } of [delivered, refused]) await bed.order(dealer, orderNo, status)
    expect((await resolve(dealer, delivered.orderNo, 'DELIVERED')).data).toMatchObject({
      orderStatus: 'DELIVERED',
      profileList: [{ iccid: expect.stringMatching(/^89999/), esimStatus: 'GOT_RESOURCE' }],
    })
    const answer = (await resolve(dealer, refused.orderNo, 'REFUSED')).data
    expect(answer).toMatchObject({ orderStatus: 'FAILED', refundedAmount: 2 * PRICE, profileList: [] })
    expect(await balance()).toBe(before - PRICE)
    expect((await resolve(dealer, refused.orderNo, 'DELIVERED')).data).toEqual(answer)
  })

  it('ends an order whose supplier is being asked, and the late answer changes nothing', async () => {
    const dealer = await bed.dealer()
    const [delivered, refused] = [await bed.buy(dealer, 'SANDBOX_SLOW'), await bed.buy(dealer, 'SANDBOX_SLOW')]
    expect((await resolve(dealer, delivered.orderNo, 'DELIVERED')).data.orderStatus).toBe('DELIVERED')
    expect((await resolve(dealer, refused.orderNo, 'REFUSED')).data.orderStatus).toBe('FAILED')
    const unfinished = `select count(*)::int as count from supplier_attempts
                        where tenant_id = $1 and finished_at is null`
    await expect
      .poll(async () => (await bed.node.deps.db.query({ text: unfinished, values: [dealer.tenantId] }))[0], {
        timeout: 20_000,
      })
      .toEqual({ count: 0 })
    const { profileList } = (await bed.json(dealer, 'esim/profile/list')).data
    expect(profileList).toHaveLength(1)
    const text = 'select count(*)::int as count from orphans where tenant_id = $1'
    expect(await bed.node.deps.db.query({ text, values: [dealer.tenantId] })).toEqual([{ count: 0 }])
  })

  it('ends a top-up', async () => {
    const dealer = await bed.dealer()
    const { esimTranNo, totalVolume } = await bed.delivered(dealer)
    const packageCode = 'SANDBOX_UNKNOWN_TOPUP'
    const topUp = await bed.json(dealer, 'esim/topup', { transactionId: randomUUID(), esimTranNo, packageCode })
    await bed.order(dealer, topUp.data.orderNo, 'ALLOCATING', 'UNDER_REVIEW')
    expect((await resolve(dealer, topUp.data.orderNo, 'DELIVERED')).data.orderStatus).toBe('DELIVERED')
    const { profileList } = (await bed.json(dealer, 'esim/profile/list', { esimTranNo })).data
    expect(profileList[0].totalVolume).toBeGreaterThan(totalVolume)
  })

  it('answers 200013 for another order and 200015 for one that the sandbox does not deliver', async () => {
    const [dealer, other] = [await bed.dealer(), await bed.dealer()]
    const { orderNo } = await bed.buy(dealer)
    await bed.order(dealer, orderNo, 'DELIVERED')
    expect((await resolve(other, orderNo, 'DELIVERED')).code).toBe('200013')
    expect((await resolve(dealer, 'nonsense', 'DELIVERED')).code).toBe('200013')
    const text = "update order_items set supplier = 'another' where tenant_id = $1"
    await bed.node.deps.db.query({ text, values: [dealer.tenantId] })
    const { code, data } = await resolve(dealer, orderNo, 'DELIVERED')
    expect([code, data.action]).toEqual(['200015', 'TEST'])
  })
})
