import { randomUUID } from 'node:crypto'
import { sandboxSupplier } from '@dealer-esim/wholesalers/sandbox/sandbox.ts'
import type { SuppliedEsim, Supplier, TopUpRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tenantClock } from '#platform/test-time.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { createShop, type Shop } from '../harness/shop.ts'

let database: TestDatabase
let shop: Shop
let supplier: Supplier
beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  supplier = sandboxSupplier('box', { usageMs: 200 }, { ...shop, nowOf: tenantClock })
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

/** The sandbox asks for the test time of its buyer, and gives the real time for one that it does not find. */
const TENANT = randomUUID()
let orders = 0

async function buy(productCode: string): Promise<SuppliedEsim> {
  const item = { tenantId: TENANT, orderId: `O${++orders}`, itemNo: 1, key: `O${orders}-1`, productCode }
  const [outcome] = await supplier.order([item])
  if (outcome?.kind !== 'delivered') throw new Error(`it answered ${outcome?.kind}`)
  const { iccid, matchingId } = outcome.esim
  return { ...item, iccid, matchingId, shown: true }
}

function topUpOf(esim: SuppliedEsim, key: string, productCode = 'SANDBOX_TOPUP'): TopUpRequest {
  return { ...esim, key, productCode, topUp: { key: esim.key, iccid: esim.iccid, matchingId: esim.matchingId } }
}

const kindsOf = async (outcomes: Promise<{ kind: string }[]>) => (await outcomes).map(({ kind }) => kind)

describe('a sandbox top-up', () => {
  it('is recorded once per key, however often it is requested', async () => {
    const esim = await buy('SANDBOX_OK')
    const request = topUpOf(esim, 'TOP-1')
    expect(await kindsOf(supplier.query([request], 'RESUME'))).toEqual(['retry'])
    const both = await Promise.all([supplier.topUp!([request]), supplier.topUp!([request])])
    expect(both.flat().map(({ kind }) => kind)).toEqual(['toppedUp', 'toppedUp'])
    expect(await kindsOf(supplier.query([request], 'RESUME'))).toEqual(['toppedUp'])
    const rows = await shop.db.query({
      text: `select key, requests from sandbox_issued where topped_up_key = $1`,
      values: [esim.key],
    })
    expect(rows).toEqual([{ key: 'TOP-1', requests: 2 }])
  })

  it('is refused, or loses its answer, as its product specifies', async () => {
    const esim = await buy('SANDBOX_OK')
    expect(await kindsOf(supplier.topUp!([topUpOf(esim, 'TOP-2', 'SANDBOX_REFUSED')]))).toEqual(['refused'])
    expect(await kindsOf(supplier.topUp!([topUpOf(esim, 'TOP-3', 'SANDBOX_UNKNOWN')]))).toEqual(['unknown'])
  })

  it('is refused for an eSIM that was cancelled or revoked', async () => {
    const [cancelled, revoked] = [await buy('SANDBOX_OK'), await buy('SANDBOX_OK')]
    expect(await supplier.cancel(cancelled, 'A-1')).toEqual({ kind: 'cancelled' })
    expect(await supplier.revoke!(revoked, 'A-2')).toEqual({ kind: 'done' })
    const requests = [topUpOf(cancelled, 'TOP-4'), topUpOf(revoked, 'TOP-5')]
    expect(await kindsOf(supplier.topUp!(requests))).toEqual(['refused', 'refused'])
  })
})

describe('a sandbox action', () => {
  it('is carried out once per key: a late repeat of a suspend does not undo a later unsuspend', async () => {
    const esim = await buy('SANDBOX_OK')
    const isSuspended = async () => {
      const [row] = await shop.db.query<{ suspended: boolean }>({
        text: 'select suspended_at is not null as suspended from sandbox_issued where key = $1',
        values: [esim.key],
      })
      return row!.suspended
    }
    expect(await supplier.suspend!(esim, 'S-1')).toEqual({ kind: 'done' })
    expect(await isSuspended()).toBe(true)
    expect(await supplier.unsuspend!(esim, 'S-2')).toEqual({ kind: 'done' })
    expect(await supplier.suspend!(esim, 'S-1')).toEqual({ kind: 'done' })
    expect(await isSuspended()).toBe(false)
    const rows = await shop.db.query({
      text: 'select key, requests from sandbox_actions where esim_key = $1 order by key',
      values: [esim.key],
    })
    expect(rows).toEqual([
      { key: 'S-1', requests: 2 },
      { key: 'S-2', requests: 1 },
    ])
  })

  it('is refused, or loses its answer, as its eSIM’s product specifies', async () => {
    const [refusing, silent] = [await buy('SANDBOX_ACTION_REFUSED'), await buy('SANDBOX_ACTION_UNKNOWN')]
    expect(await supplier.cancel(refusing, 'R-1')).toMatchObject({ kind: 'refused' })
    expect(await supplier.suspend!(refusing, 'R-2')).toMatchObject({ kind: 'refused' })
    expect(await supplier.cancel(silent, 'R-3')).toMatchObject({ kind: 'unknown' })
    expect(await supplier.cancel(silent, 'R-3')).toMatchObject({ kind: 'unknown' })
  })

  it('does not cancel an eSIM with a top-up, or another eSIM under the same key', async () => {
    const esim = await buy('SANDBOX_OK')
    await supplier.topUp!([topUpOf(esim, 'TOP-6')])
    expect(await supplier.cancel(esim, 'C-1')).toMatchObject({ kind: 'refused' })
    expect(await supplier.revoke!({ ...esim, iccid: '8999900000000000999' }, 'C-2')).toMatchObject({ kind: 'refused' })
  })
})

describe('sandbox usage', () => {
  it('grows with time until the volume, including top-ups, is used up', async () => {
    const esim = await buy('SANDBOX_USAGE')
    await supplier.topUp!([topUpOf(esim, 'TOP-7')])
    expect(await supplier.report!([esim])).toEqual([{ kind: 'silent' }])
    await new Promise((resolve) => setTimeout(resolve, 2_600))
    const [used] = await supplier.report!([esim])
    expect(used).toMatchObject({ report: { usage: 2n * 1_073_741_824n, esimStatus: 'USED_UP', smdpStatus: 'ENABLED' } })
  })

  it('is not reported for products other than SANDBOX_USAGE', async () => {
    expect(await supplier.report!([await buy('SANDBOX_OK')])).toEqual([{ kind: 'silent' }])
  })
})
