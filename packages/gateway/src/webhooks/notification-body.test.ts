import { expect, test } from 'vitest'
import type { Notification } from './delivery-state.ts'
import { bodyOf, checkHealthBody } from './notification-body.ts'

const ESIM = { orderNo: 'O-1', transactionId: 'T-1', esimTranNo: 'E-1', iccid: '8985200012345678901' }
const STATUSES = { esimStatus: 'IN_USE', smdpStatus: 'ENABLED' }
const HEAD = { eventGenerateTime: '2026-11-20T13:28:09+0000', notifyId: 'N-1' }

function event(notifyType: string, content: object, details?: object): Notification {
  return {
    notifyId: 'N-1',
    notifyType,
    createdAt: new Date('2026-11-20T13:28:09.456Z'),
    content: JSON.stringify(content),
    details: details ? JSON.stringify(details) : null,
  }
}

function updated(parts: object = {}, details?: object): Notification {
  const { orderNo, transactionId, esimTranNo, iccid } = ESIM
  const profiles = [
    { esimTranNo: 'E-0', iccid: '1', esimStatus: 'GOT_RESOURCE', smdpStatus: null },
    { esimTranNo, iccid, ...STATUSES },
  ]
  const order = { orderNo, transactionId, orderType: 'NEW', orderStatus: 'DELIVERED', sequence: 3, profiles }
  return event('DELIVERY_UPDATED', { ...order, ...parts }, details)
}

const rt = (notification: Notification) => {
  const text = bodyOf('RT', notification, 'LIVE')
  return text === undefined ? undefined : JSON.parse(text)
}

test.each(['DELIVERED', 'PARTIALLY_DELIVERED'])('%s becomes ORDER_STATUS', (orderStatus) => {
  const content = { orderNo: 'O-1', transactionId: 'T-1', orderStatus: 'GOT_RESOURCE' }
  expect(rt(updated({ orderStatus }))).toEqual({ notifyType: 'ORDER_STATUS', ...HEAD, content })
})

test.each(['PAID', 'ALLOCATING', 'UNDER_REVIEW', 'FAILED', 'CANCELLED'])(
  '%s has no equivalent in the RT family',
  (orderStatus) => {
    expect(rt(updated({ orderStatus }))).toBeUndefined()
  },
)

test('a delivered top-up has no equivalent in the RT family', () => {
  expect(rt(updated({ orderType: 'TOPUP', profiles: [] }))).toBeUndefined()
})

test('a changed esimStatus becomes ESIM_STATUS, whatever the order status', () => {
  const details = { changed: 'esimStatus', esimTranNo: 'E-1', eid: '89' }
  const expected = { notifyType: 'ESIM_STATUS', ...HEAD, content: { ...ESIM, ...STATUSES } }
  expect(rt(updated({}, details))).toEqual(expected)
  expect(rt(updated({ orderStatus: 'ALLOCATING' }, details))).toEqual(expected)
})

test('ESIM_STATUS contains the eSIM’s volume and usage, if they were recorded', () => {
  const contentWith = (usage: object) => {
    return rt(updated({}, { changed: 'esimStatus', esimTranNo: 'E-1', eid: null, ...usage })).content
  }
  const esim = { ...ESIM, ...STATUSES }
  expect(contentWith({ totalVolume: 1_000, orderUsage: 1_200 })).toEqual({
    ...{ ...esim, totalVolume: 1_000, orderUsage: 1_200, remainVolume: 0 },
  })
  expect(contentWith({ totalVolume: null, orderUsage: 5 })).toEqual({ ...esim, orderUsage: 5 })
  expect(contentWith({ totalVolume: 1_000, orderUsage: null })).toEqual({
    ...{ ...esim, totalVolume: 1_000, orderUsage: 0, remainVolume: 1_000 },
  })
  expect(contentWith({ totalVolume: null, orderUsage: null })).toEqual({ ...esim, orderUsage: 0 })
})

test('a changed smdpStatus becomes SMDP_EVENT with the EID and the time', () => {
  const details = { changed: 'smdpStatus', esimTranNo: 'E-1', eid: '89049032' }
  expect(rt(updated({}, details))).toEqual({
    notifyType: 'SMDP_EVENT',
    ...HEAD,
    content: {
      eid: '89049032',
      ...ESIM,
      ...STATUSES,
      timestamp: HEAD.eventGenerateTime,
      seqNumber: 3,
      notifyStatus: 'Executed-Success',
    },
  })
})

test('usage becomes DATA_USAGE, with the remaining part as the threshold', () => {
  const usage = { totalVolume: 1_000, orderUsage: 810, remaining: 190, threshold: 80, sequence: 2 }
  const body = rt(event('ESIM_USAGE', { ...ESIM, ...usage, usageUpdateTime: '2026-11-20T13:00:00.000Z' }))
  const shown = { totalVolume: 1_000, orderUsage: 810, remain: 190, remainThreshold: 0.2 }
  const content = { ...ESIM, ...shown, lastUpdateTime: '2026-11-20T13:00:00+0000' }
  expect(body).toEqual({ notifyType: 'DATA_USAGE', ...HEAD, content })
})

test.each([
  [72, 3],
  [24, 1],
  [1, 1],
])('an expiry in %i hours becomes VALIDITY_USAGE with %i days', (hours, remain) => {
  const expiring = { ...ESIM, expiredTime: '2026-11-21T00:00:00.000Z', hours, sequence: 1 }
  const { orderNo, transactionId, iccid } = ESIM
  const duration = { durationUnit: 'DAY', totalDuration: 30, expiredTime: '2026-11-21T00:00:00+0000', remain }
  const content = { orderNo, transactionId, iccid, ...duration }
  const body = rt(event('ESIM_EXPIRING', expiring, { totalDuration: 30 }))
  expect(body).toEqual({ notifyType: 'VALIDITY_USAGE', ...HEAD, content })
})

test.each(['ORDER_PAID', 'ESIM_ACTION_UPDATED', 'BALANCE_LOW'])(
  'the notification %s has no equivalent in the RT family',
  (notifyType) => {
    expect(rt(event(notifyType, {}))).toBeUndefined()
  },
)

test('a health check has the content that RT family receivers expect', () => {
  const content = { orderNo: '1234567890', orderStatus: 'Test' }
  const body = checkHealthBody('RT', event('CHECK_HEALTH', {}), 'LIVE')
  expect(JSON.parse(body)).toEqual({ notifyType: 'CHECK_HEALTH', ...HEAD, content })
})

test('an event in the dealer API format has exactly the recorded content', () => {
  const content = '{"orderNo" : "O-1"}'
  expect(bodyOf('DEALER', { ...updated(), content }, 'LIVE')).toBe(
    `{"notifyId":"N-1","notifyType":"DELIVERY_UPDATED","eventGenerateTime":"2026-11-20T13:28:09.456Z","content":${content}}`,
  )
})

test('an event of a test twin says so in both formats', () => {
  for (const format of ['RT', 'DEALER'] as const) {
    for (const text of [
      bodyOf(format, updated(), 'TEST'),
      checkHealthBody(format, event('CHECK_HEALTH', {}), 'TEST'),
    ]) {
      const { mode, notifyType } = JSON.parse(text!)
      expect([mode, typeof notifyType]).toEqual(['TEST', 'string'])
    }
  }
})
