import type { Profile } from '@dealer-esim/contract'
import { describe, expect, it } from 'vitest'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { gatewaySupplier } from './gateway.ts'

/* An upstream that does not keep to the contract. */

const KEY = 'ORDER-1'
const ESIM = {
  ...{ transactionId: KEY, iccid: '8999900000000000017', esimStatus: 'GOT_RESOURCE', smdpStatus: 'RELEASED' },
  ...{ smdpAddress: 'smdp.example.com', matchingId: 'M-1', ac: 'LPA:1$smdp.example.com$M-1' },
  lastUpdateTime: '2026-11-20T13:28:09.000Z',
} as Profile
const REQUEST = { tenantId: 'T', orderId: 'O', itemNo: 1, key: KEY, productCode: 'P' }
const OF_ANOTHER = { kind: 'unknown', message: 'the upstream gateway answered for another order' }

/** What it answers to each operation, whatever it is asked. */
function upstream(answers: Record<string, (request: Record<string, unknown>) => object>) {
  const asked: string[] = []
  const outbound = {
    async request({ url, body }: { url: string; body: string }) {
      const operation = url.split('/v1/')[1]!
      asked.push(operation)
      const answer = { code: '000000', message: 'success', data: answers[operation]!(JSON.parse(body)) }
      return { kind: 'answer', status: 200, headers: {}, body: Buffer.from(JSON.stringify(answer)) }
    },
  } as unknown as Outbound
  const config = { url: 'http://127.0.0.1:1', appKey: 'demo_app_key', appSecret: 'demo_app_secret' }
  return { supplier: gatewaySupplier('up', config, { outbound }), asked }
}

const query = (data: object) => upstream({ 'esim/query': () => data }).supplier.query([REQUEST], 'RESUME')

describe('what an upstream answers for another order is not believed', () => {
  const ours = { transactionId: KEY, orderStatus: 'DELIVERED', profileList: [ESIM] }
  const anothers = { ...ESIM, transactionId: 'ORDER-2' }

  it('an order, or its eSIM, that is not of our key stays in doubt', async () => {
    expect(await query(ours)).toMatchObject([{ kind: 'delivered' }])
    expect(await query({ ...ours, transactionId: 'ORDER-2' })).toEqual([OF_ANOTHER])
    expect(await query({ ...ours, transactionId: undefined })).toEqual([OF_ANOTHER])
    expect(await query({ ...ours, profileList: [anothers] })).toEqual([OF_ANOTHER])
    expect(await query({ ...ours, profileList: [ESIM, anothers] })).toEqual([OF_ANOTHER])
    const failed = { transactionId: 'ORDER-2', orderStatus: 'FAILED', profileList: [] }
    expect(await query(failed)).toEqual([OF_ANOTHER])
  })

  it('neither is its word that it has taken an order', async () => {
    const { supplier, asked } = upstream({ 'esim/order': () => ({ transactionId: 'ORDER-2', orderStatus: 'PAID' }) })
    expect(await supplier.order([REQUEST])).toEqual([OF_ANOTHER])
    expect(asked).toEqual(['esim/order'])
  })

  it('an eSIM of the same ICCID, which was sold again, neither is cancelled nor reports for ours', async () => {
    const { supplier } = upstream({
      'esim/profile/list': () => ({ profileList: [{ ...anothers, esimStatus: 'CANCEL' }], nextCursor: null }),
    })
    const esim = { ...REQUEST, iccid: ESIM.iccid, matchingId: ESIM.matchingId, shown: true }
    expect(await supplier.cancel(esim)).toMatchObject({ kind: 'refused' })
    expect(await supplier.report!([esim])).toEqual([{ kind: 'silent' }])
  })
})

it('what an order was debited with is known from its own answer, also where nobody tells more of it', async () => {
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

describe('what cannot be read of an upstream', () => {
  const UNREADABLE = { kind: 'unknown', message: expect.stringContaining('cannot be read') }

  it('leaves an order in doubt, and its supplier is not down: others’ orders pass', async () => {
    const answer = { transactionId: KEY, orderStatus: 'DELIVERED' }
    for (const profileList of [undefined, null, 'none', [null], ['eSIM']]) {
      expect(await query({ ...answer, profileList }), String(profileList)).toEqual([UNREADABLE])
    }
  })

  it('is no reason why an order failed', async () => {
    const failed = { transactionId: KEY, orderStatus: 'FAILED', profileList: [] }
    const message = 'FAILED at the upstream gateway'
    for (const packageInfoList of [undefined, [null], [{ failureReason: 7 }]]) {
      expect(await query({ ...failed, packageInfoList })).toEqual([{ kind: 'refused', message }])
    }
  })

  it('says nothing of its own eSIM, and takes no word from the others that are asked about', async () => {
    const lists: Record<string, unknown> = { ABSENT: undefined, NULL: [null], TEXT: ['eSIM'], [KEY]: [ESIM] }
    const { supplier } = upstream({
      'esim/profile/list': ({ transactionId }) => ({ profileList: lists[String(transactionId)], nextCursor: null }),
    })
    const { iccid, matchingId } = ESIM
    const esims = Object.keys(lists).map((key) => ({ ...REQUEST, key, iccid, matchingId, shown: true }))
    const [silent, told] = [{ kind: 'silent' }, expect.objectContaining({ kind: 'reported' })]
    expect(await supplier.report!(esims)).toEqual([silent, silent, silent, told])
    expect(await supplier.cancel(esims[0]!)).toMatchObject({ kind: 'refused' })
  })
})

describe('the list of an upstream', () => {
  /** @returns the eSIMs that were read, why it ended before its end, and the pages that were asked for. */
  async function read(nextCursor: (page: number) => unknown) {
    const { supplier, asked } = upstream({
      'esim/profile/list'() {
        if (asked.length > 5_000) throw new Error('it is still going on')
        return { profileList: [ESIM], nextCursor: nextCursor(asked.length) }
      },
    })
    const read = { keys: [] as string[], fault: undefined as string | undefined }
    try {
      for await (const { key } of supplier.list!(new Date(0))) read.keys.push(key)
    } catch (error) {
      read.fault = (error as Error).message
    }
    return { ...read, pages: asked.length }
  }

  it('is read to the page that says that it is the last', async () => {
    const cursors = ['a', 'b', null]
    expect(await read((page) => cursors[page - 1])).toEqual({ keys: [KEY, KEY, KEY], fault: undefined, pages: 3 })
  })

  it.each([
    ['comes again', 2, () => 'again'],
    ['comes again later', 3, (page: number) => `page ${page % 2}`],
    ['is missing', 1, () => undefined],
    ['is no text', 1, () => 7],
  ])('ends with a cursor that %s: all other reconciliation waits for it', async (_, pages, nextCursor) => {
    expect(await read(nextCursor)).toMatchObject({ pages, fault: `page ${pages} of its list leads to no other page` })
  })

  it('ends where it has more pages than anybody sells eSIMs', async () => {
    const { keys, fault } = await read((page) => `page ${page}`)
    expect([keys.length, fault]).toEqual([4_000, 'its list has more than 4000 pages'])
  })
})
