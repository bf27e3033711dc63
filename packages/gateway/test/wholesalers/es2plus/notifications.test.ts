import { makeIccid, orderNoOf, type SmdpStatus } from '@dealer-esim/contract'
import { signEvent } from '@dealer-esim/contract/node'
import { type FastifyInstance, fastify } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { questionLoop } from '#fulfilment/reconciliation/ask-questions.ts'
import { supplierApi } from '#http/supplier-api.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { addPackage, addSupplier, addTenant, createShop, payOrders, type Shop, waitUntil } from '#test/harness/shop.ts'

/*
 * Notifications arrive as if through a proxy that terminates TLS. http/tls.test.ts tests callers identified by their client
 * certificate, for which our server terminates TLS.
 */
const SMDP = '192.0.2.10'
const OTHER_SMDP = '2001:db8:7::1'
const SECRET = 'upstream-secret'
const EID = '89049032123451234512345678901235'

let database: TestDatabase
let shop: Shop
let app: FastifyInstance
let tenantId: string

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  const smdp = { url: 'https://smdp.example.com', functionRequesterIdentifier: '1.2.3' }
  await addSupplier(shop, 'smdp', 'es2plus', { ...smdp, notices: { addresses: ['192.0.2.0/28'] } })
  await addSupplier(shop, 'other', 'es2plus', { ...smdp, notices: { addresses: [OTHER_SMDP], extraPoints: true } })
  const upstream = { url: 'http://127.0.0.1:1', appKey: 'upstream_key', appSecret: SECRET }
  await addSupplier(shop, 'upstream', 'gateway', upstream)
  await addPackage(shop.db, 'P', [{ supplier: 'smdp', productCode: 'TYPE' }])
  tenantId = await addTenant(shop.db)
  app = fastify()
  const config = { trustedProxies: ['127.0.0.1'], deployment: 'test' as const }
  await app.register(async (scope) => supplierApi(scope, { ...shop, config }))
})
afterAll(async () => {
  await app.close()
  await shop.close()
  await database.drop()
})

let serial = 0
const newIccid = () => makeIccid('8985666', ++serial)

/** Records an eSIM as delivered by a supplier. */
async function deliver(iccid: string, supplier = 'smdp') {
  const [orderId] = await payOrders(shop.db, tenantId, 'P')
  const esim = { iccid, smdpAddress: 'smdp.example.com', matchingId: `M-${orderId}`, smdpStatus: 'RELEASED' as const }
  await acceptEsim(shop, tenantId, { orderId: orderId!, itemNo: 1, supplier }, esim)
  return orderId!
}

async function shown(orderId: string) {
  const [row] = await shop.db.query<{
    smdpStatus: SmdpStatus
    esimStatus: string
    eid: string | null
    events: string[]
  }>({
    text: `select smdp_status, esim_status, eid, (select coalesce(array_agg(notify_type order by notify_id), '{}') from events e
             where e.tenant_id = p.tenant_id and e.order_id = p.order_id) as events
           from profiles p where tenant_id = $1 and order_id = $2`,
    values: [tenantId, orderId],
  })
  return row!
}

const PROGRESS = '/gsma/rsp2/es2plus/handleDownloadProgressInfo'
const LIFE = '/gsma/rsp2/es2plus/handleNotification'

