import { orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { audit } from '#platform/audit/audit.ts'
import { addPackage, payOrders } from '#test/harness/shop.ts'
import { approveAdjustment, proposeAdjustment, rejectAdjustment } from '#wallet/ledger/adjust.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from '../console-testbed.ts'

let testbed: ConsoleTestbed
let tenantId: string
beforeAll(async () => {
  testbed = await startConsole()
  tenantId = await addTenant(testbed, 'Curious Ltd')
})
afterAll(() => testbed.stop())

describe('what a dealer sees of the operator', () => {
  it('statements and their files do not name any operator staff', async () => {
    const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
    const dealer = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    const body = { amount: 10_000, reference: 'by a person' }
    await operator.call('POST', `/tenants/${tenantId}/wallet/top-ups`, body)
    await topUp(testbed.deps, { tenantId, amount: 10_000n, reference: 'by a command line' }, { actor: 'cli:root' })
    const path = `/tenants/${tenantId}/wallet/entries`
    const month = new Date().toISOString().slice(0, 7)
    const shown = JSON.stringify((await dealer.call('GET', path)).body)
    const file = String((await dealer.call('GET', `${path}.csv?month=${month}`)).body)
    for (const text of [shown, file]) {
      expect(text.match(/Operator/g)).toHaveLength(2)
      for (const name of [operator.email, operator.personId, 'cli:']) expect(text).not.toContain(name)
    }
    const own = String((await operator.call('GET', `${path}.csv?month=${month}`)).body)
    expect(own).toContain(operator.email)
    expect(own).toContain('cli:root')
  })

  it('suppliers’ statements and other dealers’ prices are hidden', async () => {
    await addPackage(testbed.db, 'JP', [])
    const [orderId = ''] = await payOrders(testbed.db, tenantId, 'JP')
    const subject = orderNoOf(orderId)
    const resolution = { verdict: 'refused', evidence: 'Mr Tanaka of Wholesale KK, ticket 4711' }
    await testbed.db.tx(async (tx) => {
      audit(tx, testbed.deps.ids, { tenantId, actor: 'cli:root', action: 'order.settle', subject, after: resolution })
      const after = { planName: 'GOLD of Rival Ltd' }
      audit(tx, testbed.deps.ids, {
        tenantId,
        actor: 'cli:root',
        action: 'price_plan.assign',
        subject: tenantId,
        after,
      })
    })
    const dealer = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    const operator = await signedInAs(testbed, 'OPERATOR_READ_ONLY')
    for (const path of [
      `/audit?tenantId=${tenantId}`,
      `/audit.csv?tenantId=${tenantId}`,
      `/tenants/${tenantId}/orders/${subject}`,
    ]) {
      const shown = JSON.stringify((await dealer.call('GET', path)).body)
      expect([path, /Tanaka|Rival/.test(shown)]).toEqual([path, false])
      expect([path, shown.includes('refused')]).toEqual([path, true])
      expect(JSON.stringify((await operator.call('GET', path)).body)).toContain('Tanaka')
      expect(shown).not.toContain('price_plan')
    }
    // A change of plan appears as a change of prices.
    const actions = async (who: typeof dealer, action: string) => {
      const { body } = await who.call('GET', `/audit?tenantId=${tenantId}&action=${action}`)
      return body.entries.map((entry: { action: string }) => entry.action)
    }
    for (const action of ['prices', 'prices.change']) expect(await actions(dealer, action)).toEqual(['prices.change'])
    expect(await actions(dealer, 'price_plan')).toEqual([])
    expect(await actions(operator, 'price_plan')).toEqual(['price_plan.assign'])
    expect(await actions(dealer, 'order')).toEqual(['order.settle'])
  })

  it('an item’s key at its suppliers is shown only to operators', async () => {
    await addPackage(testbed.db, 'KEYED', [])
    const [orderId = ''] = await payOrders(testbed.db, tenantId, 'KEYED')
    const path = `/tenants/${tenantId}/orders/${orderNoOf(orderId)}`
    const operator = await signedInAs(testbed, 'OPERATOR_READ_ONLY')
    const dealer = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
    const keyOf = async (who: typeof dealer) => (await who.call('GET', path)).body.items[0].supplierKey
    expect(await keyOf(operator)).toBe(`${orderNoOf(orderId)}-1`)
    expect(await keyOf(dealer)).toBeNull()
  })

  it('costs and supplier charges are shown only to operators', async () => {
    await addPackage(testbed.db, 'COSTLY', [])
    const [orderId = ''] = await payOrders(testbed.db, tenantId, 'COSTLY')
    const costs = { cost: 5_000, costCurrency: 'USD', charged: 900_000, chargedCurrency: 'JPY' }
    await testbed.db.query({
      text: `update order_items set cost = $2, cost_currency = $3, supplier_charge = $4,
               supplier_charge_currency = $5 where order_id = $1`,
      values: [orderId, ...Object.values(costs)],
    })
    const path = `/tenants/${tenantId}/orders/${orderNoOf(orderId)}`
    const itemAs = async (who: Awaited<ReturnType<typeof signedInAs>>) => (await who.call('GET', path)).body.items[0]
    expect(await itemAs(await signedInAs(testbed, 'OPERATOR_READ_ONLY'))).toMatchObject(costs)
    const hidden = Object.fromEntries(Object.keys(costs).map((name) => [name, null]))
    expect(await itemAs(await signedInAs(testbed, 'DEALER_STAFF', tenantId))).toMatchObject(hidden)
  })

  it('the reason for a failed eSIM is shown, but no supplier message while the item is open', async () => {
    await addPackage(testbed.db, 'SAID', [])
    const [orderId = ''] = await payOrders(testbed.db, tenantId, 'SAID')
    const path = `/tenants/${tenantId}/orders/${orderNoOf(orderId)}`
    const operator = await signedInAs(testbed, 'OPERATOR_READ_ONLY')
    const dealer = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
    const reasonsIn = async (status: string) => {
      await testbed.db.query({
        text: `update order_items set item_status = $2, failure_reason = 'the message' where order_id = $1`,
        values: [orderId, status],
      })
      const reasons = [operator, dealer].map(async (who) => (await who.call('GET', path)).body.items[0].failureReason)
      return Promise.all(reasons)
    }
    expect(await reasonsIn('REVIEW')).toEqual(['the message', null])
    expect(await reasonsIn('REFUSED')).toEqual(['the message', 'the message'])
  })

  it('an approved adjustment is shown without its proposer, and a rejected one is hidden', async () => {
    const subject = await addTenant(testbed, 'Adjusted Ltd')
    const [first, second] = [await signedInAs(testbed, 'OPERATOR_STAFF'), await signedInAs(testbed, 'OPERATOR_STAFF')]
    const proposal = async (reference: string) => {
      const input = { tenantId: subject, amount: 5_000n, reference, reason: 'Rumours of Tanaka' }
      return (await proposeAdjustment(testbed.deps, input, { actor: `person:${first.personId}` })).adjustmentId
    }
    const by = { actor: `person:${second.personId}` as const }
    await approveAdjustment(testbed.deps, subject, await proposal('posted'), by)
    await rejectAdjustment(testbed.deps, subject, await proposal('dropped'), by)
    const dealer = await signedInAs(testbed, 'DEALER_ADMIN', subject)
    for (const list of ['/audit', '/audit.csv']) {
      for (const action of ['', '&action=wallet', '&action=wallet.propose_adjustment']) {
        const query = `${list}?tenantId=${subject}${action}`
        const shown = JSON.stringify((await dealer.call('GET', query)).body)
        expect([query, /proposedBy|Rumours|dropped|propose_|reject_/.test(shown)]).toEqual([query, false])
        expect([query, shown.includes(first.personId)]).toEqual([query, false])
        expect([query, shown.includes('wallet.approve_adjustment')]).toEqual([query, !action.includes('.')])
        const own = JSON.stringify((await first.call('GET', query)).body)
        expect([query, own.includes('Rumours')]).toEqual([query, true])
        if (!list.endsWith('csv')) expect([query, own.includes('"clientName":"Adjusted Ltd"')]).toEqual([query, true])
      }
    }
  })
})
