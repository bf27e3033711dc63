import { createMetrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import type { ProfileReport } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { applyReports } from '#esims/apply-reports.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { addDealer, type Dealer, OPERATOR } from '#test/harness/api-node.ts'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { getEvent, listEvents } from '#webhooks/list-events.ts'
import { resendEvent } from '#webhooks/replay/resend-event.ts'
import { loggedHeaders } from '#webhooks/sending/delivery-attempt.ts'
import { webhooksLoop } from '#webhooks/sending/sender.ts'
import { type ApiFixture, createApiFixture } from '../dealer/api-fixture.ts'
import { familyCall } from './family-program.ts'
import { type FamilyReceiver, startFamilyReceiver } from './family-receiver.ts'

let api: ApiFixture
let dealer: Dealer
let receiver: FamilyReceiver
let loops: { stop(deadlineMs: number): Promise<void> }[]

beforeAll(async () => {
  api = await createApiFixture()
  loops = [fulfilmentLoop(api.node.deps), startSender()]
})
afterAll(async () => {
  await Promise.all(loops.map((loop) => loop.stop(5_000)))
  await api.close()
})
beforeEach(async () => {
  dealer = await addDealer(api.node.deps)
  receiver = await startFamilyReceiver(api.node.baseUrl, dealer)
  return () => receiver.close()
})

const startSender = () => webhooksLoop({ ...api.node.deps, metrics: createMetrics() })

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0000$/)

const post = (operation: string, body?: object, of = dealer) => familyCall(api.node.baseUrl, of, operation, body)
const types = () => receiver.received.map(({ event }) => event.notifyType)
const contents = (notifyType: string) =>
  receiver.received.filter(({ event }) => event.notifyType === notifyType).map(({ event }) => event.content)
const has = (notifyType: string, count = 1) =>
  vi.waitFor(() => expect(types().filter((type) => type === notifyType)).toHaveLength(count), 60_000)

async function save(): Promise<void> {
  expect(await post('webhook/save', { webhook: receiver.url })).toMatchObject({
    success: true,
    errorCode: null,
    obj: {},
  })
}

async function buy(count = 1): Promise<{ orderNo: string; esims: Record<string, string>[] }> {
  const order = { transactionId: 'E-1', packageInfoList: [{ packageCode: 'JP_1_7', count }] }
  const { orderNo } = (await post('esim/order', order)).obj
  await has('ORDER_STATUS')
  await vi.waitFor(() => expect(receiver.fetched).toHaveLength(1), 20_000)
  return { orderNo, esims: receiver.fetched[0]!.obj.esimList }
}

async function report(esims: Record<string, string>[], parts: Partial<ProfileReport>): Promise<void> {
  const rows = await api.node.deps.db.query<{ orderId: string; profileId: string }>({
    text: 'select order_id, profile_id from profiles where tenant_id = $1 and iccid = any ($2::text[])',
    values: [dealer.tenantId, esims.map(({ iccid }) => iccid)],
  })
  const reported = rows.map((row) => ({ ...row, report: { time: new Date(), ...parts } }))
  await applyReports(api.node.deps, dealer.tenantId, reported)
}

describe('webhook/save', () => {
  test('sends the RT family’s health check, and webhook/query returns the saved settings', async () => {
    expect((await post('webhook/query')).obj).toEqual({ webhook: '' })
    await save()
    expect(receiver.received).toMatchObject([
      {
        isSigned: true,
        event: {
          notifyType: 'CHECK_HEALTH',
          eventGenerateTime: TIME,
          content: { orderNo: '1234567890', orderStatus: 'Test' },
        },
      },
    ])
    expect((await post('webhook/query', {})).obj).toEqual({ webhook: receiver.url })
    const [entry] = await api.node.deps.db.query<{ actor: string; address: string; after: object }>({
      text: `select actor, address, after from audit_log where tenant_id = $1 and action = 'webhook.set'`,
      values: [dealer.tenantId],
    })
    expect(entry).toMatchObject({
      actor: 'tenant',
      address: '127.0.0.1',
      after: { callbackUrl: receiver.url, eventFormat: 'RT', enabled: true },
    })
  })

  test('refuses a missing, malformed or unreachable address and changes nothing', async () => {
    const codes = async (webhook: unknown) => (await post('webhook/save', { webhook })).errorCode
    expect([await codes(''), await codes(null), await codes(7), await codes('ftp://a.example/')]).toEqual([
      ...['000105', '000105', '200008', '200008'],
    ])
    await receiver.close()
    expect(await codes(receiver.url)).toBe('200008')
    expect((await post('webhook/query')).obj).toEqual({ webhook: '' })
    receiver = await startFamilyReceiver(api.node.baseUrl, dealer)
  })

  test('changes the settings of only one tenant', async () => {
    await save()
    expect((await post('webhook/query', {}, await addDealer(api.node.deps))).obj).toEqual({ webhook: '' })
  })
})

