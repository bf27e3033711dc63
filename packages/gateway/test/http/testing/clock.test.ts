import { randomInt, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expireProfiles } from '#esims/life/expire.ts'
import { recordExpiryNotices } from '#esims/life/expiring.ts'
import type { Dealer } from '#test/harness/api-node.ts'
import { seededRandom } from '#test/orders/seeded-random.ts'
import { type Receiver, startReceiver } from '#test/webhooks/receiver.ts'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { createTestingTestbed, PRICE, type TestingTestbed } from './testing-testbed.ts'

const HOUR_MS = 3_600_000
const YEAR_HOURS = 8_784

let bed: TestingTestbed
let receiver: Receiver
beforeAll(async () => {
  bed = await createTestingTestbed()
  receiver = await startReceiver()
})
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
  await receiver.close()
})

const query = <Row extends object>(text: string, ...values: unknown[]) => bed.node.deps.db.query<Row>({ text, values })
const advance = (of: Dealer, hours: number, fromTime?: string) =>
  bed.json(of, 'test/clock/advance', { hours, ...(fromTime && { fromTime }) })
const profileOf = async (of: Dealer, esimTranNo: string) =>
  (await bed.json(of, 'esim/profile/list', { esimTranNo })).data.profileList[0]
const msOf = (time: string) => Date.parse(time)

interface Recorded {
  notifyType: string
  // biome-ignore lint/suspicious/noExplicitAny: the content of any event
  content: any
  createdAt: Date
}
const eventsOf = ({ tenantId }: Dealer) =>
  query<Recorded>(
    'select notify_type, content, created_at from events where tenant_id = $1 order by notify_id',
    tenantId,
  )

/** Subscribed to everything, without an endpoint that is asked. */
const subscribed = async (usageThresholds?: number[]) => {
  const dealer = await bed.dealer()
  await setWebhook(
    bed.node.deps,
    dealer.tenantId,
    {
      eventTypes: ['ORDER_PAID', 'DELIVERY_UPDATED', 'ESIM_USAGE', 'ESIM_EXPIRING'],
      expiryNoticeHours: [24, 72],
      ...(usageThresholds && { usageThresholds }),
    },
    { actor: 'tenant' },
  )
  return dealer
}

