import type { EsimExpiringContent, EsimUsageContent, WebhookSetRequest } from '@dealer-esim/contract'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { ProfileReport } from '@dealer-esim/wholesalers/supplier.ts'
import fc from 'fast-check'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { applyReports } from '#esims/apply-reports.ts'
import type { AddedPackage } from '#esims/life/esim-lifecycle.ts'
import { recordExpiryNotices } from '#esims/life/expiring.ts'
import { applyTopUp } from '#esims/life/lives.ts'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { lockOrders } from '#orders/lock-orders.ts'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { createScriptedSupplier, newEsim } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, createShop, payOrders, type Shop } from '../harness/shop.ts'

/* ESIM_USAGE and ESIM_EXPIRING: each is in the log exactly once, whatever is reported, topped up and set. */

const VOLUME = 1_000
const HOUR_MS = 3_600_000
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

let database: TestDatabase
let shop: Shop
let deps: Shop

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  deps = createScriptedSupplier(shop, { report: async () => [] }).deps
  await addPackage(shop.db, 'P', [{ supplier: 'odd', productCode: 'X' }])
  await shop.db.query({ text: 'update packages set volume = $1', values: [VOLUME] })
  await shop.db.query({ text: 'update catalogue_version set version = version + 1' })
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

interface Esim {
  tenantId: string
  orderId: string
  profileId: string
}

/** An eSIM of a new dealer. */
async function newEsimInUse(): Promise<Esim> {
  const tenantId = await addTenant(shop.db)
  const [orderId] = await payOrders(shop.db, tenantId, 'P')
  await shop.db.query(sql`update order_items set product_code = 'X' where order_id = ${orderId}`)
  await acceptEsim(deps, tenantId, { orderId: orderId!, itemNo: 1, supplier: 'odd' }, newEsim())
  const [profile] = await shop.db.query<{ profileId: string }>(sql`
    update profiles set esim_status = 'IN_USE' where tenant_id = ${tenantId} returning profile_id`)
  return { tenantId, orderId: orderId!, profileId: profile!.profileId }
}

/** Reports have their own times: number 3 is later than number 2, in any order of arrival. */
const startedAt = Date.now() + 86_400_000
const timeOf = (number: number) => new Date(startedAt + number * 1_000)

function report({ tenantId, orderId, profileId }: Esim, ...reports: ProfileReport[]) {
  return applyReports(
    deps,
    tenantId,
    reports.map((report) => ({ orderId, profileId, report })),
  )
}

const topUp = ({ tenantId, orderId, profileId }: Esim, added: AddedPackage) =>
  shop.db.tx(async (tx) => {
    const { orders, now } = await lockOrders(tx, tenantId, [orderId])
    return applyTopUp(tx, deps, tenantId, { order: orders.get(orderId)!, profileId, added }, now)
  })

const set = ({ tenantId }: Esim, request: WebhookSetRequest) => {
  const databaseClock = { ...shop.databaseClock, observe: () => {} }
  const setting = {
    ...shop,
    databaseClock,
    config: { deployment: 'local' as const, mode: 'LIVE' as const },
    outbound: createOutbound(),
  }
  return setWebhook(setting, tenantId, request, { actor: 'tenant' })
}

const passes = () => recordExpiryNotices(deps, new AbortController().signal)

/** Moves the times of the dealer's eSIM into the past, as if this many hours had passed. */
const advance = ({ tenantId }: Esim, hours: number) =>
  shop.db.query(sql`
    update profiles set expired_time = expired_time - ${hours} * interval '1 hour',
      expiry_notice_at = expiry_notice_at - ${hours} * interval '1 hour'
    where tenant_id = ${tenantId}`)

async function logged<Content>({ tenantId }: Esim, notifyType: string): Promise<Content[]> {
  const rows = await shop.db.query<{ content: Content }>(sql`
    select content from events where tenant_id = ${tenantId} and notify_type = ${notifyType} order by notify_id`)
  return rows.map((row) => row.content)
}

const thresholds = fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 6 })
const usageSteps = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('report' as const),
        reports: fc.array(fc.record({ number: fc.nat(12), usage: fc.nat(3 * VOLUME) }), { minLength: 1, maxLength: 3 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('topUp' as const), volume: fc.nat(VOLUME) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('set' as const), thresholds }) },
  ),
  { maxLength: 12 },
)

/** The rules as stated in the contract, with every percentage as a flag. */
class UsageModel {
  thresholds = [50, 80, 100]
  total = VOLUME
  usage: number | undefined
  latest = -1
  passed = new Set<number>()
  events: object[] = []

  report(number: number, usage: number): void {
    if (number <= this.latest) return
    this.latest = number
    this.usage = usage
    for (const threshold of this.thresholds) {
      if (!this.isPassed(threshold) || this.passed.has(threshold)) continue
      this.events.push({
        totalVolume: this.total,
        orderUsage: usage,
        remaining: Math.max(0, this.total - usage),
        threshold,
        usageUpdateTime: timeOf(number).toISOString(),
        sequence: this.events.length + 1,
      })
    }
    for (const percent of PERCENTS) if (this.isPassed(percent)) this.passed.add(percent)
  }

