import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setOwnPrice } from '#catalogue/prices/prices.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { type Answer, addDealer, addTwin, call, type Dealer, OPERATOR } from '#test/harness/api-node.ts'
import { ESIM_OPERATIONS, esimReferences, otherOrderNo, withoutIds } from '#test/harness/isolation.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type ApiFixture, createApiFixture } from './api-fixture.ts'

let stage: ApiFixture
let owner: Dealer
/** Accounts that must not see what the owner has. */
let strangers: Record<'another dealer' | 'its own test twin', Dealer>
/** A delivered order of the owner's. */
let order: { orderNo: string; transactionId: string }
let profile: { esimTranNo: string; iccid: string }
/** An open action of the owner's on that eSIM. */
let action: { actionNo: string; transactionId: string }

beforeAll(async () => {
  stage = await createApiFixture()
  owner = stage.dealer
  const { deps } = stage.node
  strangers = { 'another dealer': await addDealer(deps), 'its own test twin': await addTwin(deps, owner) }
  order = (await stage.order(owner, { transactionId: 'owned' })).data
  const loop = fulfilmentLoop(stage.node.deps)
  const delivered = await waitUntil(async () => {
    const { data } = await stage.json(owner, 'esim/query', { orderNo: order.orderNo })
    return data.orderStatus === 'DELIVERED' && data
  })
  await loop.stop(5_000)
  profile = delivered.profileList[0]
  const revoke = { transactionId: 'revoked', action: 'REVOKE', esimTranNo: profile.esimTranNo }
  action = (await stage.json(owner, 'esim/revoke', revoke)).data
})
afterAll(() => stage.close())

const nothing = 'z'.repeat(26)
/** Pairs of requests: one refers to something of the owner's, the other to nothing, with the same length and form. */
function questions(): [string, string, Record<string, unknown>, Record<string, unknown>][] {
  const noOrder = otherOrderNo(order.orderNo)
  const noProfile = randomUUID()
  const noIccid = profile.iccid.replace(/.$/, (last) => String((Number(last) + 1) % 10))
  const pairs: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['esim/query', { orderNo: order.orderNo }, { orderNo: noOrder }],
    ['esim/query', { orderNo: order.orderNo }, { orderNo: nothing }],
    ['esim/query', { transactionId: 'owned' }, { transactionId: 'other' }],
    ['esim/query', { ...order, amount: undefined }, { orderNo: noOrder, transactionId: 'other' }],
    ['esim/profile/list', { orderNo: order.orderNo }, { orderNo: noOrder }],
    ['esim/profile/list', { transactionId: 'owned' }, { transactionId: 'other' }],
    ['esim/profile/list', { esimTranNo: profile.esimTranNo }, { esimTranNo: noProfile }],
    ['esim/profile/list', { iccid: profile.iccid }, { iccid: noIccid }],
    ['esim/profile/list', { esimStatus: 'GOT_RESOURCE' }, { esimStatus: 'IN_USE' }],
    ['esim/profile/list', {}, { startTime: '2040-01-01T00:00:00.000Z' }],
    ['order/list', { orderStatus: 'DELIVERED' }, { orderStatus: 'FAILED' }],
    ['order/list', {}, { startTime: '2040-01-01T00:00:00.000Z' }],
    ['order/list', { orderType: 'NEW' }, { orderType: 'TOPUP' }],
    ['account/statement', { kind: 'ORDER' }, { kind: 'REFUND' }],
  ]
  return pairs.map(([operation, theirs, absent]) => {
    const { orderNo, transactionId, ...rest } = theirs
    const names = { ...(orderNo ? { orderNo } : {}), ...(transactionId ? { transactionId } : {}) }
    const asked = operation === 'esim/query' ? names : { ...rest, ...names }
    return [`${operation} ${Object.keys(asked)}`, operation, asked, absent]
  })
}