describe('an RT family receiver', () => {
  test('receives ORDER_STATUS once the eSIMs exist, and can fetch them', async () => {
    await save()
    const { orderNo, esims } = await buy(2)
    expect(contents('ORDER_STATUS')).toEqual([{ orderNo, transactionId: 'E-1', orderStatus: 'GOT_RESOURCE' }])
    expect(esims).toHaveLength(2)
    expect(receiver.received.every(({ isSigned }) => isSigned)).toBe(true)
    const events = await listEvents(api.node.deps.db, { tenantId: dealer.tenantId }, { limit: 50 })
    expect(events.filter(({ notifyType }) => notifyType === 'ORDER_PAID').map((one) => one.deliveryState)).toEqual([
      'UNSENT',
    ])
  })

  test('receives an event for each status of each eSIM that a report changes', async () => {
    await save()
    const { orderNo, esims } = await buy(2)
    await report(esims, {
      ...{ smdpStatus: 'ENABLED', esimStatus: 'IN_USE', usage: 1_000n },
      eid: '89049032123451234512345678901235',
    })
    await has('SMDP_EVENT', 2)
    await has('ESIM_STATUS', 2)
    const each = esims.map(({ esimTranNo, iccid }) => {
      const names = { orderNo, transactionId: 'E-1', esimTranNo, iccid }
      return { ...names, esimStatus: 'IN_USE', smdpStatus: 'ENABLED' }
    })
    const volume = Number(esims[0]!.totalVolume)
    const usage = { totalVolume: volume, orderUsage: 1_000, remainVolume: volume - 1_000 }
    expect(contents('ESIM_STATUS')).toEqual(expect.arrayContaining(each.map((esim) => ({ ...esim, ...usage }))))
    const withEid = each.map((esim) => ({
      eid: '89049032123451234512345678901235',
      ...esim,
      timestamp: TIME,
      seqNumber: expect.any(Number),
      notifyStatus: 'Executed-Success',
    }))
    expect(contents('SMDP_EVENT')).toEqual(expect.arrayContaining(withEid))
    const sequence = contents('SMDP_EVENT').map(({ seqNumber }) => seqNumber)
    expect(new Set(sequence).size).toBe(2)
    expect(new Set(receiver.received.map(({ event }) => event.notifyId)).size).toBe(receiver.received.length)
  })

  test('receives usage above the total as reported, and never a negative remainder', async () => {
    await save()
    const { esims } = await buy()
    const [{ iccid, totalVolume } = {}] = esims as Record<string, never>[]
    const usage = Number(totalVolume) + 24
    await report(esims, { esimStatus: 'USED_UP', usage: BigInt(usage) })
    await has('ESIM_STATUS')
    expect(contents('ESIM_STATUS')).toMatchObject([{ totalVolume, orderUsage: usage, remainVolume: 0 }])
    await has('DATA_USAGE', 3)
    expect(contents('DATA_USAGE').map(({ orderUsage, remain }) => [orderUsage, remain])).toContainEqual([usage, 0])
    const { esimList } = (await post('esim/query', { iccid, pager: { pageNum: 1, pageSize: 5 } })).obj
    expect(esimList).toMatchObject([{ totalVolume, orderUsage: usage, esimStatus: 'USED_UP' }])
  })

  test('finds in esim/query the installation time that the supplier reported', async () => {
    await save()
    const { esims } = await buy()
    const [{ iccid } = {}] = esims as Record<string, string>[]
    const installationTime = async () =>
      (await post('esim/query', { iccid, pager: { pageNum: 1, pageSize: 5 } })).obj.esimList[0].installationTime
    expect(await installationTime()).toBeNull()
    await report(esims, { smdpStatus: 'INSTALLATION', installationTime: new Date('2026-11-20T09:05:00Z') })
    expect(await installationTime()).toBe('2026-11-20T09:05:00+0000')
  })

  test('receives DATA_USAGE and VALIDITY_USAGE events', async () => {
    await save()
    const { orderNo, esims } = await buy()
    const [{ iccid, esimTranNo, totalVolume } = {}] = esims as Record<string, never>[]
    const volume = Number(totalVolume)
    await report(esims, {
      esimStatus: 'IN_USE',
      usage: BigInt(Math.ceil(volume * 0.8)),
      expiredTime: new Date(Date.now() + 25 * 3_600_000),
    })
    await has('DATA_USAGE', 2)
    const names = { orderNo, transactionId: 'E-1', iccid }
    expect(
      contents('DATA_USAGE')
        .map(({ remainThreshold }) => remainThreshold)
        .sort(),
    ).toEqual([0.2, 0.5])
    expect(contents('DATA_USAGE')[0]).toEqual({
      ...{ ...names, esimTranNo, totalVolume: volume, orderUsage: Math.ceil(volume * 0.8) },
      ...{ remain: volume - Math.ceil(volume * 0.8), lastUpdateTime: TIME, remainThreshold: expect.any(Number) },
    })
    await api.node.deps.db.query({
      text: `update profiles set expiry_notice_at = expiry_notice_at - interval '61 minutes', expired_time = expired_time - interval '61 minutes'
             where tenant_id = $1`,
      values: [dealer.tenantId],
    })
    await report(esims, {})
    await has('VALIDITY_USAGE')
    expect(contents('VALIDITY_USAGE')).toEqual([
      { ...names, durationUnit: 'DAY', totalDuration: expect.any(Number), expiredTime: TIME, remain: 1 },
    ])
  })

  test('receives the same bytes whenever an event is resent, even after a restart', async () => {
    await save()
    const { esims } = await buy()
    receiver.failures = 1
    await report(esims, { smdpStatus: 'DOWNLOAD' })
    await has('SMDP_EVENT')
    await report(esims, { smdpStatus: 'ENABLED', esimStatus: 'IN_USE' })
    await has('SMDP_EVENT', 2)
    const [first] = receiver.received.filter(({ event }) => event.notifyType === 'SMDP_EVENT')
    const resend = () => resendEvent(api.node.deps, dealer.tenantId, first!.event.notifyId, OPERATOR)
    await resend()
    await has('SMDP_EVENT', 3)
    const restarted = loops.pop()!
    await restarted.stop(5_000)
    loops.push(startSender())
    await resend()
    await has('SMDP_EVENT', 4)
    const same = receiver.received.filter(({ event }) => event.notifyId === first!.event.notifyId)
    expect(same.length).toBeGreaterThanOrEqual(3)
    expect(new Set(same.map(({ text }) => text)).size).toBe(1)
  })
})