describe('an advance', () => {
  it('brings notices and expiry in their order, and moves only the present', async () => {
    const dealer = await subscribed()
    const { esimTranNo } = await bed.delivered(dealer)
    await bed.json(dealer, 'test/esim/update', { esimTranNo, smdpStatus: 'INSTALLATION' })
    const before = await profileOf(dealer, esimTranNo)
    const orders = (await bed.json(dealer, 'order/list')).data.orderList
    const recorded = (await eventsOf(dealer)).length
    const startedAt = Date.now()
    const { data } = await advance(dealer, 31 * 24)
    expect(data).toMatchObject({ advancedHours: 31 * 24, changedEsims: 1 })
    expect(msOf(data.testTime) - startedAt - 31 * 24 * HOUR_MS).toBeLessThan(60_000)
    expect(await profileOf(dealer, esimTranNo)).toEqual({
      ...before,
      esimStatus: 'USED_EXPIRED',
      lastUpdateTime: before.expiredTime,
    })
    expect((await bed.json(dealer, 'order/list')).data.orderList).toMatchObject(
      orders.map(({ lastUpdateTime: _, ...order }: Record<string, unknown>) => order),
    )
    const events = (await eventsOf(dealer)).slice(recorded)
    expect(
      events.map(({ notifyType, content }) => [notifyType, content.hours ?? content.profiles[0].esimStatus]),
    ).toEqual([
      ['ESIM_EXPIRING', 72],
      ['ESIM_EXPIRING', 24],
      ['DELIVERY_UPDATED', 'USED_EXPIRED'],
    ])
    // eventGenerateTime stays real.
    for (const { createdAt } of events) expect(createdAt.getTime()).toBeLessThan(Date.now() + 5_000)
  })

  it('dates what follows in test time, in lists, statements and daily limits', async () => {
    const dealer = await bed.dealer()
    await query('update wallets set daily_spend_limit = $2 where tenant_id = $1', dealer.tenantId, PRICE)
    await bed.delivered(dealer)
    const refused = await bed.json(dealer, 'esim/order', {
      ...{ transactionId: 'T-2', packageInfoList: [{ packageCode: 'SANDBOX_OK', count: 1 }] },
    })
    expect([refused.code, refused.data.scope]).toEqual(['200014', 'TENANT_DAY'])
    const { testTime } = (await advance(dealer, 48)).data
    const isTestTime = (time: string) => msOf(time) >= msOf(testTime) && msOf(time) < msOf(testTime) + 60_000
    const placed = await bed.buy(dealer)
    const order = await bed.order(dealer, placed.orderNo, 'DELIVERED')
    const times = [placed.createTime, order.createTime, order.lastUpdateTime, order.profileList[0].createTime]
    expect(
      [...times, ...order.statusHistory.map(({ time }: { time: string }) => time)].filter(isTestTime),
    ).toHaveLength(7)
    expect(placed.createTime).toBe(order.createTime)
    const { entryList } = (await bed.json(dealer, 'account/statement')).data
    expect(isTestTime(entryList[0].createTime)).toBe(true)
    const filter = { startTime: testTime }
    expect((await bed.json(dealer, 'order/list', filter)).data.orderList).toHaveLength(1)
    expect((await bed.json(dealer, 'esim/profile/list', filter)).data.profileList).toHaveLength(1)
    expect((await bed.json(dealer, 'order/list', { endTime: testTime })).data.orderList).toHaveLength(1)
    // Times that RFC 3339 allows, and PostgreSQL rejects.
    const always = { startTime: '0000-01-01T00:00:00+23:59', endTime: '9999-12-31T23:59:59.999999999-23:59' }
    expect(await bed.json(dealer, 'order/list', always)).toMatchObject({ code: '000000' })
    expect((await bed.json(dealer, 'order/list', always)).data.orderList).toHaveLength(2)
    expect((await bed.json(dealer, 'esim/profile/list', always)).data.profileList).toHaveLength(2)
    const again = await bed.json(dealer, 'esim/order', {
      ...{ transactionId: 'T-3', packageInfoList: [{ packageCode: 'SANDBOX_OK', count: 1 }] },
    })
    expect(isTestTime(new Date(msOf(again.data.resetTime) - 24 * HOUR_MS - 1).toISOString())).toBe(false)
    expect(msOf(again.data.resetTime)).toBeGreaterThan(msOf(testTime))
  })

  it('closes the window in which an eSIM can be cancelled', async () => {
    const dealer = await bed.dealer()
    const [{ esimTranNo, createTime }, other] = [await bed.delivered(dealer), await bed.delivered(dealer)]
    const cancel = (which: string) =>
      bed.json(dealer, 'esim/cancel', { transactionId: randomUUID(), action: 'CANCEL', esimTranNo: which })
    await advance(dealer, 30 * 24 - 1)
    expect((await cancel(other.esimTranNo)).code).toBe('000000')
    await advance(dealer, 2)
    const { code, data } = await cancel(esimTranNo)
    expect([code, data.cancellableUntil]).toEqual([
      '200017',
      new Date(msOf(createTime) + 30 * 24 * HOUR_MS).toISOString(),
    ])
  })

  it('lets the usage of a sandbox package grow past each threshold', async () => {
    const dealer = await subscribed([50, 80, 100])
    const { esimTranNo, totalVolume } = await bed.delivered(dealer, 'SANDBOX_USAGE')
    await advance(dealer, 1)
    expect(await profileOf(dealer, esimTranNo)).toMatchObject({ esimStatus: 'USED_UP', orderUsage: totalVolume })
    const usage = (await eventsOf(dealer)).filter(({ notifyType }) => notifyType === 'ESIM_USAGE')
    expect(usage.map(({ content }) => [content.threshold, content.sequence])).toEqual([
      [50, 1],
      [80, 2],
      [100, 3],
    ])
  })

  it('leaves other accounts and their eSIMs as they are', async () => {
    const [dealer, live] = [await bed.dealer(), await subscribed()]
    const { esimTranNo } = await bed.delivered(live)
    await bed.json(live, 'test/esim/update', { esimTranNo, smdpStatus: 'INSTALLATION' })
    const rows = () =>
      Promise.all(
        ['profiles', 'events', 'deliveries', 'orders', 'wallets', 'tenants'].map((table) =>
          query(`select * from ${table} where tenant_id = $1 order by 1, 2`, live.tenantId),
        ),
      )
    const before = await rows()
    await advance(dealer, YEAR_HOURS)
    await recordExpiryNotices(bed.node.deps, new AbortController().signal)
    await expireProfiles(bed.node.deps, live.tenantId)
    expect(await rows()).toEqual(before)
  })

  it('moves once if it is repeated with its fromTime, and never while another is at work', async () => {
    const dealer = await bed.dealer()
    const far = await advance(dealer, 24, '2020-01-01T00:00:00.000Z')
    expect([far.code, Math.abs(msOf(far.data.current) - Date.now()) < 60_000]).toEqual(['200005', true])
    const first = await advance(dealer, 24, far.data.current)
    expect(first.code).toBe('000000')
    const { testTime } = first.data
    for (const wrong of [far.data.current, new Date(msOf(testTime) + 1).toISOString()]) {
      const repeated = await advance(dealer, 24, wrong)
      expect([repeated.code, repeated.data.current]).toEqual(['200005', testTime])
    }
    const several = await Promise.all(Array.from({ length: 8 }, () => advance(dealer, 24, testTime)))
    expect(several.filter(({ code }) => code === '000000')).toHaveLength(1)
    expect(several.every(({ code }) => ['000000', '200005', '101007'].includes(code))).toBe(true)
    const [{ offset }] = (await query<{ offset: bigint }>(
      'select test_offset_ms as offset from tenants where tenant_id = $1',
      dealer.tenantId,
    )) as [{ offset: bigint }]
    expect(Number(offset)).toBe(48 * HOUR_MS)
  })

  it('goes ten years ahead in all', async () => {
    const dealer = await bed.dealer()
    for (let year = 0; year < 9; year++) expect((await advance(dealer, YEAR_HOURS)).code).toBe('000000')
    expect((await advance(dealer, 87_840 - 9 * YEAR_HOURS)).code).toBe('000000')
    expect((await advance(dealer, 1)).code).toBe('000108')
    for (const hours of [0, 8_785, 1.5]) expect((await advance(dealer, hours)).code).toBe('000108')
    expect((await bed.json(dealer, 'health')).code).toBe('000000')
    const { orderNo } = await bed.buy(dealer)
    await bed.order(dealer, orderNo, 'DELIVERED')
  })
})

