import { createHmac } from 'node:crypto'
import type { Profile } from '@dealer-esim/contract'
import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { describe, expect, it } from 'vitest'
import { readable } from '#unreadable-entry.ts'
import { gatewaySupplier } from './gateway.ts'

/* An upstream that violates the contract. */

const KEY = 'ORDER-1'
const ESIM = {
  ...{ transactionId: KEY, iccid: '8999900000000000017', esimStatus: 'GOT_RESOURCE', smdpStatus: 'RELEASED' },
  ...{ smdpAddress: 'smdp.example.com', matchingId: 'M-1', ac: 'LPA:1$smdp.example.com$M-1' },
  lastUpdateTime: '2026-11-20T13:28:09.000Z',
} as Profile
const REQUEST = { tenantId: 'T', orderId: 'O', itemNo: 1, key: KEY, productCode: 'P' }
const OTHER_ORDER = { kind: 'unknown', message: 'the upstream gateway answered for another order' }

/** An upstream with a fixed answer to each given operation, and without all the others. */
function upstream(
  answers: Record<string, (request: Record<string, unknown>) => object>,
  refusals: Record<string, string> = {},
) {
  const requested: string[] = []
  const outbound = {
    async request({ url, body }: { url: string; body: string }) {
      const operation = url.split('/v1/')[1]!
      requested.push(operation)
      const data = answers[operation]?.(JSON.parse(body))
      const answer = data
        ? { code: '000000', message: 'success', data }
        : { code: refusals[operation] ?? '000109', message: 'no such operation', data: {} }
      return { kind: 'answer', status: data ? 200 : 404, headers: {}, body: Buffer.from(JSON.stringify(answer)) }
    },
  } as unknown as Outbound
  const config = { url: 'http://127.0.0.1:1', appKey: 'demo_app_key', appSecret: 'demo_app_secret' }
  return { supplier: gatewaySupplier('up', config, { outbound }), requested, outbound }
}

const query = (data: object) => upstream({ 'esim/query': () => data }).supplier.query([REQUEST], 'RESUME')

describe('a test twin of an upstream', () => {
  const config = { url: 'http://127.0.0.1:1', appKey: 'demo_app_key', appSecret: 'demo_app_secret' }
  const accountOf = (mode: string | undefined, deployment: string) => {
    const health = { status: 'UP', tenantId: 'T', clientName: 'C', ...(mode && { mode }) }
    const { outbound, requested } = upstream({ health: () => health, 'esim/query': () => ({}) })
    return { supplier: gatewaySupplier('up', config, { outbound, config: { deployment } }), requested }
  }

  it('is down on a production gateway before anything is asked of it', async () => {
    const { supplier, requested } = accountOf('TEST', 'production')
    expect(await supplier.order([REQUEST])).toMatchObject([{ kind: 'retry', down: true }])
    expect(await supplier.query([REQUEST], 'RESUME')).toMatchObject([{ kind: 'unknown', down: true }])
    expect(await supplier.test()).toMatch(/test twin/)
    expect(requested).toEqual(['health'])
  })

  it.each([
    ['LIVE', 'production'],
    [undefined, 'production'],
    ['TEST', 'test'],
  ])('is not suspected with mode %s on a %s gateway', async (mode, deployment) => {
    const { supplier, requested } = accountOf(mode, deployment)
    await supplier.order([REQUEST])
    expect(requested).toContain('esim/order')
  })
})

describe('an answer for another order is not accepted', () => {
  const ours = { transactionId: KEY, orderStatus: 'DELIVERED', profileList: [ESIM] }
  const otherEsim = { ...ESIM, transactionId: 'ORDER-2' }

  it('if the key or the eSIM is not ours, so that the item stays in doubt', async () => {
    expect(await query(ours)).toMatchObject([{ kind: 'delivered' }])
    expect(await query({ ...ours, transactionId: 'ORDER-2' })).toEqual([OTHER_ORDER])
    expect(await query({ ...ours, transactionId: undefined })).toEqual([OTHER_ORDER])
    expect(await query({ ...ours, profileList: [otherEsim] })).toEqual([OTHER_ORDER])
    expect(await query({ ...ours, profileList: [ESIM, otherEsim] })).toEqual([OTHER_ORDER])
    const failed = { transactionId: 'ORDER-2', orderStatus: 'FAILED', profileList: [] }
    expect(await query(failed)).toEqual([OTHER_ORDER])
  })

  it('even if it comes as the answer to our own order request', async () => {
    const { supplier, requested } = upstream({
      'esim/order': () => ({ transactionId: 'ORDER-2', orderStatus: 'PAID' }),
    })
    expect(await supplier.order([REQUEST])).toEqual([OTHER_ORDER])
    expect(requested).toEqual(['esim/order'])
  })

  it('if its ICCID was sold again, so that it neither cancels nor reports our eSIM', async () => {
    const { supplier } = upstream({
      'esim/profile/list': () => ({ profileList: [{ ...otherEsim, esimStatus: 'CANCEL' }], nextCursor: null }),
    })
    const esim = { ...REQUEST, iccid: ESIM.iccid, matchingId: ESIM.matchingId, shown: true }
    expect(await supplier.cancel(esim)).toMatchObject({ kind: 'refused' })
    expect(await supplier.report!([esim])).toEqual([{ kind: 'silent' }])
  })
})