describe.each(['another dealer', 'its own test twin'] as const)(
  'an order, profile or package of a dealer, for %s,',
  (who) => {
    let stranger: Dealer
    beforeAll(() => {
      stranger = strangers[who]
    })

    it('exists for its owner', async () => {
      for (const [title, operation, theirs] of questions()) {
        const { code, data } = await stage.json(owner, operation, theirs)
        expect([title, code, (data.profileList ?? data.orderList ?? data.entryList ?? []).length]).toEqual([
          title,
          '000000',
          1,
        ])
      }
    })

    it('gets the same answer as a nonexistent one', async () => {
      for (const [title, operation, theirs, absent] of questions()) {
        const [one, other] = [
          await stage.json(stranger, operation, theirs),
          await stage.json(stranger, operation, absent),
        ]
        expect([title, withoutIds(one)]).toEqual([title, withoutIds(other)])
        expect([title, one.code]).toEqual([title, operation === 'esim/query' ? '200013' : '000000'])
      }
    })

    it.each(ESIM_OPERATIONS)('is not found by %s if it is an eSIM', async (operation, request) => {
      const id = operation === 'package/list' ? {} : { transactionId: 'new' }
      for (const [theirs, absent] of esimReferences(profile)) {
        const body = { ...id, ...request }
        const known = await stage.json(owner, operation, { ...body, ...theirs })
        expect(known.code).toBe(operation === 'package/list' ? '000000' : '200002')
        const one = await stage.json(stranger, operation, { ...body, ...theirs })
        expect(one.code).toBe('310403')
        expect(withoutIds(one)).toEqual(withoutIds(await stage.json(stranger, operation, { ...body, ...absent })))
      }
    })

    it('is not found by esim/action/query if it is an action', async () => {
      const { actionNo, transactionId } = action
      const noAction = otherOrderNo(actionNo)
      const pairs = [
        [{ actionNo }, { actionNo: noAction }],
        [{ transactionId }, { transactionId: 'another' }],
        [
          { actionNo, transactionId },
          { actionNo: noAction, transactionId: 'another' },
        ],
      ]
      for (const [theirs, absent] of pairs) {
        expect((await stage.json(owner, 'esim/action/query', theirs!)).data.actionNo).toBe(actionNo)
        const one = await stage.json(stranger, 'esim/action/query', theirs!)
        expect(one.code).toBe('200013')
        expect(withoutIds(one)).toEqual(withoutIds(await stage.json(stranger, 'esim/action/query', absent!)))
      }
    })

    it('is reported as not found in a usage query if it is an eSIM', async () => {
      const ask = async (of: Dealer, esimTranNo: string) => {
        const answer = await stage.json(of, 'esim/usage/query', { esimTranNoList: [esimTranNo] })
        const { text, ...rest } = withoutIds(answer)
        return { ...rest, text: text.replaceAll(esimTranNo, 'ESIM') }
      }
      expect((await ask(owner, profile.esimTranNo)).text).toContain(profile.iccid)
      const one = await ask(stranger, profile.esimTranNo)
      expect(one).toEqual(await ask(stranger, randomUUID()))
      expect(one.text).toContain('"notFound":["ESIM"]')
    })

    it('does not block its transactionId for an action', async () => {
      const answer = await stage.order(stranger, { transactionId: 'revoked' })
      expect([answer.code, answer.headers['idempotent-replayed']]).toEqual(['000000', undefined])
    })

    it('does not block its transactionId for an order', async () => {
      const answer = await stage.order(stranger, { transactionId: 'owned' })
      expect([answer.code, answer.headers['idempotent-replayed']]).toEqual(['000000', undefined])
      expect(answer.data.orderNo).not.toBe(order.orderNo)
    })

    it('does not appear in balance, health or webhook settings', async () => {
      const fresh = await addDealer(stage.node.deps, 7)
      expect((await call(stage.node, fresh, 'account/balance')).data.balance).toBe(70_000)
      expect((await call(stage.node, fresh, 'health')).data.tenantId).toBe(fresh.tenantId)
      await stage.json(owner, 'webhook/set', { eventTypes: ['ORDER_PAID'] })
      expect((await call(stage.node, fresh, 'webhook/set')).data.eventTypes).toHaveLength(2)
    })
  },
)

describe('an order, profile or package of another dealer', () => {
  let stranger: Dealer
  beforeAll(() => {
    stranger = strangers['another dealer']
  })

  it('cannot be read with its owner’s cursor', async () => {
    await stage.order(owner)
    const { data } = await stage.json(owner, 'package/list', { pageSize: 1 })
    expect(data.nextCursor).toEqual(expect.any(String))
    const cursors = [data.nextCursor, data.nextCursor.replace(/..$/, (end: string) => (end === 'AA' ? 'BB' : 'AA'))]
    const answers = await Promise.all(
      cursors.map((cursor) => stage.json(stranger, 'package/list', { pageSize: 1, cursor })),
    )
    expect(answers.map((answer) => answer.code)).toEqual(['000108', '000108'])
    expect(withoutIds(answers[0]!)).toEqual(withoutIds(answers[1]!))
  })

  it('is hidden if it is a package without a price for the tenant', async () => {
    const named = { clientName: 'Pound dealer', currencyCode: 'GBP' }
    const foreign = await createTenant(stage.node.deps, named, OPERATOR)
    const asked = (packageCode: string) =>
      stage.order(foreign, { transactionId: 'same', packageInfoList: [{ packageCode, count: 1 }] })
    const hide = (answer: Answer, code: string) => JSON.stringify(withoutIds(answer)).replaceAll(code, 'CODE')
    expect(hide(await asked('JP_1_7'), 'JP_1_7')).toBe(hide(await asked('NOWAY1'), 'NOWAY1'))
    // Another tenant's individual price makes no difference.
    const ownPrice = { tenantId: owner.tenantId, packageCode: 'JP_1_7', price: 5n }
    await setOwnPrice(stage.node.deps, ownPrice, OPERATOR)
    expect(hide(await asked('JP_1_7'), 'JP_1_7')).toBe(hide(await asked('NOWAY1'), 'NOWAY1'))
    const listed = (packageCode: string) => stage.json(foreign, 'package/list', { packageCode })
    const [unpriced, absent] = [await listed('JP_1_7'), await listed('NOWAY1')]
    expect([unpriced.code, unpriced.data.packageList]).toEqual(['000000', []])
    expect([absent.code, absent.data.packageList]).toEqual(['000000', []])
    expect((await stage.json(stranger, 'package/list', { packageCode: 'JP_1_7' })).data.packageList[0].price).toBe(
      45_000,
    )
  })
})
