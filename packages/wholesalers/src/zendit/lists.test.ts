import { describe, expect, it } from 'vitest'
import { Unreadable } from '#unreadable-entry.ts'
import type { ZenditClient } from './client.ts'
import { listProducts, listPurchases, productOf } from './lists.ts'
import { reportOf } from './reports.ts'

const OFFER = {
  offerId: 'ESIM-EU-7D-1GB',
  enabled: true,
  priceType: 'FIXED',
  brandName: 'eSIM Europe',
  shortNotes: '1 GB, 7 days',
  country: '',
  roaming: [{ country: 'FR' }, { country: 'DE' }, { country: 'FR' }],
  dataGB: 1.5,
  dataUnlimited: false,
  durationDays: 7,
  cost: { currency: 'USD', currencyDivisor: 100, fixed: 250, fee: 10 },
}

describe('an offer', () => {
  it('is read as a product with all of its countries and a cost that includes the fee', () => {
    expect(productOf(OFFER)).toEqual({
      productCode: 'ESIM-EU-7D-1GB',
      name: 'eSIM Europe 1 GB, 7 days',
      packageType: 'BASE',
      countries: ['FR', 'DE'],
      volume: 1_500_000_000n,
      isDayPass: false,
      durationDays: 7,
      cost: 26_000n,
      currencyCode: 'USD',
    })
    expect(productOf({ ...OFFER, dataGB: 0, dataUnlimited: true })).toMatchObject({ volume: null })
  })

  it.each([{ enabled: false }, { priceType: 'RANGE' }, { dataGB: 0 }])('is not sold with %j', (members) => {
    expect(productOf({ ...OFFER, ...members })).toBeUndefined()
  })

  it.each([
    { cost: undefined },
    { cost: { ...OFFER.cost, currency: null } },
    { cost: { ...OFFER.cost, fixed: undefined } },
    { dataGB: '1' },
    { durationDays: 0 },
    { offerId: 7 },
  ])('is unreadable with %j', (members) => {
    expect(productOf({ ...OFFER, ...members })).toBeInstanceOf(Unreadable)
  })

  it('adds its percentage fee to the cost, and is named after its region if it lists no countries', () => {
    const cost = { currency: 'USD', currencyDivisor: 100, fixed: 450, feePct: 1.5 }
    expect(productOf({ ...OFFER, cost })).toMatchObject({ cost: 45_675n })
    expect(productOf({ ...OFFER, roaming: [], regions: ['Global'] })).toMatchObject({
      countries: ['!RG-Global'],
      name: 'Global eSIM Europe 1 GB, 7 days',
    })
  })
})