describe('an upstream that is too old for an operation', () => {
  const esim = { ...REQUEST, iccid: ESIM.iccid, matchingId: ESIM.matchingId, shown: true }
  const old = () => upstream({ 'esim/profile/list': () => ({ profileList: [ESIM], nextCursor: null }) })

  it.each(['cancel', 'suspend', 'unsuspend', 'revoke'] as const)('definitely refuses to %s', async (action) => {
    const { supplier, requested } = old()
    expect(await supplier[action]!(esim, 'ACTION-1')).toEqual({
      kind: 'refused',
      message: expect.stringMatching('too old'),
    })
    expect(requested).toEqual(['esim/profile/list', `esim/${action}`])
  })

  it('definitely refuses a top-up, so that it is refunded', async () => {
    const { supplier } = old()
    const topUp = { key: KEY, iccid: ESIM.iccid, matchingId: ESIM.matchingId }
    const [outcome] = await supplier.topUp!([{ ...REQUEST, key: 'ORDER-9', topUp }])
    expect(outcome).toEqual({ kind: 'refused', message: expect.stringMatching('too old') })
  })

  it('does not refuse an order, because the upstream address may be wrong', async () => {
    expect(await old().supplier.order([REQUEST])).toMatchObject([{ kind: 'retry' }])
  })
})

it('the charge is taken from the order’s answer if later queries do not return a charge', async () => {
  const charged = { amount: 27_000n, currencyCode: 'USD' }
  const ordered = async (profileList: object[]) => {
    const { supplier } = upstream({
      'esim/order': () => ({ transactionId: KEY, orderStatus: 'PAID', amount: 27_000, currencyCode: 'USD' }),
      'esim/query': () => ({ transactionId: KEY, orderStatus: 'ALLOCATING', profileList }),
    })
    return supplier.order([REQUEST])
  }
  expect(await ordered([ESIM])).toMatchObject([{ kind: 'delivered', esim: { charged } }])
  expect(await ordered([])).toMatchObject([{ kind: 'unknown', charged }])
})

describe('an unreadable answer', () => {
  const UNREADABLE = { kind: 'unknown', message: expect.stringContaining('unreadable') }

  it('leaves an order in doubt without counting as a failure for the breaker', async () => {
    const answer = { transactionId: KEY, orderStatus: 'DELIVERED' }
    for (const profileList of [undefined, null, 'none', [null], ['eSIM']]) {
      expect(await query({ ...answer, profileList }), String(profileList)).toEqual([UNREADABLE])
    }
  })

  it('does not refuse an action or a top-up, because an earlier call may have been carried out', async () => {
    for (const answer of [{}, { profileList: null, nextCursor: null }, { profileList: [null] }]) {
      const { supplier, requested } = upstream({ 'esim/profile/list': () => answer })
      const esim = { ...REQUEST, iccid: ESIM.iccid, matchingId: ESIM.matchingId, shown: true }
      expect(await supplier.cancel(esim, 'ACTION-1')).toEqual(UNREADABLE)
      const topUp = { key: KEY, iccid: ESIM.iccid, matchingId: ESIM.matchingId }
      const [outcome] = await supplier.topUp!([{ ...REQUEST, key: 'ORDER-9', topUp }])
      expect(outcome).toEqual({ ...UNREADABLE, kind: 'retry' })
      expect(requested).toEqual(['esim/profile/list', 'esim/profile/list'])
    }
  })

  it('is not used to explain a failed order', async () => {
    const failed = { transactionId: KEY, orderStatus: 'FAILED', profileList: [] }
    const message = 'FAILED at the upstream gateway'
    for (const packageInfoList of [undefined, [null], [{ failureReason: 7 }]]) {
      expect(await query({ ...failed, packageInfoList })).toEqual([{ kind: 'refused', message }])
    }
  })

  it('yields no report on its own eSIM, but does not prevent reports on others', async () => {
    const lists: Record<string, unknown> = { ABSENT: undefined, NULL: [null], TEXT: ['eSIM'], [KEY]: [ESIM] }
    const { supplier } = upstream({
      'esim/profile/list': ({ transactionId }) => ({ profileList: lists[String(transactionId)], nextCursor: null }),
    })
    const { iccid, matchingId } = ESIM
    const esims = Object.keys(lists).map((key) => ({ ...REQUEST, key, iccid, matchingId, shown: true }))
    const [silent, reported] = [{ kind: 'silent' }, expect.objectContaining({ kind: 'reported' })]
    expect(await supplier.report!(esims)).toEqual([silent, silent, silent, reported])
  })
})