describe('a year of test time', () => {
  /** What a year leaves behind, without what differs from dealer to dealer. */
  async function outcomeOf(dealer: Dealer, startMs: number) {
    const sinceStart = (time: string | null) => time && Math.round((msOf(time) - startMs) / 60_000)
    const { profileList } = (await bed.json(dealer, 'esim/profile/list')).data
    // biome-ignore lint/suspicious/noExplicitAny: a profile of the API
    const profiles = profileList.map((one: any) => [
      ...[one.packageCode, one.esimStatus, one.smdpStatus, one.orderUsage],
      ...[one.expiredTime, one.lastUpdateTime, one.usageUpdateTime].map(sinceStart),
    ])
    const events = (await eventsOf(dealer)).map(({ notifyType, content }) => [
      ...[notifyType, content.sequence, content.threshold, content.hours, content.orderUsage],
      content.profiles?.map((profile: { esimStatus: string }) => profile.esimStatus),
    ])
    return { profiles, events }
  }

  async function yearOf(splits: readonly number[]) {
    const dealer = await subscribed()
    const startMs = Date.now()
    const esims = []
    for (const code of ['SANDBOX_OK', 'SANDBOX_OK', 'UNLIMITED', 'SANDBOX_USAGE'])
      esims.push(await bed.delivered(dealer, code))
    const [{ esimTranNo }] = esims
    await bed.json(dealer, 'test/esim/update', { esimTranNo, smdpStatus: 'INSTALLATION', usedPercent: 60 })
    for (const hours of splits) expect((await advance(dealer, hours)).code).toBe('000000')
    return outcomeOf(dealer, startMs)
  }

  it('ends alike in one call and in random splits', async () => {
    const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
    console.log(`SEED=${seed}`)
    const random = seededRandom(seed)
    const whole = await yearOf([YEAR_HOURS])
    expect(whole.profiles.map(([code, status]: string[]) => [code, status])).toEqual([
      ['SANDBOX_USAGE', 'USED_UP'],
      ['UNLIMITED', 'UNUSED_EXPIRED'],
      ['SANDBOX_OK', 'UNUSED_EXPIRED'],
      ['SANDBOX_OK', 'USED_EXPIRED'],
    ])
    const splits: number[] = []
    for (let left = YEAR_HOURS; left > 0; left -= splits.at(-1)!) splits.push(Math.min(left, random.between(1, 1_500)))
    expect(await yearOf(splits)).toEqual(whole)
  })

  it('makes the attempts to send that it skips, one after another', async () => {
    const attemptsIn = async (splits: readonly number[]) => {
      const dealer = await bed.dealer()
      receiver.script = 200
      await setWebhook(bed.node.deps, dealer.tenantId, { callbackUrl: receiver.url }, { actor: 'tenant' })
      receiver.script = 500
      await bed.buy(dealer, 'SANDBOX_REFUSED')
      const count = async () =>
        (
          await query<{ attempts: number; state: string }>(
            'select attempts, delivery_state as state from deliveries where tenant_id = $1 order by notify_id',
            dealer.tenantId,
          )
        ).map(({ attempts, state }) => [attempts, state])
      await expect.poll(count, { timeout: 9_000 }).toEqual([
        [1, 'PENDING'],
        [1, 'PENDING'],
      ])
      for (const hours of splits) {
        expect((await advance(dealer, hours)).code).toBe('000000')
      }
      await expect.poll(count, { timeout: 20_000 }).toEqual([
        [11, 'DEAD'],
        [11, 'DEAD'],
      ])
    }
    await attemptsIn([YEAR_HOURS])
    await attemptsIn(Array.from({ length: 10 }, () => 24))
  })
})