describe('a list', () => {
  /** Answers with the pages in turn. */
  function clientWith(...pages: unknown[]): ZenditClient & { paths: string[] } {
    const paths: string[] = []
    return {
      paths,
      get: async (path, query) => {
        paths.push(`${path}?${new URLSearchParams(query)}`)
        const body = pages.shift() as Record<string, unknown> | undefined
        return { kind: 'reply', status: body === undefined ? 500 : 200, body, retryAfterMs: undefined, time: undefined }
      },
      post: async () => {
        throw new Error('a list changes nothing')
      },
    }
  }
  async function read<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
    const all: Row[] = []
    for await (const row of rows) all.push(row)
    return all
  }

  it('is read page by page up to its total', async () => {
    const client = clientWith({ list: [OFFER, OFFER], total: 3 }, { list: [OFFER], total: 3 })
    expect(await read(listProducts(client))).toHaveLength(3)
    expect(client.paths).toEqual(['/esim/offers?_limit=1024&_offset=0', '/esim/offers?_limit=1024&_offset=2'])
  })

  it.each([
    ['a failed page', [{ list: [OFFER], total: 2 }]],
    [
      'an end before its total',
      [
        { list: [OFFER], total: 2 },
        { list: [], total: 2 },
      ],
    ],
    ['no total', [{ list: [OFFER] }]],
    ['no rows', [{ total: 0 }]],
  ])('with %s ends with an error, because the list is incomplete', async (_, pages) => {
    await expect(read(listProducts(clientWith(...pages)))).rejects.toThrow(/list/)
  })

  it('keeps its other rows if one of them is unreadable', async () => {
    const entries = await read(listProducts(clientWith({ list: [7, OFFER], total: 2 })))
    expect(entries).toEqual([
      { productCode: undefined, entry: 'entry 1 of page 1', reason: 'it is not an object' },
      expect.objectContaining({ productCode: OFFER.offerId }),
    ])
  })

  it('of purchases contains those completed since a given time', async () => {
    const row = {
      transactionId: 'ORDER-1',
      status: 'DONE',
      createdAt: '2026-11-25T00:00:00Z',
      confirmation: { iccid: '8999900000000000017F' },
    }
    const rows = [row, { ...row, status: 'FAILED' }, { ...row, confirmation: undefined }, { ...row, createdAt: 'x' }]
    const client = clientWith({ list: rows, total: 4 })
    const time = new Date('2026-11-25T00:00:00Z')
    expect(await read(listPurchases(client, new Date('2026-11-24T12:30:00.789Z')))).toEqual([
      { key: 'ORDER-1', iccid: '8999900000000000017', cancelled: false, time },
      { entry: 'entry 3 of page 1', reason: 'the iccid of ORDER-1 is unreadable' },
      { entry: 'entry 4 of page 1', reason: 'the createdAt of ORDER-1 is unreadable' },
    ])
    expect(client.paths[0]).toContain('createdAt=gte2026-11-24T12%3A30%3A00Z&status=DONE')
  })
})

describe('an eSIM report', () => {
  const iccid = '8999900000000000017'
  const now = new Date('2026-11-25T12:00:00Z')
  const plan = {
    iccid,
    initialDataGB: 1,
    remainingDataGB: 0.25,
    startAt: '2026-11-25T00:00:00Z',
    endAt: '2026-12-02T00:00:00Z',
  }
  const queued = { iccid, initialDataGB: 2, remainingDataGB: 2 }

  it('adds up its plans', () => {
    expect(reportOf([plan], iccid, now)).toEqual({
      time: now,
      esimStatus: 'IN_USE',
      usage: 750_000_000n,
      activateTime: new Date(plan.startAt),
      expiredTime: new Date(plan.endAt),
    })
    // The end of a queued plan is not known yet.
    const both = reportOf([plan, queued], iccid, now)
    expect(both).toMatchObject({ esimStatus: 'IN_USE', usage: 750_000_000n })
    expect(both).not.toHaveProperty('expiredTime')
  })

  it('says that the eSIM is used up once no plan has data left', () => {
    const empty = { ...plan, remainingDataGB: 0 }
    expect(reportOf([empty], iccid, now)).toMatchObject({ esimStatus: 'USED_UP' })
    expect(reportOf([empty, queued], iccid, now)).toMatchObject({ esimStatus: 'IN_USE' })
  })

  it('states no usage for an unlimited plan, and does not consider it used up', () => {
    const unlimited = { ...plan, initialDataGB: 0, remainingDataGB: 0 }
    const report = reportOf([unlimited], iccid, now)
    expect(report).toMatchObject({ esimStatus: 'IN_USE' })
    expect(report).not.toHaveProperty('usage')
  })

  it('reads both spellings of the remaining volume', () => {
    const { remainingDataGB, ...rest } = plan
    const misspelt = { ...rest, reamainingDataGB: remainingDataGB }
    expect(reportOf([misspelt], iccid, now)).toMatchObject({ usage: 750_000_000n })
  })

  it.each([[[]], [[7]], [[{ ...plan, iccid: '8999900000000000025' }]]])(
    'is not made if the eSIM has no plans (%j)',
    (list) => {
      expect(reportOf(list, iccid, now)).toBeUndefined()
    },
  )

  it('states no usage if one of the plans is unreadable', () => {
    expect(reportOf([plan, null], iccid, now)).not.toHaveProperty('usage')
  })
})