  topUp(volume: number): void {
    this.total += volume
    this.passed = new Set(PERCENTS.filter((percent) => this.isPassed(percent)))
  }

  isPassed(percent: number): boolean {
    return this.usage !== undefined && this.usage * 100 >= this.total * percent
  }
}

const PERCENTS = Array.from({ length: 100 }, (_, index) => index + 1)

describe('ESIM_USAGE', () => {
  it('is logged exactly once per threshold, even after top-ups and changes to the threshold list', async () => {
    const property = fc.asyncProperty(usageSteps, async (steps) => {
      const esim = await newEsimInUse()
      const model = new UsageModel()
      for (const step of steps) {
        switch (step.do) {
          case 'report':
            for (const { number, usage } of step.reports) model.report(number, usage)
            await report(
              esim,
              ...step.reports.map(({ number, usage }) => ({ time: timeOf(number), usage: BigInt(usage) })),
            )
            break
          case 'topUp':
            model.topUp(step.volume)
            await topUp(esim, { volume: BigInt(step.volume), days: 1 })
            break
          case 'set':
            model.thresholds = [...new Set(step.thresholds)].sort((a, b) => a - b)
            await set(esim, { usageThresholds: step.thresholds })
            break
          default:
            step satisfies never
        }
      }
      const events = await logged<EsimUsageContent>(esim, 'ESIM_USAGE')
      const named = { esimTranNo: esim.profileId, transactionId: `T-${esim.orderId}` }
      expect(events).toEqual(
        model.events.map((event) => ({ ...event, ...named, orderNo: expect.any(String), iccid: expect.any(String) })),
      )
    })
    console.log(`usage notices: SEED=${seed}`)
    await fc.assert(property, { seed, numRuns: 60 })
  })

  it('is logged once per threshold, in ascending order, if one report passes several thresholds', async () => {
    const esim = await newEsimInUse()
    await report(esim, { time: timeOf(1), usage: 1_200n })
    const events = await logged<EsimUsageContent>(esim, 'ESIM_USAGE')
    expect(
      events.map(({ threshold, orderUsage, remaining, sequence }) => [threshold, orderUsage, remaining, sequence]),
    ).toEqual([
      [50, 1_200, 0, 1],
      [80, 1_200, 0, 2],
      [100, 1_200, 0, 3],
    ])
  })

  it('is not logged for an eSIM without a total volume', async () => {
    const esim = await newEsimInUse()
    await shop.db.query(sql`update profiles set total_volume = null where tenant_id = ${esim.tenantId}`)
    await report(esim, { time: timeOf(1), usage: 5_000n })
    expect(await logged(esim, 'ESIM_USAGE')).toEqual([])
  })

  it('is recorded together with the report or not at all, and only once for concurrent reports', async () => {
    const esim = await newEsimInUse()
    const reports = Array.from({ length: 10 }, (_, number) => report(esim, { time: timeOf(number), usage: 600n }))
    await Promise.all(reports)
    expect(await logged(esim, 'ESIM_USAGE')).toMatchObject([{ threshold: 50 }])
  })

  it('is UNSENT if the endpoint is not subscribed to it', async () => {
    const esim = await newEsimInUse()
    await report(esim, { time: timeOf(1), usage: 600n })
    const rows = await shop.db.query(sql`
      select e.order_id, d.delivery_state from events e join deliveries d using (tenant_id, notify_id)
      where e.tenant_id = ${esim.tenantId} and e.notify_type = 'ESIM_USAGE'`)
    expect(rows).toEqual([{ orderId: esim.orderId, deliveryState: 'UNSENT' }])
  })
})

const expirySteps = fc.array(
  fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('report' as const), inHours: fc.integer({ min: 1, max: 120 }) }),
    },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('advance' as const), hours: fc.nat(40) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('topUp' as const), days: fc.integer({ min: 1, max: 4 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('set' as const),
        hours: fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 4 }),
      }),
    },
  ),
  { maxLength: 16 },
)

/** The hours until expiry, and which of them were reported. */
class ExpiryModel {
  hours = [24, 72]
  left: number | undefined
  reported = new Set<number>()
  events: object[] = []

  advance(by: number): void {
    if (this.left === undefined) return
    const before = this.left
    this.left -= by
    if (this.left <= 0) return
    for (const hours of [...this.hours].reverse()) {
      if (before <= hours || this.left > hours || this.reported.has(hours)) continue
      this.reported.add(hours)
      this.events.push({ hours, sequence: this.events.length + 1 })
    }
  }

  topUp(days: number): void {
    if (this.left !== undefined) this.left = Math.max(this.left, 0) + 24 * days
    this.reported.clear()
  }
}