describe('an upstream’s list', () => {
  /** @returns the eSIMs that were read, the error if there was one, and the number of requested pages */
  async function read(nextCursor: (page: number) => unknown) {
    const { supplier, requested } = upstream({
      'esim/profile/list'() {
        if (requested.length > 5_000) throw new Error('it does not end')
        return { profileList: [ESIM], nextCursor: nextCursor(requested.length) }
      },
    })
    const read = { keys: [] as string[], fault: undefined as string | undefined }
    try {
      for await (const { key } of readable(supplier.list!(new Date(0)))) read.keys.push(key)
    } catch (error) {
      read.fault = (error as Error).message
    }
    return { ...read, pages: requested.length }
  }

  it('is read to its last page', async () => {
    const cursors = ['a', 'b', null]
    expect(await read((page) => cursors[page - 1])).toEqual({ keys: [KEY, KEY, KEY], fault: undefined, pages: 3 })
  })

  it.each([
    ['is repeated', 2, () => 'again'],
    ['is repeated later', 3, (page: number) => `page ${page % 2}`],
    ['is missing', 1, () => undefined],
    ['is not a text', 1, () => 7],
  ])('fails at a cursor that %s, because other reconciliation waits for the list', async (_, pages, nextCursor) => {
    expect(await read(nextCursor)).toMatchObject({
      pages,
      fault: `page ${pages} of the list has no valid cursor to the next page`,
    })
  })

  it('fails if there are more pages than a supplier can have', async () => {
    const { keys, fault } = await read((page) => `page ${page}`)
    expect([keys.length, fault]).toEqual([4_000, 'the list has more than 4000 pages'])
  })
})

