import { orderNoOf } from '@dealer-esim/contract'
import { createSimulator, type Simulator, type SimulatorKind } from '@dealer-esim/wholesaler-simulators'
import type { Supplier, SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import { readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { addSupplier, listSuppliers, setSupplier } from '#suppliers/manage-suppliers.ts'
import { verifySupplier } from '#suppliers/verification/verify-supplier.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { admin, adminFailure, adminJson } from '../harness/processes/admin-in-process.ts'

const BY = { actor: 'cli:test' } as const
let shop: AdminTestbed
const simulators: Simulator[] = []

beforeAll(async () => {
  shop = await createAdminTestbed()
})
afterAll(async () => {
  for (const simulator of simulators) await simulator.close()
  await shop.close()
})

/** A supplier with its own account, and one of its products. */
async function supplierOf(kind: SimulatorKind, name: string, amount = '1000') {
  const simulator = await createSimulator(kind, { catalogueSize: 5 })
  simulators.push(simulator)
  const config = {
    url: simulator.url,
    ...simulator.credentials,
    timeoutMs: 2_000,
    dailySpendLimit: { amount, currencyCode: 'USD' },
  }
  await addSupplier({ ...shop, config: { deployment: 'local' } }, { name, type: kind, config }, BY)
  await shop.suppliers.refresh()
  const { supplier } = shop.suppliers.get(name)!
  let product: SupplierProduct | undefined
  for await (const one of readableProducts(supplier)) {
    if (one.packageType === 'BASE' && !one.isDayPass) product ??= one
  }
  const price = (Number(product!.cost) / 10_000).toFixed(2)
  const verify = ['supplier', 'verify', name, '--buy', product!.productCode, '--confirm', price]
  const sold = () => Object.values(simulator.counters().takenByKey).reduce((sum, count) => sum + count, 0)
  return { simulator, config, supplier, product: product!, price, verify, sold }
}

async function recordOf(name: string) {
  const [row] = await shop.db.query<{
    state: string
    cancelOutcome: string | null
    answers: unknown
    isVerified: boolean
  }>({
    text: `select v.state, v.cancel_outcome, v.answers, s.verified_at is not null as is_verified
           from supplier_verifications v join suppliers s using (supplier)
           where supplier = $1 order by v.started_at desc limit 1`,
    values: [name],
  })
  return row
}

describe('supplier verify', () => {
  it('shows the price first, and buys nothing until the price is confirmed', async () => {
    const { product, price, sold } = await supplierOf('zendit', 'unconfirmed')
    const verify = ['supplier', 'verify', 'unconfirmed', '--buy', product.productCode]
    expect(await adminFailure(...verify)).toMatch(`costs ${price} USD at unconfirmed. This is a real purchase`)
    expect(await adminFailure(...verify, '--confirm', '0.01')).toMatch('This is a real purchase')
    expect(await adminFailure('supplier', 'verify', 'unconfirmed', '--buy', 'NONE')).toMatch(/does not sell NONE/)
    expect([sold(), await recordOf('unconfirmed')]).toEqual([0, undefined])
  })

  it.each(['zendit', 'esim-access'] as const)(
    'buys one eSIM from %s, finds and cancels it, and lifts the limit',
    async (kind) => {
      const { simulator, config, verify, sold } = await supplierOf(kind, kind)
      const before = simulator.counters().balance
      expect(await adminJson(...verify)).toMatchObject({ name: kind, verified: true, cancelled: 'cancelled' })
      expect([sold(), simulator.counters().balance]).toEqual([1, before])
      expect(await recordOf(kind)).toMatchObject({ state: 'VERIFIED', cancelOutcome: 'cancelled', isVerified: true })
      expect((await shop.audited('supplier.verify')).at(-1)).toMatchObject({
        subject: kind,
        after: { cancelled: 'cancelled' },
      })
      expect((await shop.audited('supplier.buy_to_verify')).at(-1)).toMatchObject({ subject: kind })
      const manage = { ...shop, config: { deployment: 'local' } }
      const { dailySpendLimit: _, ...without } = config
      await setSupplier(manage, { name: kind, config: without }, BY)
      // A different account is not verified.
      const other = { ...without, url: `${without.url}/other` }
      await expect(setSupplier(manage, { name: kind, config: other }, BY)).rejects.toThrow(/needs dailySpendLimit/)
    },
  )

  it.each(['zendit', 'esim-access', 'airalo', 'esim-go', 'mobimatter'] as const)(
    'proves the charge at %s from the balance',
    async (kind) => {
      const { verify, price } = await supplierOf(kind, `proven-${kind}`)
      const { charge } = await adminJson(...verify)
      expect(charge).toEqual({
        finding: 'PROVEN',
        message: expect.stringContaining(`The balance fell by ${price} USD`),
      })
      const [row] = await shop.db.query({
        text: 'select charge_finding, charge_message from supplier_verifications where supplier = $1',
        values: [`proven-${kind}`],
      })
      expect(row).toEqual({ chargeFinding: 'PROVEN', chargeMessage: charge.message })
    },
  )

  /** An adapter that reads charges incorrectly. */
  function misreading(supplier: Supplier, method: 'order' | 'query', misread: (amount: bigint) => bigint): Supplier {
    return {
      ...supplier,
      [method]: async (...input: Parameters<Supplier['query']>) => {
        const outcomes = await supplier[method](...input)
        return outcomes.map((outcome) => {
          if (outcome.kind !== 'delivered') return outcome
          const { amount, currencyCode } = outcome.esim.charged!
          return { ...outcome, esim: { ...outcome.esim, charged: { amount: misread(amount), currencyCode } } }
        })
      },
    }
  }

  it('names the answer whose charge the balance contradicts', async () => {
    const { supplier, product, price } = await supplierOf('zendit', 'misread')
    const retail = misreading(supplier, 'order', (amount) => amount + 10_000n)
    const { charge } = await verifySupplier(shop, { supplier: retail, pauseMs: 10 }, product, BY)
    expect(charge.finding).toBe('DIFFERS')
    expect(await recordOf('misread')).toMatchObject({ state: 'DIFFERS', cancelOutcome: 'cancelled', isVerified: false })
    const listed = async () => (await listSuppliers(shop.db)).find(({ name }) => name === 'misread')
    expect(await listed()).toMatchObject({ status: expect.any(String), verificationFault: charge.message })
    expect(charge.message).toMatch(
      new RegExp(
        `^The balance fell by ${price} USD, but the gateway reads the charge in the answer to a purchase as [\\d.]+ USD\\. It`,
      ),
    )
    const cents = misreading(supplier, 'query', (amount) => amount * 100n)
    const { charge: second } = await verifySupplier(shop, { supplier: cents, pauseMs: 10 }, product, BY)
    expect(second.message).toMatch(
      /but the gateway reads the charge in the answer to a look-up as .* 100 times as much: the unit/,
    )
    await verifySupplier(shop, { supplier, pauseMs: 10 }, product, BY)
    expect(await listed()).toMatchObject({ status: null, verificationFault: null })
    // A difference ends an earlier verification.
    await verifySupplier(shop, { supplier: retail, pauseMs: 10 }, product, BY)
    expect(await recordOf('misread')).toMatchObject({ state: 'DIFFERS', isVerified: false })
  })

  it('cannot determine the charge while the gateway buys at the supplier, or without a balance reading', async () => {
    const { supplier, product, simulator } = await supplierOf('zendit', 'busy')
    const silent = await verifySupplier(shop, { supplier: { ...supplier, balance: undefined as never } }, product, BY)
    expect(silent.charge).toMatchObject({ finding: 'UNCLEAR', message: expect.stringContaining('not read') })
    let readings = 0
    const toppedUp: Supplier = {
      ...supplier,
      balance: async () => {
        if (++readings === 2) simulator.setBalance(simulator.counters().balance + 1_000_000)
        return supplier.balance!()
      },
    }
    const risen = await verifySupplier(shop, { supplier: toppedUp }, product, BY)
    expect(risen.charge).toMatchObject({ finding: 'UNCLEAR', message: expect.stringContaining('topped up') })
    await shop.db.query({
      text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token, started_at)
             values ($1, $2, $1, 1, 'busy', 'ORDER', $1, now())`,
      values: [shop.ids.uuid(), shop.ids.uuid()],
    })
    const busy = await verifySupplier(shop, { supplier }, product, BY)
    expect(busy.charge).toMatchObject({ finding: 'UNCLEAR', message: expect.stringContaining('at the same time') })
  })

  it('keeps the answers, without codes, eSIM numbers or secrets', async () => {
    const { answers } = (await recordOf('zendit'))!
    const text = JSON.stringify(answers)
    const [{ iccid, matchingId } = { iccid: '', matchingId: '' }] = simulators[1]!.esims()
    expect(text).toContain('transactionId')
    expect(text).toContain('"status":"DONE"')
    for (const secret of [iccid, matchingId, simulators[1]!.credentials.apiKey!]) expect(text).not.toContain(secret)
  })

  it('verifies a supplier that cannot cancel, and reports that limitation', async () => {
    const { verify } = await supplierOf('airalo', 'by-hand')
    expect((await admin(...verify)).stdout).toMatch(/not cancelled: .*ask its support/)
    expect(await recordOf('by-hand')).toMatchObject({ state: 'VERIFIED', cancelOutcome: 'refused', isVerified: true })
  })

  it('neither verifies a supplier that refuses, nor buys anything from it', async () => {
    const { simulator, verify, sold } = await supplierOf('zendit', 'refusing')
    simulator.addFault({ kind: 'out-of-stock', operation: 'order' })
    expect(await adminFailure(...verify)).toMatch(/^Nothing was bought: /)
    expect([sold(), await recordOf('refusing')]).toMatchObject([0, { state: 'REFUSED', isVerified: false }])
    simulator.clearFaults()
    expect(await adminJson(...verify)).toMatchObject({ verified: true })
  })

  it('finds a purchase whose answer was lost, without buying a second eSIM', async () => {
    const { simulator, verify, sold } = await supplierOf('zendit', 'lossy')
    simulator.addFault({ kind: 'answer-lost', operation: 'order', times: 1 })
    expect(await adminJson(...verify)).toMatchObject({ verified: true })
    expect(sold()).toBe(1)
  })

  it('does not count an unanswered order as refused, or buy a second eSIM, while it may still be executed', async () => {
    const { simulator, supplier, product, verify, sold } = await supplierOf('zendit', 'late')
    simulator.addFault({ kind: 'slow-request', operation: 'order', times: 1, delayMs: 3_000 })
    const verified = { supplier, pauseMs: 10 }
    await expect(verifySupplier(shop, verified, product, BY)).rejects.toThrow(/^The eSIM may have been bought: /)
    expect(await recordOf('late')).toMatchObject({ state: 'OPEN', isVerified: false })
    await expect.poll(sold).toBe(1)
    expect(await adminJson(...verify)).toMatchObject({ verified: true, cancelled: 'cancelled' })
    expect(sold()).toBe(1)
  })

  it('neither treats an accepted order that is not found as refused, nor buys a second eSIM', async () => {
    const { simulator, supplier, product, verify, sold } = await supplierOf('zendit', 'lagging')
    simulator.addFault({ kind: 'delivered-later', operation: 'order', times: 1, delayMs: 60_000 })
    const unseen = { ...supplier, query: async () => [{ kind: 'retry' as const, message: 'not known' }] }
    const verified = { supplier: unseen, pauseMs: 10 }
    await expect(verifySupplier(shop, verified, product, BY)).rejects.toThrow(
      /^The eSIM may have been bought: not known/,
    )
    expect(await recordOf('lagging')).toMatchObject({ state: 'OPEN', isVerified: false })
    simulator.advanceClock(60_000)
    expect(await adminJson(...verify)).toMatchObject({ verified: true, cancelled: 'cancelled' })
    expect(sold()).toBe(1)
  })

  it('does not treat an unanswered order as refused too early on a node with a fast clock', async () => {
    const { simulator, supplier, product } = await supplierOf('zendit', 'ahead')
    simulator.addFault({ kind: 'request-lost', operation: 'order', times: 1 })
    const now = Date.now() + 3_600_000
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now)
    const verifying = verifySupplier(shop, { supplier, pauseMs: 10 }, product, BY)
    await expect(verifying.finally(() => clock.mockRestore())).rejects.toThrow(/^The eSIM may have been bought: /)
    expect(await recordOf('ahead')).toMatchObject({ state: 'OPEN', isVerified: false })
  })

  it('continues a purchase after an interruption, without buying a second eSIM', async () => {
    const { supplier, product, verify, sold } = await supplierOf('zendit', 'stopped')
    const orderId = shop.ids.uuid()
    await shop.db.query({
      text: `insert into supplier_verifications (supplier, verification_id, order_id, product_code, cost, currency_code,
               state, started_at) values ('stopped', $1, $2, $3, $4, 'USD', 'OPEN', now())`,
      values: [shop.ids.uuid(), orderId, product.productCode, product.cost],
    })
    const key = `${orderNoOf(orderId)}-1`
    await supplier.order([{ tenantId: 'T', orderId, itemNo: 1, key, productCode: product.productCode }])
    expect(await adminJson(...verify)).toMatchObject({ verified: true, cancelled: 'cancelled' })
    expect(sold()).toBe(1)
  })

  it('does not exceed the daily spend limit', async () => {
    const { verify, sold } = await supplierOf('zendit', 'poor', '0.01')
    expect(await adminFailure(...verify)).toMatch(/The daily spend limit has 0\.01 USD left today/)
    expect(sold()).toBe(0)
  })

  it('shows each supplier’s status and the amount spent today', async () => {
    const { stdout: text } = await admin('supplier', 'list')
    expect(text).toMatch(/unconfirmed: Written from public documentation; not yet verified against a live account\./)
    expect(text).not.toMatch(/lossy: Written/)
    expect(text).toMatch(/lossy +zendit .* of 1000\.00 USD/)
  })
})