function post(
  url: string,
  body: unknown,
  { from = SMDP, headers = {}, to = app }: { from?: string; headers?: object; to?: FastifyInstance } = {},
) {
  return to.inject({
    method: 'POST',
    url,
    remoteAddress: '127.0.0.1',
    headers: {
      ...{ 'content-type': 'application/json', 'x-admin-protocol': 'gsma/rsp/v2.5.0' },
      ...{ 'x-forwarded-for': from, 'x-forwarded-proto': 'https' },
      ...headers,
    },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const START = Date.now()
const at = (second: number) => new Date(START + second * 1000).toISOString()
const header = { functionRequesterIdentifier: 'smdp', functionCallIdentifier: 'call' }

function progress(iccid: string, point: unknown, second: number, more: object = {}) {
  const notificationPointStatus = { status: 'Executed-Success' }
  const members = { profileType: 'TYPE', timestamp: at(second), notificationPointId: point, notificationPointStatus }
  return { header, iccid, ...members, ...more }
}
const event = (iccid: string, notificationEvent: unknown, second: number) => ({
  ...{ header, iccid, profileType: 'TYPE', timestamp: at(second), notificationEvent },
})

describe('a notification from an SM-DP+', () => {
  it('is answered with an empty 204 in the caller’s version', async () => {
    const iccid = newIccid()
    await deliver(iccid)
    for (const [url, body] of [
      [PROGRESS, progress(iccid, 3, 1)],
      [LIFE, event(iccid, 1, 2)],
    ] as const) {
      const answer = await post(url, body)
      expect([answer.statusCode, answer.payload]).toEqual([204, ''])
      expect(answer.headers).toMatchObject({ 'x-admin-protocol': 'gsma/rsp/v2.5.0' })
      expect(answer.headers).not.toHaveProperty('content-type')
    }
  })

  it('at point 100 or above counts only for a supplier that is set to send such points', async () => {
    const [ours, theirs] = [newIccid(), newIccid()]
    const [usual, extra] = [await deliver(ours), await deliver(theirs, 'other')]
    for (const [point, status] of [
      [100, 'ENABLED'],
      [101, 'DISABLED'],
      [102, 'DELETED'],
    ] as const) {
      expect((await post(PROGRESS, progress(ours, point, point))).statusCode).toBe(204)
      expect((await post(PROGRESS, progress(theirs, point, point), { from: OTHER_SMDP })).statusCode).toBe(204)
      expect([(await shown(usual)).smdpStatus, (await shown(extra)).smdpStatus]).toEqual(['RELEASED', status])
    }
  })

  it('updates the profile and its device, and each change sends the dealer an event', async () => {
    const iccid = newIccid()
    const orderId = await deliver(iccid)
    const before = (await shown(orderId)).events.length
    await post(PROGRESS, progress(`${iccid}F`, 3, 1, { eid: EID }))
    expect(await shown(orderId)).toMatchObject({ smdpStatus: 'DOWNLOAD', eid: null })
    await post(PROGRESS, progress(iccid, '4', 2, { eid: EID, vendor: { anything: [1] }, resultData: 'BF37' }))
    expect(await shown(orderId)).toMatchObject({ smdpStatus: 'INSTALLATION', eid: EID, esimStatus: 'IN_USE' })
    await post(LIFE, event(iccid, 1, 3))
    await post(LIFE, event(iccid, 2, 4))
    await post(LIFE, event(iccid, 1, 5))
    const { smdpStatus, events } = await shown(orderId)
    expect(smdpStatus).toBe('ENABLED')
    expect(events.slice(before)).toEqual(Array(5).fill('DELIVERY_UPDATED'))
  })

  it('is ordered by its own timestamp, even on a node whose clock is an hour behind', async () => {
    const iccid = newIccid()
    const orderId = await deliver(iccid)
    await post(PROGRESS, progress(iccid, 3, 1))
    const behind = fastify()
    const clock = { ...shop.clock, now: () => Date.now() - 3_600_000 }
    const config = { trustedProxies: ['127.0.0.1'], deployment: 'test' as const }
    await behind.register(async (scope) => supplierApi(scope, { ...shop, clock, config }))
    await post(PROGRESS, progress(iccid, '4', 2), { to: behind })
    await behind.close()
    expect(await shown(orderId)).toMatchObject({ smdpStatus: 'INSTALLATION' })
  })

  it('that is late, repeated or meaningless gets the same answer and does not cause an event', async () => {
    const iccid = newIccid()
    const orderId = await deliver(iccid)
    await post(LIFE, event(iccid, 2, 10))
    const before = await shown(orderId)
    for (const [url, body] of [
      [LIFE, event(iccid, 2, 10)],
      [LIFE, event(iccid, 2, 12)],
      [LIFE, event(iccid, 1, 11)],
      [PROGRESS, progress(iccid, 4, 9)],
      [PROGRESS, progress(iccid, 3, 99)],
      [PROGRESS, progress(iccid, 102, 99)],
      [PROGRESS, progress(iccid, 1, 99)],
      [PROGRESS, progress(newIccid(), 4, 1)],
    ] as const) {
      expect((await post(url, body)).statusCode).toBe(204)
    }
    expect(await shown(orderId)).toEqual(before)
  })

  it('is refused if its content is malformed', async () => {
    for (const body of ['', 'nonsense', '[]', '{}', '{"iccid":17}']) {
      expect((await post(PROGRESS, body)).statusCode).toBe(400)
    }
    const headers = { 'content-type': '-none' }
    expect((await post(PROGRESS, '{}', { headers })).statusCode).toBe(415)
  })
})

describe('an ICCID that was sold more than once', () => {
  /** Two sales, a day apart. */
  async function soldTwice(ends: 'CANCEL' | 'DELETED') {
    const iccid = newIccid()
    const first = await deliver(iccid)
    await shop.db.query({
      text: `update profiles set created_at = created_at - interval '1 day',
               ${ends === 'CANCEL' ? `esim_status = 'CANCEL'` : `smdp_status = 'DELETED'`}
             where tenant_id = $1 and order_id = $2`,
      values: [tenantId, first],
    })
    return { iccid, first, second: await deliver(iccid) }
  }

  it.each(['CANCEL', 'DELETED'] as const)('refers to the later eSIM if the earlier one ended in %s', async (ends) => {
    const { iccid, first, second } = await soldTwice(ends)
    const before = await shown(first)
    await post(PROGRESS, progress(iccid, 4, 1))
    expect([(await shown(second)).smdpStatus, await shown(first)]).toEqual(['INSTALLATION', before])
  })

  it('refers to the earlier eSIM if the notification is older than the later eSIM', async () => {
    const { iccid, second } = await soldTwice('DELETED')
    await post(LIFE, event(iccid, 3, -20_000))
    expect((await shown(second)).smdpStatus).toBe('RELEASED')
  })

  it('still refers to the later eSIM when late notifications arrive after that eSIM was deleted', async () => {
    const iccid = newIccid()
    const first = await deliver(iccid)
    await shop.db.query({
      text: `update profiles set created_at = created_at - interval '1 day', smdp_status = 'INSTALLATION'
             where tenant_id = $1 and order_id = $2`,
      values: [tenantId, first],
    })
    const second = await deliver(iccid)
    const before = await shown(first)
    await post(LIFE, event(iccid, 3, 20))
    await post(LIFE, event(iccid, 3, 20))
    await post(LIFE, event(iccid, 1, 19))
    expect([(await shown(second)).smdpStatus, await shown(first)]).toEqual(['DELETED', before])
  })
})

describe('a caller that is not the supplier', () => {
  it('is refused if its address is not listed, or if it avoids HTTPS or our proxy', async () => {
    const iccid = newIccid()
    const orderId = await deliver(iccid)
    const body = progress(iccid, 4, 1)
    const strangers = [
      { from: '192.0.2.16' },
      { from: '2001:db8:7::2' },
      { headers: { 'x-forwarded-proto': 'http' } },
      { headers: { 'x-forwarded-for': `${SMDP}, 198.51.100.1` } },
    ]
    for (const stranger of strangers) expect((await post(PROGRESS, body, stranger)).statusCode).toBe(403)
    const direct = await app.inject({
      method: 'POST',
      url: PROGRESS,
      remoteAddress: SMDP,
      payload: JSON.stringify(body),
    })
    expect(direct.statusCode).toBe(403)
    expect((await shown(orderId)).smdpStatus).toBe('RELEASED')
  })

  it('cannot report on another supplier’s eSIMs', async () => {
    const iccid = newIccid()
    const [ours, theirs] = [await deliver(iccid, 'smdp'), await deliver(iccid, 'other')]
    await post(PROGRESS, progress(iccid, 4, 1), { from: OTHER_SMDP })
    expect([(await shown(ours)).smdpStatus, (await shown(theirs)).smdpStatus]).toEqual(['RELEASED', 'INSTALLATION'])
  })
})

describe('an upstream gateway’s event', () => {
  /** An item in doubt that will be queried in an hour. */
  async function createInDoubt(supplier: string): Promise<string> {
    const [orderId] = await payOrders(shop.db, tenantId, 'P')
    await shop.db.query({
      text: `update order_items set item_status = 'UNKNOWN', supplier = $3, product_code = 'X',
               retry_at = now() + interval '1 hour' where tenant_id = $1 and order_id = $2`,
      values: [tenantId, orderId, supplier],
    })
    await shop.db.query({
      text: `update orders set due_at = now() + interval '1 hour' where tenant_id = $1 and order_id = $2`,
      values: [tenantId, orderId],
    })
    return orderId!
  }

  async function isDue(orderId: string): Promise<boolean> {
    const [row] = await shop.db.query<{ due: boolean }>({
      text: `select o.due_at <= now() and i.retry_at <= now() as due
             from orders o join order_items i using (tenant_id, order_id) where tenant_id = $1 and order_id = $2`,
      values: [tenantId, orderId],
    })
    return row!.due
  }

  function sendEvent(
    orderId: string,
    { secret = SECRET, tampered = false, supplier = 'upstream', ageS = 0, proto = 'https' } = {},
  ) {
    const content = { orderNo: 'UP', transactionId: `${orderNoOf(orderId)}-1`, orderStatus: 'DELIVERED', sequence: 2 }
    const body = JSON.stringify({ notifyId: 'n-1', notifyType: 'DELIVERY_UPDATED', eventGenerateTime: at(0), content })
    const parts = { id: 'n-1', timestampS: Math.floor(Date.now() / 1000) - ageS }
    const headers = signEvent([secret], parts, body)
    return post(`/suppliers/${supplier}/events`, tampered ? body.replace('"UP"', '"UQ"') : body, {
      from: '203.0.113.9',
      headers: { ...headers, 'x-forwarded-proto': proto },
    })
  }

  it('has an address that answers HEAD, whether or not the supplier exists', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }
    for (const name of ['upstream', 'nobody']) {
      const url = `/suppliers/${name}/events`
      const answer = await app.inject({ method: 'HEAD', url, remoteAddress: '127.0.0.1', headers })
      expect([answer.statusCode, answer.body]).toEqual([200, ''])
    }
  })

  it('makes the order due as soon as the event’s signature is verified', async () => {
    const orderId = await createInDoubt('upstream')
    expect((await sendEvent(orderId, { secret: 'another' })).statusCode).toBe(401)
    expect((await sendEvent(orderId, { tampered: true })).statusCode).toBe(401)
    expect((await sendEvent(orderId, { ageS: 600 })).statusCode).toBe(401)
    expect((await sendEvent(orderId, { proto: 'http' })).statusCode).toBe(403)
    expect(await isDue(orderId)).toBe(false)
    let woken = 0
    const unsubscribe = shop.wake.on('fulfilment', () => woken++)
    const asking = questionLoop(shop)
    const answer = await sendEvent(orderId)
    expect([answer.statusCode, answer.payload]).toEqual([204, ''])
    await waitUntil(async () => woken > 0)
    await asking.stop(5_000)
    unsubscribe()
    expect([await isDue(orderId), woken]).toEqual([true, 1])
  })

  it('does not affect another supplier’s orders', async () => {
    const orderId = await createInDoubt('smdp')
    expect((await sendEvent(orderId)).statusCode).toBe(204)
    expect(await isDue(orderId)).toBe(false)
  })

  it('without a valid signature gets the same answer for every supplier, even an unknown one', async () => {
    const orderId = await createInDoubt('upstream')
    const answers = []
    for (const supplier of ['upstream', 'smdp', 'nobody']) {
      const { statusCode, payload } = await sendEvent(orderId, { supplier, secret: 'another' })
      answers.push(`${statusCode} ${payload}`)
    }
    expect(answers).toEqual(Array(3).fill('401 the event has no valid signature of a supplier with this name\n'))
  })
})