describe('ESIM_EXPIRING', () => {
  it('is logged exactly once per configured number of hours, even if the expiry time or the list changes', async () => {
    const property = fc.asyncProperty(expirySteps, async (steps) => {
      const esim = await newEsimInUse()
      const model = new ExpiryModel()
      let reports = 0
      for (const step of steps) {
        switch (step.do) {
          case 'report': {
            // Half an hour away from every such moment, so that the duration of the test does not matter.
            if (model.left !== undefined && model.left <= 0) break
            model.left = step.inHours + 0.5
            const expiredTime = new Date(Date.now() + model.left * HOUR_MS)
            await report(esim, { time: timeOf(reports++), expiredTime })
            break
          }
          case 'advance':
            model.advance(step.hours)
            await advance(esim, step.hours)
            await passes()
            break
          case 'topUp':
            model.topUp(step.days)
            await topUp(esim, { volume: 1n, days: step.days })
            break
          case 'set':
            model.hours = [...new Set(step.hours)].sort((a, b) => a - b)
            await set(esim, { expiryNoticeHours: step.hours })
            await passes()
            break
          default:
            step satisfies never
        }
      }
      const events = await logged<EsimExpiringContent>(esim, 'ESIM_EXPIRING')
      expect(events.map(({ hours, sequence }) => ({ hours, sequence }))).toEqual(model.events)
    })
    console.log(`expiry notices: SEED=${seed}`)
    await fc.assert(property, { seed, numRuns: 60 })
  })

  it('contains the eSIM and its expiry time', async () => {
    const esim = await newEsimInUse()
    const expiredTime = new Date(Date.now() + 72.5 * HOUR_MS)
    await report(esim, { time: timeOf(1), expiredTime })
    await passes()
    expect(await logged(esim, 'ESIM_EXPIRING')).toEqual([])
    await advance(esim, 1)
    await Promise.all([passes(), passes()])
    expect(await logged(esim, 'ESIM_EXPIRING')).toEqual([
      {
        ...{ orderNo: expect.any(String), transactionId: `T-${esim.orderId}`, esimTranNo: esim.profileId },
        ...{ iccid: expect.any(String), hours: 72, sequence: 1 },
        expiredTime: new Date(expiredTime.getTime() - HOUR_MS).toISOString(),
      },
    ])
  })

  it('is not recorded for a time already past when the expiry becomes known or changes', async () => {
    const esim = await newEsimInUse()
    await report(esim, { time: timeOf(1), expiredTime: new Date(Date.now() + 71.5 * HOUR_MS) })
    await passes()
    await report(esim, { time: timeOf(2), expiredTime: new Date(Date.now() + 23.5 * HOUR_MS) })
    await passes()
    expect(await logged(esim, 'ESIM_EXPIRING')).toEqual([])
  })

  it.each(['USED_UP', 'IN_USE'])('is recorded for an eSIM that is %s', async (esimStatus) => {
    const esim = await newEsimInUse()
    await shop.db.query(sql`update profiles set esim_status = ${esimStatus} where tenant_id = ${esim.tenantId}`)
    await report(esim, { time: timeOf(1), expiredTime: new Date(Date.now() + 24.5 * HOUR_MS) })
    await advance(esim, 1)
    await passes()
    expect(await logged(esim, 'ESIM_EXPIRING')).toMatchObject([{ hours: 24 }])
  })

  it.each(['CANCEL', 'REVOKED', 'USED_EXPIRED'])(
    'is not recorded for an eSIM that has become %s',
    async (esimStatus) => {
      const esim = await newEsimInUse()
      await report(esim, { time: timeOf(1), expiredTime: new Date(Date.now() + 24.5 * HOUR_MS) })
      await shop.db.query(sql`update profiles set esim_status = ${esimStatus} where tenant_id = ${esim.tenantId}`)
      await advance(esim, 1)
      await passes()
      expect(await logged(esim, 'ESIM_EXPIRING')).toEqual([])
      const due = await shop.db.query(sql`select expiry_notice_at from profiles where tenant_id = ${esim.tenantId}`)
      expect(due).toEqual([{ expiryNoticeAt: null }])
    },
  )

  it('that cannot be saved does not block later eSIMs', async () => {
    const [bad, good] = [await newEsimInUse(), await newEsimInUse()]
    for (const [index, esim] of [bad, good].entries()) {
      await report(esim, { time: timeOf(1), expiredTime: new Date(Date.now() + 24.5 * HOUR_MS + index * 1000) })
      await advance(esim, 1)
    }
    await shop.db.query({
      text: `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused by the test'; end $$`,
    })
    await shop.db.query({
      text: `create trigger refused before update on profiles for each row
             when (old.tenant_id = '${bad.tenantId}') execute function refuse()`,
    })
    try {
      await passes()
    } finally {
      await shop.db.query({ text: 'drop function refuse() cascade' })
    }
    expect(await logged(good, 'ESIM_EXPIRING')).toMatchObject([{ hours: 24 }])
    expect(await logged(bad, 'ESIM_EXPIRING')).toEqual([])
    await passes()
    expect(await logged(bad, 'ESIM_EXPIRING')).toMatchObject([{ hours: 24 }])
  })
})