describe('an eSIM action at an upstream', () => {
  const OWNED = { ...ESIM, esimTranNo: 'E-1' }
  const esim = { ...REQUEST, iccid: ESIM.iccid, matchingId: ESIM.matchingId, shown: true }
  const profiles = { 'esim/profile/list': () => ({ profileList: [OWNED], nextCursor: null }) }
  const answer = (actionStatus: string, parts: object = {}) => {
    return { transactionId: 'A-1', action: 'SUSPEND', actionStatus, failureReason: null, ...parts }
  }

  it('is requested under our key, for the eSIM of our order', async () => {
    const sent: unknown[] = []
    const { supplier } = upstream({
      ...profiles,
      'esim/suspend': (request) => {
        sent.push(request)
        return answer('DONE')
      },
    })
    expect(await supplier.suspend!(esim, 'A-1')).toEqual({ kind: 'done' })
    expect(sent).toEqual([{ transactionId: 'A-1', action: 'SUSPEND', esimTranNo: 'E-1' }])
  })

  it('is queried by our key while PENDING, and is in doubt if it stays PENDING', async () => {
    let queries = 0
    const later = { ...profiles, 'esim/suspend': () => answer('PENDING') }
    const decided = () => answer(++queries < 2 ? 'PENDING' : 'REFUSED', { failureReason: 'in a call' })
    const { supplier } = upstream({ ...later, 'esim/action/query': decided })
    expect(await supplier.suspend!(esim, 'A-1')).toEqual({ kind: 'refused', message: 'in a call' })
    const pending = upstream({ ...later, 'esim/action/query': () => answer('PENDING') })
    expect(await pending.supplier.suspend!(esim, 'A-1')).toMatchObject({ kind: 'unknown' })
  })

  it('is in doubt if it is under review at the upstream, or if the answer is for another action', async () => {
    for (const odd of [
      answer('UNDER_REVIEW'),
      answer('DONE', { transactionId: 'A-2' }),
      answer('DONE', { action: 'REVOKE' }),
    ]) {
      const { supplier } = upstream({ ...profiles, 'esim/suspend': () => odd })
      expect(await supplier.suspend!(esim, 'A-1')).toMatchObject({ kind: 'unknown' })
    }
  })

  it('is not requested again if it has already been carried out', async () => {
    const gone = {
      'esim/profile/list': () => ({ profileList: [{ ...OWNED, esimStatus: 'CANCEL' }], nextCursor: null }),
    }
    const { supplier, requested } = upstream(gone)
    expect(await supplier.cancel(esim, 'A-1')).toEqual({ kind: 'cancelled' })
    expect(requested).toEqual(['esim/profile/list'])
  })

  it('may be a top-up under our key, which a query accepts only as a TOPUP', async () => {
    const sent: unknown[] = []
    const placed = { transactionId: KEY, orderStatus: 'PAID', amount: 9, currencyCode: 'USD' }
    let orderType = 'TOPUP'
    const { supplier } = upstream({
      ...profiles,
      'esim/topup': (request) => {
        sent.push(request)
        return placed
      },
      'esim/query': () => ({ ...placed, orderType, orderStatus: 'DELIVERED', profileList: [] }),
    })
    const topUp = { key: KEY, iccid: ESIM.iccid, matchingId: ESIM.matchingId }
    const charged = { amount: 9n, currencyCode: 'USD' }
    expect(await supplier.topUp!([{ ...REQUEST, periodNum: 3, topUp }])).toEqual([{ kind: 'toppedUp', charged }])
    expect(sent).toEqual([{ transactionId: KEY, esimTranNo: 'E-1', packageCode: 'P', periodNum: 3 }])
    orderType = 'NEW'
    expect(await supplier.query([{ ...REQUEST, topUp }], 'RESUME')).toEqual([OTHER_ORDER])
  })
})

describe('a usage event', () => {
  const usage = { orderUsage: 500, usageUpdateTime: '2026-11-20T13:28:09.000Z' }
  const receive = (members: object, secret = 'demo_app_secret') => {
    const content = { transactionId: KEY, iccid: ESIM.iccid, ...usage, ...members }
    const body = JSON.stringify({ notifyId: 'N-1', notifyType: 'ESIM_USAGE', content })
    const timestamp = String(Math.floor(Date.now() / 1_000))
    const signature = createHmac('sha256', secret).update(`N-1.${timestamp}.${body}`).digest('base64')
    const signed = { 'webhook-id': 'N-1', 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
    return upstream({}).supplier.receive!({ headers: signed, body: Buffer.from(body) })
  }

  it('carries the figures with their time', async () => {
    const report = { time: new Date(usage.usageUpdateTime), usage: 500n }
    expect(await receive({})).toEqual({ kind: 'changed', keys: [KEY], reports: [{ iccid: ESIM.iccid, report }] })
  })

  it.each([{ orderUsage: -1 }, { orderUsage: '500' }, { usageUpdateTime: 'soon' }, { iccid: 7 }])(
    'with %j only identifies the order to query',
    async (members) => expect(await receive(members)).toEqual({ kind: 'changed', keys: [KEY] }),
  )

  it('with another signature is refused', async () => {
    expect(await receive({}, 'other')).toMatchObject({ kind: 'refused' })
  })
})

describe('the connection test', () => {
  const health = () => ({ status: 'UP' })

  it('queries an order that does not exist, because a restricted key may lack that operation', async () => {
    const { supplier, requested } = upstream({ health })
    expect(await supplier.test()).toBe('000109: no such operation')
    expect(requested).toEqual(['health', 'esim/query'])
  })

  it('passes if the order is not found, and ends with the first failure', async () => {
    const refusing = upstream({ health }, { 'esim/query': '200013' })
    expect(await refusing.supplier.test()).toBeUndefined()
    const restricted = upstream({ health }, { 'esim/query': '101009' })
    expect(await restricted.supplier.test()).toMatch(/^Credentials: 101009 /)
    const unknown = upstream({}, { health: '101004' })
    expect(await unknown.supplier.test()).toMatch(/^Credentials: 101004 /)
    expect(unknown.requested).toEqual(['health'])
  })
})
