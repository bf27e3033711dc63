import { setTimeout as delay } from 'node:timers/promises'
import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import type { ReportOutcome, SuppliedEsim } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { readLifeHistory } from '#esims/life/esim-history.ts'
import { expiryLoop } from '#esims/life/expire.ts'
import { pollNow, pollSuppliersLoop } from '#esims/poll-suppliers.ts'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import type { ConfiguredSupplier } from '#suppliers/supplier-registry.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { createScriptedSupplier, newEsim, withSuppliers } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, createShop, payOrders, type Shop, waitUntil } from '../harness/shop.ts'

/* One dealer's bad eSIMs, or a failing supplier, do not keep other dealers' eSIMs from expiring and being polled. */

let database: TestDatabase
let shop: Shop
const loops: Loop[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addPackage(shop.db, 'P', [{ supplier: 'any', productCode: 'X' }])
})
beforeEach(async () => {
  await shop.db.query({ text: `update profiles set esim_status = 'REVOKED'` }) // left from earlier tests
})
afterEach(async () => {
  await Promise.all(loops.splice(0).map((loop) => loop.stop(500)))
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

type Answer = (esims: SuppliedEsim[]) => Promise<ReportOutcome[]>
const supplierThat = (name: string, report: Answer): ConfiguredSupplier =>
  createScriptedSupplier(shop, { name, report }, { concurrency: 8 }).supplied

const used: Answer = async (esims) =>
  esims.map(() => ({ kind: 'reported', report: { time: new Date(), esimStatus: 'IN_USE' } }))
const hangs: Answer = () => new Promise(() => {})

function start(...supplied: ConfiguredSupplier[]): void {
  loops.push(expiryLoop(shop), pollSuppliersLoop(withSuppliers(shop, ...supplied)))
}

/** A new dealer with eSIMs from one supplier that are due for polling. Dealers take turns in this order. */
async function dealerWith(supplied: ConfiguredSupplier, count = 1): Promise<string> {
  const tenantId = await addTenant(shop.db)
  for (const orderId of await payOrders(shop.db, tenantId, 'P', { orders: count })) {
    await shop.db.query({
      text: `update order_items set product_code = 'X' where tenant_id = $1 and order_id = $2`,
      values: [tenantId, orderId],
    })
    const item = { orderId, itemNo: 1, supplier: supplied.supplier.name }
    await acceptEsim(withSuppliers(shop, supplied), tenantId, item, newEsim())
  }
  await set(tenantId, `poll_at = now()`)
  return tenantId
}

const set = (tenantId: string, columns: string) =>
  shop.db.query({ text: `update profiles set ${columns} where tenant_id = $1`, values: [tenantId] })

/** Waits until eSIMs of the dealer have the status: all of them, or the given number. */
function becomes(tenantId: string, esimStatus: string, count?: number) {
  return waitUntil(async () => {
    const rows = await shop.db.query<{ esimStatus: string }>({
      text: 'select esim_status from profiles where tenant_id = $1',
      values: [tenantId],
    })
    return rows.filter((row) => row.esimStatus === esimStatus).length === (count ?? rows.length)
  })
}

it('a supplier that hangs delays neither the expiry of eSIMs nor another supplier', async () => {
  const [hanging, reporting] = [supplierThat('hanging', hangs), supplierThat('reporting', used)]
  await dealerWith(hanging)
  const [polled, expired] = [await dealerWith(reporting), await dealerWith(hanging)]
  await set(expired, `install_before = now() - interval '1 hour'`)
  start(hanging, reporting)
  await becomes(expired, 'UNUSED_EXPIRED')
  await becomes(polled, 'IN_USE')
})

it('an eSIM that cannot be saved or decrypted does not delay other dealers’ eSIMs', async () => {
  const reporting = supplierThat('reporting', used)
  const [closed, unwritten] = [await dealerWith(reporting), await dealerWith(reporting)]
  const [polled, expired] = [await dealerWith(reporting), await dealerWith(reporting)]
  await set(closed, `secrets = 'nonsense'`)
  await set(unwritten, `install_before = now() - interval '1 hour'`)
  // Not due for polling: a report of its use would give it a different end.
  await set(expired, `install_before = now() - interval '1 hour', poll_at = now() + interval '1 hour'`)
  await shop.db.query({
    text: `create or replace function refuse() returns trigger language plpgsql as $$
           begin raise 'refused by the test'; end $$`,
  })
  await shop.db.query({
    text: `create trigger refused before update of esim_status on profiles for each row
           when (old.tenant_id = '${unwritten}') execute function refuse()`,
  })
  try {
    start(reporting)
    await becomes(polled, 'IN_USE')
    await becomes(expired, 'UNUSED_EXPIRED')
  } finally {
    await shop.db.query({ text: 'drop function refuse() cascade' })
  }
})

it('an eSIM that cannot be saved does not stop expiry and polling for its dealer’s other eSIMs', async () => {
  const reporting = supplierThat('reporting', used)
  const [polled, expired] = [await dealerWith(reporting, 3), await dealerWith(reporting, 3)]
  await set(expired, `install_before = now() - interval '1 hour', poll_at = null`)
  const refused = await shop.db.query<{ profileId: string }>({
    text: `select distinct on (tenant_id) profile_id from profiles where tenant_id = any ($1) order by tenant_id, profile_id`,
    values: [[polled, expired]],
  })
  const ids = refused.map(({ profileId }) => `'${profileId}'`).join()
  await shop.db.query({
    text: `create or replace function refuse() returns trigger language plpgsql as $$
           begin raise 'refused by the test'; end $$`,
  })
  await shop.db.query({
    text: `create trigger refused before update of esim_status on profiles for each row
           when (old.profile_id in (${ids})) execute function refuse()`,
  })
  try {
    start(reporting)
    await becomes(polled, 'IN_USE', 2)
    await becomes(expired, 'UNUSED_EXPIRED', 2)
  } finally {
    await shop.db.query({ text: 'drop function refuse() cascade' })
  }
})

it('polling uses at most a quarter of a supplier’s permits, and still reaches every eSIM', async () => {
  let [asking, most] = [0, 0]
  const busy = supplierThat('busy', async (esims) => {
    asking += esims.length
    most = Math.max(most, asking)
    await delay(1)
    asking -= esims.length
    return used(esims)
  })
  const tenantId = await dealerWith(busy, 30)
  start(busy)
  await becomes(tenantId, 'IN_USE')
  expect(most).toBe(2)
})

it('a supplier that is down is not polled about every eSIM, because polling opens its breaker too', async () => {
  let asked = 0
  const away = supplierThat('away', async (esims) => {
    asked += esims.length
    return esims.map(() => ({ kind: 'silent', down: true }))
  })
  await dealerWith(away, 30)
  start(away)
  await waitUntil(async () => away.gate.state === 'open')
  expect(asked).toBeLessThan(15)
})

it('each poll without a change doubles an eSIM’s interval, and usage near a threshold shortens it', async () => {
  let usage = 0n
  const counting = supplierThat('counting', async (esims) =>
    esims.map(() => ({ kind: 'reported', report: { time: new Date(), esimStatus: 'IN_USE', usage } })),
  )
  const tenantId = await dealerWith(counting)
  const read = async () => {
    const [row] = await shop.db.query<{ pollEveryS: number; usageUpdateTime: Date | null }>({
      text: 'select poll_every_s, usage_update_time from profiles where tenant_id = $1',
      values: [tenantId],
    })
    return row!
  }
  const loop = pollSuppliersLoop(withSuppliers(shop, counting))
  loops.push(loop)
  await waitUntil(async () => (await read()).usageUpdateTime !== null)
  /** Polls once, and returns the new interval in seconds. */
  const poll = async () => {
    const before = await read()
    await set(tenantId, 'poll_at = now()')
    loop.wake()
    return waitUntil(async () => {
      const { usageUpdateTime, pollEveryS } = await read()
      return usageUpdateTime!.getTime() > before.usageUpdateTime!.getTime() && pollEveryS
    })
  }
  expect([await poll(), await poll(), await poll()]).toEqual([1_800, 3_600, 3_600])
  usage = 499_000_000n
  expect(await poll()).toBe(15)
})

it('expiry and polling run no separate statements for dealers with nothing due', async () => {
  const reporting = supplierThat('reporting', used)
  for (let dealer = 0; dealer < 20; dealer++)
    await set(await dealerWith(reporting), "poll_at = now() + interval '10 minutes'")
  const due = await dealerWith(reporting)
  let statements = 0
  const db: Shop['db'] = {
    ...shop.db,
    query(statement) {
      statements++
      return shop.db.query(statement)
    },
  }
  loops.push(expiryLoop({ ...shop, db }), pollSuppliersLoop({ ...withSuppliers(shop, reporting), db }))
  await becomes(due, 'IN_USE')
  await Promise.all(loops.splice(0).map((loop) => loop.stop(500)))
  expect(statements).toBeLessThan(10)
})

it('an eSIM is polled immediately at a person’s request, and its history shows what changed', async () => {
  const reporting = supplierThat('reporting', async (esims) =>
    esims.map(() => ({ kind: 'reported', report: { time: new Date(), smdpStatus: 'ENABLED', esimStatus: 'IN_USE' } })),
  )
  const tenantId = await dealerWith(reporting)
  const key = { tenantId, profileId: await profileOf(tenantId) }
  const kinds = async () =>
    (await readLifeHistory(shop.db, key)).map((step) => (step.kind === 'STATUS' ? step.status : step.kind))
  await set(tenantId, `install_before = now() + interval '9 days'`)
  expect(await kinds()).toEqual(['DELIVERED', 'INSTALL_BEFORE'])
  expect(await pollNow(withSuppliers(shop, reporting), key)).toEqual({ outcome: 'CHANGED', unreadable: [] })
  await set(tenantId, `expired_time = now() + interval '9 days'`)
  const after = await kinds()
  expect(after[0]).toBe('DELIVERED')
  expect(after.at(-1)).toBe('EXPIRES')
  expect(after.slice(1, -1).sort()).toEqual(['ACTIVATED', 'ENABLED', 'IN_USE'])
  await expect(readLifeHistory(shop.db, { ...key, tenantId: await dealerWith(reporting) })).rejects.toThrow(
    'no such eSIM',
  )
})

it('a manual poll reports the unreadable parts of the answer, and applies the rest', async () => {
  const unreadable = [{ entry: 'entry 2 of the list of plans', reason: 'it is not an object' }]
  const odd = supplierThat('odd', async (esims) =>
    esims.map(() => ({ kind: 'reported', report: { time: new Date(), esimStatus: 'IN_USE' }, unreadable })),
  )
  const tenantId = await dealerWith(odd)
  const key = { tenantId, profileId: await profileOf(tenantId) }
  expect(await pollNow(withSuppliers(shop, odd), key)).toEqual({ outcome: 'CHANGED', unreadable })
})

it('a manual poll says so if the supplier cannot report, has no report or is busy', async () => {
  const silent = supplierThat('silent', async (esims) => esims.map(() => ({ kind: 'silent' })))
  const { supplied: mute } = createScriptedSupplier(shop, { name: 'mute' })
  const [tenantId, muted] = [await dealerWith(silent), await dealerWith(mute)]
  const key = { tenantId, profileId: await profileOf(tenantId) }
  const deps = withSuppliers(shop, silent, mute)
  expect(await pollNow(deps, key)).toEqual({ outcome: 'NO_REPORT', unreadable: [] })
  await expect(pollNow(deps, { tenantId: muted, profileId: await profileOf(muted) })).rejects.toThrow(
    'does not answer queries',
  )
  const granted = silent.gate.acquire(tenantId, 1_000)
  await expect(pollNow(deps, key)).rejects.toThrow('is not accepting more requests')
  silent.gate.release(tenantId, granted)
  await set(tenantId, `esim_status = 'CANCEL'`)
  await expect(pollNow(deps, key)).rejects.toThrow('has ended')
})

async function profileOf(tenantId: string): Promise<string> {
  const [row] = await shop.db.query<{ profileId: string }>({
    text: 'select profile_id from profiles where tenant_id = $1',
    values: [tenantId],
  })
  return row!.profileId
}
