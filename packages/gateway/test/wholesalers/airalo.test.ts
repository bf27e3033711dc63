import { createHmac } from 'node:crypto'
import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { airaloSupplier } from '@dealer-esim/wholesalers/airalo/airalo.ts'
import type { SuppliedEsim, Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import { readable } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import {
  addPackage,
  addSupplier,
  addTenant,
  payOrders,
  shortenWaits,
  statuses,
  waitUntil,
  walletOf,
} from '../harness/shop.ts'
import { createSoldEsim } from './sold-esim.ts'
import { createWholesalerTestbed } from './wholesaler-testbed.ts'

const TIMEOUT_MS = 2_000
const MINUTE_MS = 60_000
const RETRY_WAIT_MAX_MS = 500
/** A hundredth of a minute, and the margin of 1/15 by which account-rate.ts spaces requests further apart. */
const USAGE_STEP_MS = 640
const QUEUE_MS = 2_000
function configOf({ url, credentials: { clientId = '', clientSecret = '' } }: Simulator) {
  return { url, clientId, clientSecret, timeoutMs: TIMEOUT_MS }
}

const testbed = await createWholesalerTestbed({
  kind: 'airalo',
  catalogueSize: 250,
  configOf,
  create: airaloSupplier,
})
const { base, buy, create, order, products, query, requestOf, shop, simulator, supplier, takenOf, topUpOf } = testbed
afterAll(() => testbed.close())
beforeEach(() => simulator.clearFaults())

/**
 * Queries an eSIM that other requests are waiting for.
 * @returns how far this moves the next free moment. If the query was sent only after the others, it is repeated.
 */
async function queueStepMs(node: Supplier, esim: SuppliedEsim): Promise<number> {
  const row = `wholesaler:${esim.iccid}`
  for (;;) {
    const [queue] = await shop.db.query<{ endsAt: string }>({
      text: `insert into supplier_rates as r (supplier, next_at) values ($1, clock_timestamp() + $2 * interval '1 millisecond')
             on conflict (supplier) do update set next_at = excluded.next_at returning next_at::text as ends_at`,
      values: [row, QUEUE_MS],
    })
    const answered = node.report!([esim])
    const { stepMs, isQueued } = await waitUntil(async () => {
      const [moved] = await shop.db.query<{ stepMs: number; isQueued: boolean }>({
        text: `select (extract(epoch from next_at - $2::text::timestamptz) * 1000)::float8 as step_ms,
                 clock_timestamp() < $2::text::timestamptz as is_queued
               from supplier_rates where supplier = $1 and next_at <> $2::text::timestamptz`,
        values: [row, queue!.endsAt],
      })
      return moved
    })
    await answered
    if (isQueued) return stepMs
  }
}

describe('an order', () => {
  it('returns the codes, the order number and the charge', async () => {
    const { key, productCode } = requestOf()
    const outcome = await order(requestOf({ key, productCode }))
    const sold = simulator.esims().find((esim) => esim.key === key)!
    expect(outcome).toMatchObject({
      kind: 'delivered',
      reference: expect.stringMatching(/^\d+$/),
      esim: { iccid: sold.iccid, matchingId: sold.matchingId, charged: { amount: base.cost } },
    })
  })

  it.each(['answer-lost', 'answer-cut', 'answer-garbled', 'server-error-after', 'slow-answer'] as const)(
    'counts as unknown if no usable answer arrives (%s), and is found by its description',
    async (kind) => {
      simulator.addFault({ kind, operation: 'order', delayMs: 2 * TIMEOUT_MS, times: 1 })
      const request = requestOf()
      expect((await order(request)).kind).toBe('unknown')
      expect((await query(request)).kind).toBe('delivered')
      expect(takenOf(request)).toBe(1)
    },
  )

  it('is not mistaken for an order whose description merely contains its key', async () => {
    await buy(requestOf({ key: 'PART-11' }))
    expect((await query(requestOf({ key: 'PART-1' }))).kind).toBe('retry')
  })

  it('delivered later counts as ordered, and is queried by its number', async () => {
    simulator.addFault({ kind: 'delivered-later', operation: 'order', times: 1 })
    const request = requestOf()
    const outcome = await order(request)
    expect(outcome).toMatchObject({ kind: 'ordered', reference: expect.any(String) })
    const { reference } = outcome as { reference: string }
    expect((await query({ ...request, reference })).kind).toBe('ordered')
    simulator.deliver(simulator.orders().find(({ key }) => key === request.key)!.reference)
    expect(await query({ ...request, reference })).toMatchObject({ kind: 'delivered', reference })
  })

  it.each(['out-of-stock', 'unknown-package'] as const)('that is refused (%s) buys nothing', async (kind) => {
    simulator.addFault({ kind, operation: 'order', times: 1 })
    const request = requestOf()
    expect((await order(request)).kind).toBe('refused')
    expect(takenOf(request)).toBe(0)
  })

  it.each(['no-balance', 'down', 'rate-limited', 'unauthorized'] as const)('is tried again after %s', async (kind) => {
    simulator.addFault({ kind, operation: 'order' })
    const request = requestOf()
    expect((await order(request)).kind).toBe('retry')
    simulator.clearFaults()
    expect((await order(request)).kind).toBe('delivered')
    expect(takenOf(request)).toBe(1)
  })

  it.each(['unauthorized', 'rate-limited', 'request-lost', 'answer-garbled'] as const)(
    'stays in doubt while the list fails (%s)',
    async (kind) => {
      simulator.addFault({ kind, operation: 'list' })
      expect((await query(requestOf())).kind).toBe('unknown')
    },
  )
})

describe('fulfilment', () => {
  it('neither buys again nor refunds while the list does not yet contain the order', async () => {
    const own = await createSimulator('airalo', { catalogueSize: 3 })
    // Without its grace time, the order's absence from the list would be final within five seconds.
    await addSupplier(shop, 'late-list', 'airalo', { ...configOf(own), timeoutMs: 300 })
    const { productCode } = base
    await addPackage(shop.db, 'LATE_LIST', [
      { supplier: 'late-list', productCode },
      { supplier: 'sandbox', productCode: 'ANY' },
    ])
    own.addFault({ kind: 'answer-lost', operation: 'order', times: 1 })
    own.addFault({ kind: 'found-later', operation: 'order', delayMs: MINUTE_MS, times: 1 })
    const tenantId = await addTenant(shop.db)
    const loop = fulfilmentLoop(shop)
    try {
      await payOrders(shop.db, tenantId, 'LATE_LIST')
      const listed = () => own.counters().requestsByOperation.list ?? 0
      await waitUntil(async () => listed() >= 1)
      await waitUntil(async () => {
        const doubted = await shop.db.query({
          // A worker holding the order would write its own time again.
          text: `with free as (
                   select order_id from orders where tenant_id = $1 and lease_token is null for no key update
                 )
                 update order_items i set in_doubt_at = in_doubt_at - interval '10 s' from free
                 where i.tenant_id = $1 and i.order_id = free.order_id and in_doubt_at is not null returning 1`,
          values: [tenantId],
        })
        return doubted.length === 1
      })
      const before = listed()
      await waitUntil(async () => {
        await shortenWaits(shop, tenantId, RETRY_WAIT_MAX_MS)
        return listed() >= before + 3
      })
      expect(await statuses(shop.db, tenantId)).toEqual({ ALLOCATING: 1 })
      own.advanceClock(MINUTE_MS)
      await waitUntil(async () => {
        await shortenWaits(shop, tenantId, RETRY_WAIT_MAX_MS)
        return (await statuses(shop.db, tenantId)).DELIVERED === 1
      })
    } finally {
      await loop.stop(5_000)
      await own.close()
    }
    expect(Object.values(own.counters().takenByKey)).toEqual([1])
    expect((await walletOf(shop.db, tenantId)).refunds).toBe(0)
  })
})

describe('a top-up', () => {
  it.each(['answer-lost', 'server-error-after', 'answer-garbled'] as const)(
    'with the fault %s is in doubt at first, is then found, and is added once',
    async (kind) => {
      const request = topUpOf(await buy())
      simulator.addFault({ kind, operation: 'topUp', times: 1 })
      expect((await order(request)).kind).toBe('unknown')
      expect((await query(request)).kind).toBe('toppedUp')
      expect(simulator.counters().toppedUpByKey[request.key]).toBe(1)
    },
  )

  it('that was never executed is reported as not bought', async () => {
    const request = topUpOf(await buy())
    simulator.addFault({ kind: 'request-lost', operation: 'topUp', times: 1 })
    expect((await order(request)).kind).toBe('unknown')
    expect((await query(request)).kind).toBe('retry')
  })
})

describe('the token', () => {
  const fetched = (of: Simulator) => of.counters().requestsByOperation.token ?? 0
  const inTable = async (name: string) => {
    const [row] = await shop.db.query<{ token: Buffer | null; failure: string | null }>({
      text: 'select token, failure from supplier_tokens where supplier = $1',
      values: [name],
    })
    return row!
  }
  const allowNextFetch = (name: string) =>
    shop.db.query({ text: 'update supplier_tokens set next_fetch_at = now() where supplier = $1', values: [name] })

  it('is fetched once for all nodes, stored encrypted, and fetched again when refused', async () => {
    const own = await createSimulator('airalo', { catalogueSize: 3 })
    const nodes = Array.from({ length: 4 }, () => create(configOf(own), 'shared'))
    const balances = () => Promise.all(nodes.flatMap((node) => [node.balance!(), node.balance!()]))
    expect((await balances()).map(({ kind }) => kind)).toEqual(Array(8).fill('balance'))
    expect(fetched(own)).toBe(1)
    const { token } = await inTable('shared')
    expect(shop.cipher.decrypt(token!, 'supplier:shared').toString()).toMatch(/^[\w-]{40}$/)
    own.advanceClock(25 * 60 * MINUTE_MS) // it has expired there, but not here
    await allowNextFetch('shared')
    expect((await balances()).map(({ kind }) => kind)).toEqual(Array(8).fill('balance'))
    expect(fetched(own)).toBe(2)
    await own.close()
  })

  it('is not fetched endlessly if a new one is refused too', async () => {
    const own = await createSimulator('airalo', { catalogueSize: 3 })
    const node = create(configOf(own), 'refused')
    own.addFault({ kind: 'unauthorized', operation: 'balance' })
    for (let times = 0; times < 5; times++) expect((await node.balance!()).kind).toBe('silent')
    expect(fetched(own)).toBe(1)
    await own.close()
  })

  it('that cannot be fetched is not requested by every node, and orders are not sent', async () => {
    const own = await createSimulator('airalo', { catalogueSize: 3 })
    const nodes = Array.from({ length: 3 }, () => create({ ...configOf(own), clientSecret: 'wrong' }, 'wrong'))
    for (const node of nodes) {
      expect((await node.order([requestOf()]))[0]).toMatchObject({
        kind: 'retry',
        message: expect.stringMatching(/^not sent: Credentials: .*Check clientId and clientSecret/),
      })
    }
    expect(fetched(own)).toBe(1)
    // The refusal concerns only this secret.
    expect((await create(configOf(own), 'wrong').balance!()).kind).toBe('balance')
    await own.close()
  })

  it('is fetched by another node if the fetching node has died', async () => {
    const own = await createSimulator('airalo', { catalogueSize: 3 })
    expect((await create(configOf(own), 'dead').balance!()).kind).toBe('balance')
    await shop.db.query({
      text: `update supplier_tokens set token = null, next_fetch_at = now() + interval '500 ms' where supplier = 'dead'`,
    })
    expect((await create(configOf(own), 'dead').balance!()).kind).toBe('balance')
    expect(fetched(own)).toBe(2)
    await own.close()
  })
})

describe('the account', () => {
  it('provides all pages of a catalogue of packages and top-ups', () => {
    expect(products.filter(({ packageType }) => packageType === 'BASE')).toHaveLength(250)
    expect(new Set(products.map(({ productCode }) => productCode)).size).toBe(products.length)
    for (const { countries, cost, currencyCode } of products) {
      expect([countries.length > 0, cost > 0n, currencyCode]).toEqual([true, true, 'USD'])
    }
  })

  it('provides no catalogue if one of its pages is broken', async () => {
    simulator.addFault({ kind: 'answer-garbled', operation: 'catalogue' })
    const read = async () => {
      for await (const _ of supplier.catalogue!()) {
        // only read
      }
    }
    await expect(read()).rejects.toThrow(/page 1 of the list cannot be read/)
  })

  it('reports its balance in units of 1/10 000', async () => {
    simulator.setBalance(12_345_600)
    expect(await supplier.balance!()).toEqual({ kind: 'balance', amount: 12_345_600n, currencyCode: 'USD' })
    simulator.setBalance(100_000_000)
  })

  it('lists every eSIM once with its key', async () => {
    const { key, iccid } = await buy()
    const listed: string[][] = []
    for await (const one of readable(supplier.list!(new Date(Date.now() - 3_600_000))))
      listed.push([one.key, one.iccid])
    expect(listed.filter(([named]) => named === key)).toEqual([[key, iccid]])
  })

  it('reports status and usage', async () => {
    const esim = await buy()
    simulator.changeEsim({ iccid: esim.iccid, status: 'IN_USE', usedBytes: 250_000_000 })
    const [outcome] = await supplier.report!([esim])
    expect(outcome).toMatchObject({ report: { esimStatus: 'IN_USE', usage: 250_000_000n } })
  })

  it('is queried about one eSIM at most 100 times a minute over all nodes', async () => {
    const [one, other] = [await buy(), await buy()]
    for (const node of [supplier, create()])
      expect(Math.abs((await queueStepMs(node, one)) - USAGE_STEP_MS)).toBeLessThan(1)
    simulator.resetRecords()
    await Promise.all([supplier.report!([one, one]), create().report!([one, other])])
    const asked = simulator.requests().filter(({ operation }) => operation === 'usage')
    expect(asked).toHaveLength(4)
    expect(asked.findIndex(({ path }) => path.includes(other.iccid))).toBeLessThan(2)
  })

  it('refuses a cancellation, because only the supplier’s support can cancel', async () => {
    expect(await supplier.cancel(await buy())).toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/support/),
    })
  })

  it('passes its test, and a fault is reported with its remedy', async () => {
    expect(await supplier.test()).toBeUndefined()
    expect(await create({ clientSecret: 'wrong' }, 'a').test()).toMatch(/^Credentials: .*Check clientId/)
    expect(await create({ url: 'http://127.0.0.1:1/v2' }, 'b').test()).toMatch(/^Connection: .*Check the url/)
    const other = simulator.url.replace('/v2', '/v9')
    expect(await create({ url: other }, 'c').test()).toMatch(/^Protocol: .*must end with the version/)
  })
})