describe('an event’s signature', () => {
  const headerNames = async (notifyType: string) => {
    const { db } = api.node.deps
    const events = await listEvents(db, { tenantId: dealer.tenantId }, { limit: 50 })
    const { notifyId } = events.find((one) => one.notifyType === notifyType)!
    const { appKey, attemptList } = await getEvent(db, dealer.tenantId, notifyId)
    return loggedHeaders(appKey, attemptList[0]!).filter(([name]) => name.toLowerCase().endsWith('signature'))
  }

  test('is also sent and logged as RT-Signature, with the value of X-Signature', async () => {
    await save()
    await buy()
    expect(receiver.received.map(({ isSigned }) => isSigned)).toEqual(receiver.received.map(() => true))
    await vi.waitFor(async () => {
      const shown = Object.fromEntries(await headerNames('DELIVERY_UPDATED'))
      expect(Object.keys(shown).sort()).toEqual(['RT-Signature', 'X-Signature', 'webhook-signature'])
      expect(shown['RT-Signature']).toBe(shown['X-Signature'])
    }, 60_000)
  })

  test('is sent only as X-Signature in the dealer API format', async () => {
    await setWebhook(api.node.deps, dealer.tenantId, { callbackUrl: receiver.url, enabled: true }, OPERATOR)
    await post('esim/order', { transactionId: 'E-2', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
    await has('ORDER_PAID')
    expect(receiver.received.map(({ headers }) => headers['rt-signature'])).toEqual(
      receiver.received.map(() => undefined),
    )
    await vi.waitFor(async () => {
      expect((await headerNames('ORDER_PAID')).map(([name]) => name)).toEqual(['X-Signature', 'webhook-signature'])
    }, 60_000)
  })
})

describe('the event format', () => {
  const set = (change: Parameters<typeof setWebhook>[2]) => setWebhook(api.node.deps, dealer.tenantId, change, OPERATOR)

  test('selects its own event types when a dealer switches to it', async () => {
    expect(await set({ eventFormat: 'RT' })).toMatchObject({
      eventTypes: ['DELIVERY_UPDATED', 'ESIM_USAGE', 'ESIM_EXPIRING'],
    })
    expect(await set({ eventTypes: ['ESIM_USAGE'] })).toMatchObject({ eventTypes: ['ESIM_USAGE'] })
    expect(await set({ eventFormat: 'RT' })).toMatchObject({ eventTypes: ['ESIM_USAGE'] })
    expect(await set({ eventFormat: 'DEALER' })).toMatchObject({ eventTypes: ['ORDER_PAID', 'DELIVERY_UPDATED'] })
  })

  test('refuses event types that do not exist in it', async () => {
    await set({ eventFormat: 'RT' })
    await expect(set({ eventTypes: ['ORDER_PAID', 'ESIM_USAGE'] })).rejects.toMatchObject({ code: '000108' })
    expect(await set({})).toMatchObject({ eventTypes: ['DELIVERY_UPDATED', 'ESIM_USAGE', 'ESIM_EXPIRING'] })
  })

  test('also applies to events that were recorded before the format was chosen', async () => {
    const { data } = await api.order(dealer)
    await vi.waitFor(async () => {
      const { data: order } = await api.json(dealer, 'esim/query', { orderNo: data.orderNo })
      expect(order.orderStatus).toBe('DELIVERED')
    }, 60_000)
    await save()
    const events = await listEvents(api.node.deps.db, { tenantId: dealer.tenantId }, { limit: 50 })
    const [latest] = events.filter(({ notifyType }) => notifyType === 'DELIVERY_UPDATED')
    await resendEvent(api.node.deps, dealer.tenantId, latest!.notifyId, OPERATOR)
    await has('ORDER_STATUS')
  })
})
