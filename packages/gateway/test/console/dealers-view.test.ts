import { orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.ts'
import { approveAdjustment, proposeAdjustment, rejectAdjustment } from '../../src/wallet/ledger/adjust.ts'
import { topUp } from '../../src/wallet/ledger/top-up.ts'
import { addPackage, payOrders } from '../harness/shop.ts'
import { addTenant, type ConsoleApp, signedInAs, startConsole } from './console-app.ts'

let room: ConsoleApp
let tenantId: string
beforeAll(async () => {
  room = await startConsole()
  tenantId = await addTenant(room, 'Curious Ltd')
})
afterAll(() => room.stop())

describe('of the operator’s organisation a dealer is told', () => {
  it('nobody’s name, neither on the statement nor in its file', async () => {
    const operator = await signedInAs(room, 'OPERATOR_STAFF')
    const dealer = await signedInAs(room, 'DEALER_ADMIN', tenantId)
    const body = { amount: 10_000, reference: 'by a person' }
    await operator.call('POST', `/tenants/${tenantId}/wallet/top-ups`, body)
    await topUp(room.deps, { tenantId, amount: 10_000n, reference: 'by a command line' }, { actor: 'cli:root' })
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

  it('neither what a supplier said nor which prices others have', async () => {
    await addPackage(room.db, 'JP', [])
    const [orderId = ''] = await payOrders(room.db, tenantId, 'JP')
    const subject = orderNoOf(orderId)
    const settled = { verdict: 'refused', evidence: 'Mr Tanaka of Wholesale KK, ticket 4711' }
    await room.db.tx(async (tx) => {
      audit(tx, room.deps.ids, { tenantId, actor: 'cli:root', action: 'order.settle', subject, after: settled })
      const after = { planName: 'GOLD of Rival Ltd' }
      audit(tx, room.deps.ids, { tenantId, actor: 'cli:root', action: 'price_plan.assign', subject: tenantId, after })
    })
    const dealer = await signedInAs(room, 'DEALER_ADMIN', tenantId)
    const operator = await signedInAs(room, 'OPERATOR_READ_ONLY')
    for (const path of [
      `/audit?tenantId=${tenantId}`,
      `/audit.csv?tenantId=${tenantId}`,
      `/tenants/${tenantId}/orders/${subject}`,
    ]) {
      const told = JSON.stringify((await dealer.call('GET', path)).body)
      expect([path, /Tanaka|Rival/.test(told)]).toEqual([path, false])
      expect([path, told.includes('refused')]).toEqual([path, true])
      expect(JSON.stringify((await operator.call('GET', path)).body)).toContain('Tanaka')
      expect(told).not.toContain('price_plan')
    }
    // A change of plan reads as what it is to them: their prices changed.
    const actions = async (who: typeof dealer, action: string) => {
      const { body } = await who.call('GET', `/audit?tenantId=${tenantId}&action=${action}`)
      return body.entries.map((entry: { action: string }) => entry.action)
    }
    for (const action of ['prices', 'prices.change']) expect(await actions(dealer, action)).toEqual(['prices.change'])
    expect(await actions(dealer, 'price_plan')).toEqual([])
    expect(await actions(operator, 'price_plan')).toEqual(['price_plan.assign'])
    expect(await actions(dealer, 'order')).toEqual(['order.settle'])
  })

  it('nothing of the key by which a supplier knows an eSIM, which operators are told', async () => {
    await addPackage(room.db, 'KEYED', [])
    const [orderId = ''] = await payOrders(room.db, tenantId, 'KEYED')
    const path = `/tenants/${tenantId}/orders/${orderNoOf(orderId)}`
    const operator = await signedInAs(room, 'OPERATOR_READ_ONLY')
    const dealer = await signedInAs(room, 'DEALER_STAFF', tenantId)
    const keyOf = async (who: typeof dealer) => (await who.call('GET', path)).body.items[0].supplierKey
    expect(await keyOf(operator)).toBe(`${orderNoOf(orderId)}-1`)
    expect(await keyOf(dealer)).toBeNull()
  })

  it('nothing of what an eSIM cost, nor of what its supplier charged', async () => {
    await addPackage(room.db, 'COSTLY', [])
    const [orderId = ''] = await payOrders(room.db, tenantId, 'COSTLY')
    const costs = { cost: 5_000, costCurrency: 'USD', charged: 900_000, chargedCurrency: 'JPY' }
    await room.db.query({
      text: `update order_items set cost = $2, cost_currency = $3, supplier_charge = $4,
               supplier_charge_currency = $5 where order_id = $1`,
      values: [orderId, ...Object.values(costs)],
    })
    const path = `/tenants/${tenantId}/orders/${orderNoOf(orderId)}`
    const itemAs = async (who: Awaited<ReturnType<typeof signedInAs>>) => (await who.call('GET', path)).body.items[0]
    expect(await itemAs(await signedInAs(room, 'OPERATOR_READ_ONLY'))).toMatchObject(costs)
    const hidden = Object.fromEntries(Object.keys(costs).map((name) => [name, null]))
    expect(await itemAs(await signedInAs(room, 'DEALER_STAFF', tenantId))).toMatchObject(hidden)
  })

  it('why an eSIM failed, and not what a supplier says while it is open', async () => {
    await addPackage(room.db, 'SAID', [])
    const [orderId = ''] = await payOrders(room.db, tenantId, 'SAID')
    const path = `/tenants/${tenantId}/orders/${orderNoOf(orderId)}`
    const operator = await signedInAs(room, 'OPERATOR_READ_ONLY')
    const dealer = await signedInAs(room, 'DEALER_STAFF', tenantId)
    const toldAs = async (status: string) => {
      await room.db.query({
        text: `update order_items set item_status = $2, failure_reason = 'words of it' where order_id = $1`,
        values: [orderId, status],
      })
      const reasons = [operator, dealer].map(async (who) => (await who.call('GET', path)).body.items[0].failureReason)
      return Promise.all(reasons)
    }
    expect(await toldAs('REVIEW')).toEqual(['words of it', null])
    expect(await toldAs('REFUSED')).toEqual(['words of it', 'words of it'])
  })

  it('that a wallet was adjusted, and neither who proposed it nor what was turned down', async () => {
    const subject = await addTenant(room, 'Adjusted Ltd')
    const [first, second] = [await signedInAs(room, 'OPERATOR_STAFF'), await signedInAs(room, 'OPERATOR_STAFF')]
    const proposal = async (reference: string) => {
      const wish = { tenantId: subject, amount: 5_000n, reference, reason: 'Rumours of Tanaka' }
      return (await proposeAdjustment(room.deps, wish, { actor: `person:${first.personId}` })).adjustmentId
    }
    const by = { actor: `person:${second.personId}` as const }
    await approveAdjustment(room.deps, subject, await proposal('posted'), by)
    await rejectAdjustment(room.deps, subject, await proposal('dropped'), by)
    const dealer = await signedInAs(room, 'DEALER_ADMIN', subject)
    for (const list of ['/audit', '/audit.csv']) {
      for (const action of ['', '&action=wallet', '&action=wallet.propose_adjustment']) {
        const query = `${list}?tenantId=${subject}${action}`
        const told = JSON.stringify((await dealer.call('GET', query)).body)
        expect([query, /proposedBy|Rumours|dropped|propose_|reject_/.test(told)]).toEqual([query, false])
        expect([query, told.includes(first.personId)]).toEqual([query, false])
        expect([query, told.includes('wallet.approve_adjustment')]).toEqual([query, !action.includes('.')])
        const own = JSON.stringify((await first.call('GET', query)).body)
        expect([query, own.includes('Rumours')]).toEqual([query, true])
        if (!list.endsWith('csv')) expect([query, own.includes('"clientName":"Adjusted Ltd"')]).toEqual([query, true])
      }
    }
  })
})