describe('an event', () => {
  const signed = (body: string, secret = simulator.credentials.clientSecret!) => {
    const signature = createHmac('sha512', secret).update(body).digest('hex')
    return { headers: { 'airalo-signature': signature }, body: Buffer.from(body) }
  }
  const send = (body: string, secret?: string) => supplier.receive!(signed(body, secret))

  it('identifies the order to query by its description', async () => {
    expect(await send('{"id":1,"description":"KEY-1"}')).toEqual({ kind: 'changed', keys: ['KEY-1'], reports: [] })
  })

  it('about low data carries its figures if they can be read', async () => {
    const iccid = '8999900000000000017'
    const lowData = (members: object) => send(JSON.stringify({ level: '90%', iccid, ...members }))
    expect(await lowData({ remaining_percentage: 10 })).toMatchObject({
      keys: [],
      reports: [{ iccid, report: { remainingPercent: 10 } }],
    })
    for (const remaining_percentage of [undefined, null, -1, 101, 'few']) {
      expect(await lowData({ remaining_percentage })).toMatchObject({ keys: [], reports: [] })
    }
  })

  it('about low data raises the usage of its eSIM, if it is sent to the route with its signature', async () => {
    const sold = await createSoldEsim(shop, base.productCode)
    const { iccid, totalVolume, usage } = sold
    const post = (remaining_percentage: number, secret?: string) =>
      sold.post(signed(JSON.stringify({ level: '75%', remaining_percentage, iccid }), secret))
    expect([await post(1, 'other'), await usage()]).toEqual([401, null])
    expect([await post(25), await usage()]).toEqual([204, (totalVolume * 75n) / 100n])
    await sold.close()
  })

  it('is refused if its signature is wrong or missing', async () => {
    expect((await send('{"description":"KEY-1"}', 'other')).kind).toBe('refused')
    expect((await supplier.receive!({ headers: {}, body: Buffer.from('{}') })).kind).toBe('refused')
  })
})
