import { randomUUID } from 'node:crypto'
import { QPS_LIMIT_MAX } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ALLOWED_OPERATIONS, createKey, type KeyInput, listKeys, revokeKey, setKey } from '#tenants/keys/manage-keys.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import {
  type Answer,
  addDealer,
  call,
  type Dealer,
  type Node,
  OPERATOR,
  type RequestParts,
} from '#test/harness/api-node.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { createTopUpTestbed, PRICE, type TopUpTestbed } from '#test/orders/topups/topup-testbed.ts'

let bed: TopUpTestbed
let nodes: Node[]
beforeAll(async () => {
  bed = await createTopUpTestbed(2)
  nodes = bed.nodes
})
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

async function dealerWith(settings: Parameters<typeof changeSettings>[2] = {}, units = 10_000): Promise<Dealer> {
  const dealer = await addDealer(bed.node.deps, units)
  const all = { qpsLimit: QPS_LIMIT_MAX, ...settings }
  await changeSettings(bed.node.deps, dealer.tenantId, all, OPERATOR)
  return dealer
}

let labels = 0
/** A restricted key, in the form of credentials. */
async function keyOf({ tenantId }: Dealer, input: KeyInput = {}): Promise<Dealer> {
  const made = await createKey(
    bed.node.deps,
    tenantId,
    { label: `shop ${++labels}`, operations: ALLOWED_OPERATIONS, ...input },
    OPERATOR,
  )
  return { tenantId, ...made }
}

const json = (of: Dealer, operation: string, body: object = {}, at = nodes[0]!, parts: RequestParts = {}) =>
  call(at, of, operation, { ...parts, body: JSON.stringify(body) })
const order = (of: Dealer, members: object = {}, at?: Node) =>
  json(
    of,
    'esim/order',
    { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }], ...members },
    at,
  )

/** A call of the RT API. @returns its errorCode; null: success */
async function rt(of: Dealer, operation: string, body: object = {}, at = nodes[0]!, parts: RequestParts = {}) {
  const path = `/api/v1/open/${operation}`
  const answer = await call(at, of, '', { path, signatureHeader: 'RT-Signature', ...parts, body: JSON.stringify(body) })
  return JSON.parse(answer.text) as { errorCode: string | null; errorMsg: string }
}
const rtOrder = (of: Dealer, at?: Node, count = 1) =>
  rt(of, 'esim/order', { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count }] }, at)

const limitsOf = async (key: Dealer) => (await json(key, 'health')).data.keyLimits

it('a revocation, change or expiry applies to the next request on every node', async () => {
  const { deps } = bed.node
  const dealer = await dealerWith()
  const key = await keyOf(dealer)
  const codes = () => Promise.all(nodes.map(async (node) => (await json(key, 'account/balance', {}, node)).code))
  expect(await codes()).toEqual(['000000', '000000'])
  await setKey(deps, dealer.tenantId, key.appKey, { operations: ['health'] }, OPERATOR)
  expect(await codes()).toEqual(['101009', '101009'])
  const expiresAt = new Date(Date.now() + 1_500)
  await setKey(deps, dealer.tenantId, key.appKey, { operations: null, expiresAt }, OPERATOR)
  expect(await codes()).toEqual(['000000', '000000'])
  await waitUntil(async () => Date.now() > expiresAt.getTime() + 50)
  expect(await codes()).toEqual(['101004', '101004'])
  await setKey(deps, dealer.tenantId, key.appKey, { expiresAt: null }, OPERATOR)
  expect(await codes()).toEqual(['000000', '000000'])
  await revokeKey(deps, dealer.tenantId, key.appKey, OPERATOR)
  expect(await codes()).toEqual(['101004', '101004'])
  expect((await json(dealer, 'health')).code).toBe('000000')
})

describe('a restricted key’s limits', () => {
  const FIFTY = 50n * BigInt(PRICE) + 44_999n
  it.each([
    ['TENANT_DAY', { dailySpendLimit: FIFTY + BigInt(PRICE) }, {}, 50], // the limit also covers the eSIM that is topped up
    ['KEY_DAY', {}, { perDayMax: FIFTY }, 50],
    ['KEY_TOTAL', {}, { totalMax: FIFTY }, 50],
    ['KEY_ORDER', {}, { perOrderMax: 2n * BigInt(PRICE) - 1n }, 120], // all orders and top-ups of one eSIM
  ] as const)(
    'of 200 simultaneous orders and top-ups over two nodes and both APIs, %s accepts as many as it covers and no more',
    async (scope, settings, limits, covered) => {
      const dealer = await dealerWith(settings)
      const esim = await bed.delivered('JP_1_7', dealer)
      const key = await keyOf(dealer, limits)
      const before = (await json(dealer, 'account/balance')).data.balance
      const inDealerApi = async ({ code, data }: Answer, count: number) => {
        if (code !== '000000') expect([code, data.scope]).toEqual(['200014', scope])
        return code === '000000' ? count : 0
      }
      const inRtApi = async (count: number, at: Node) => {
        const { errorCode } = await rtOrder(key, at, count)
        if (errorCode !== null) expect(errorCode).toBe('200007')
        return errorCode === null ? count : 0
      }
      const placed = await Promise.all(
        Array.from({ length: 200 }, async (_, index) => {
          const at = nodes[index % 2]!
          const [kind, count] = [index % 5, index % 5 < 3 ? 1 : 2]
          if (kind === 0) return inDealerApi(await bed.topUp({ ...esim, dealer: key }, {}, at), count)
          if (kind % 2 === 0) return inRtApi(count, at)
          return inDealerApi(await order(key, { packageInfoList: [{ packageCode: 'JP_1_7', count }] }, at), count)
        }),
      )
      const esims = placed.reduce((sum, count) => sum + count, 0)
      expect(esims).toBe(covered)
      expect((await json(dealer, 'account/balance')).data.balance).toBe(before - covered * PRICE)
      expect(await limitsOf(key)).toMatchObject({ daySpent: covered * PRICE, totalSpent: covered * PRICE })
    },
    120_000,
  )

  it('an order is refused by the first limit that it exceeds, with the amount used; a dry run says the same', async () => {
    const dealer = await dealerWith({ dailySpendLimit: 100n })
    const key = await keyOf(dealer, { perOrderMax: 200n, perDayMax: 300n, totalMax: 400n })
    const data = async () => {
      const [refused, foretold] = [await order(key), await order(key, { validateOnly: true })]
      expect([refused.code, foretold.code]).toEqual(['200014', '200014'])
      const { requestId: _, details: __, ...members } = refused.data
      expect(foretold.data).toMatchObject(members)
      return members
    }
    const resetTime = expect.stringMatching(/T00:00:00\.000Z$/)
    expect(await data()).toEqual({ scope: 'TENANT_DAY', limit: 100, spent: 0, resetTime })
    await changeSettings(bed.node.deps, dealer.tenantId, { dailySpendLimit: null }, OPERATOR)
    expect(await data()).toEqual({ scope: 'KEY_ORDER', limit: 200, spent: 0, resetTime: null })
    await setKey(bed.node.deps, dealer.tenantId, key.appKey, { perOrderMax: null }, OPERATOR)
    expect(await data()).toEqual({ scope: 'KEY_DAY', limit: 300, spent: 0, resetTime })
    await setKey(bed.node.deps, dealer.tenantId, key.appKey, { perDayMax: null }, OPERATOR)
    expect(await data()).toEqual({ scope: 'KEY_TOTAL', limit: 400, spent: 0, resetTime: null })
  })

  it('a replay counts towards no key’s limit, and the dealer’s other keys are not bounded', async () => {
    const dealer = await dealerWith()
    const [key, other] = [await keyOf(dealer, { totalMax: BigInt(PRICE) }), await keyOf(dealer)]
    const transactionId = randomUUID()
    expect((await order(key, { transactionId })).code).toBe('000000')
    expect((await order(key, { transactionId })).headers['idempotent-replayed']).toBe('true')
    expect((await order(other, { transactionId })).headers['idempotent-replayed']).toBe('true')
    expect(await limitsOf(key)).toMatchObject({ totalSpent: PRICE })
    expect(await limitsOf(other)).toMatchObject({ totalSpent: 0 })
    expect((await order(key)).data.scope).toBe('KEY_TOTAL')
    expect((await order(other)).code).toBe('000000')
    expect((await order(dealer)).code).toBe('000000')
  })

  it('a refund goes back to the key that placed the order, and to its daily limit only on the day of the debit', async () => {
    const { deps } = bed.node
    const dealer = await dealerWith()
    const key = await keyOf(dealer, { operations: ALLOWED_OPERATIONS, totalMax: 2n * BigInt(PRICE) })
    bed.supplier.query = () => ({ kind: 'refused', message: 'none left' })
    const { itself } = bed.supplier
    const { order: deliver } = itself
    Object.assign(itself, {
      order: async (requests: object[]) => requests.map(() => ({ kind: 'refused', message: 'none left' })),
    })
    const refused = async () => {
      const transactionId = randomUUID()
      expect((await order(key, { transactionId })).code).toBe('000000')
      return bed.order(dealer, transactionId, 'FAILED')
    }
    await refused()
    expect(await limitsOf(key)).toMatchObject({ daySpent: 0, totalSpent: 0 })
    // The same refund a day later: the key has spent elsewhere since.
    await deps.db.query({
      text: `update tenant_keys set spent_on = spent_on - 1, day_spent = 7, total_spent = 7 where tenant_id = $1 and app_key = $2`,
      values: [dealer.tenantId, key.appKey],
    })
    await refused()
    expect(await limitsOf(key)).toMatchObject({ daySpent: 0, totalSpent: 7 })
    Object.assign(itself, { order: deliver })
  })
})

it('orders, top-ups, entries and actions record the key’s label at that time, or null for the tenant’s own key', async () => {
  const { deps } = bed.node
  const dealer = await dealerWith()
  const key = await keyOf(dealer, { label: 'before' })
  const label = 'before'
  expect((await json(key, 'health')).data).toMatchObject({
    keyLabel: label,
    keyLimits: { perOrderMax: null, daySpent: 0 },
  })
  expect((await json(dealer, 'health')).data).toMatchObject({ keyLabel: null, keyLimits: null })
  const [transactionId, own] = [randomUUID(), randomUUID()]
  await order(key, { transactionId })
  await order(dealer, { transactionId: own })
  await setKey(deps, dealer.tenantId, key.appKey, { label: 'after' }, OPERATOR)
  const labelOf = async (id: string) => (await json(dealer, 'esim/query', { transactionId: id })).data.keyLabel
  expect([await labelOf(transactionId), await labelOf(own)]).toEqual([label, null])
  const { orderList } = (await json(dealer, 'order/list')).data
  expect(orderList.map((one: { keyLabel: string }) => one.keyLabel)).toEqual([null, label])
  const { entryList } = (await json(dealer, 'account/statement', { kind: 'ORDER' })).data
  expect(entryList.map((one: { keyLabel: string }) => one.keyLabel)).toEqual([null, label])
  const esim = await bed.delivered('JP_1_7', dealer)
  await bed.set(esim, `esim_status = 'IN_USE'`)
  Object.assign(bed.supplier.itself, { revoke: async () => ({ kind: 'done' }) })
  const { code, data } = await json(key, 'esim/revoke', {
    transactionId: randomUUID(),
    action: 'REVOKE',
    esimTranNo: esim.esimTranNo,
  })
  expect([code, data.keyLabel]).toEqual(['000000', 'after'])
})

describe('restricted keys', () => {
  it('are refused beyond 20, with a duplicate label, or with invalid members', async () => {
    const { deps } = bed.node
    const dealer = await dealerWith()
    const make = (input: KeyInput & { label: string }) =>
      createKey(deps, dealer.tenantId, input, OPERATOR).then(
        () => 'made',
        (error: Error) => error.message,
      )
    expect(await make({ label: 'webshop' })).toBe('made')
    expect(await make({ label: 'webshop' })).toContain('Another key has the label')
    expect(await make({ label: ' ' })).toContain('label')
    expect(await make({ label: 'x', operations: ['webhook/set'] })).toContain('cannot have webhook/set')
    expect(await make({ label: 'x', operations: [] })).toContain('at least one operation')
    expect(await make({ label: 'x', totalMax: -1n })).toContain('0 or more')
    expect(await make({ label: 'x', ipAllowlist: ['nowhere'] })).toContain('neither an address')
    for (let count = 2; count <= 20; count++) await make({ label: `key ${count}` })
    expect(await make({ label: 'x' })).toContain('at most 20')
    const [newest] = await listKeys(deps.db, dealer.tenantId)
    await revokeKey(deps, dealer.tenantId, newest!.appKey, OPERATOR)
    expect(await make({ label: newest!.label })).toBe('made')
  })

  it('record their last use at most once a minute per node, and are never found by another tenant', async () => {
    const dealer = await dealerWith()
    const [key, stranger] = [await keyOf(dealer), await dealerWith()]
    for (let count = 0; count < 5; count++) await json(key, 'account/balance')
    const used = await waitUntil(async () => (await listKeys(bed.node.deps.db, dealer.tenantId))[0]!.lastUsedAt)
    await json(key, 'account/balance')
    expect((await listKeys(bed.node.deps.db, dealer.tenantId))[0]!.lastUsedAt).toEqual(used)
    await expect(setKey(bed.node.deps, stranger.tenantId, key.appKey, {}, OPERATOR)).rejects.toThrow(
      /no such|not found|There is no/i,
    )
  })
})

it('are not touched by an order or a top-up with the tenant’s own key', async () => {
  const dealer = await dealerWith()
  await keyOf(dealer)
  const esim = await bed.delivered('JP_1_7', dealer)
  await bed.node.deps.db.tx(async (tx) => {
    await tx.query({ text: 'lock table tenant_keys in access exclusive mode' }) // whatever reads it now waits
    for (const node of nodes) {
      expect((await order(dealer, {}, node)).code).toBe('000000')
      expect((await order(dealer, { validateOnly: true }, node)).code).toBe('000000')
      expect((await bed.topUp(esim, {}, node)).code).toBe('000000')
    }
  })
})

describe('RT API calls', () => {
  it('are refused if they ask for a dry run, because that API has none', async () => {
    const dealer = await dealerWith()
    const packageInfoList = [{ packageCode: 'JP_1_7', count: 1 }]
    const body = { transactionId: randomUUID(), packageInfoList, validateOnly: true }
    expect(await rt(dealer, 'esim/order', body)).toMatchObject({ errorCode: '200008' })
    expect((await rt(dealer, 'esim/order', { ...body, validateOnly: false })).errorCode).toBe(null)
    const topUp = { esimTranNo: randomUUID(), packageCode: 'JP_1_7_TOPUP', validateOnly: 'true' }
    expect(await rt(dealer, 'esim/topup', topUp)).toMatchObject({ errorCode: '200008' })
  })

  it('do not repeat a top-up that a different key requested without a transactionId', async () => {
    const dealer = await dealerWith()
    const esim = await bed.delivered('JP_1_7', dealer)
    const topUp = { esimTranNo: esim.esimTranNo, packageCode: 'JP_1_7_TOPUP' }
    // No answer to it is final yet.
    bed.supplier.topUp = () => ({ kind: 'unknown', message: 'later' })
    void rt(dealer, 'esim/topup', topUp)
    await waitUntil(async () => (await entries(dealer)) === 2)
    const poor = await keyOf(dealer, { totalMax: 1n })
    expect(await rt(poor, 'esim/topup', topUp)).toMatchObject({ errorMsg: expect.stringMatching(/limit/) })
    const rich = await keyOf(dealer)
    void rt(rich, 'esim/topup', topUp)
    await waitUntil(async () => (await entries(dealer)) === 3)
    bed.supplier.topUp = () => ({ kind: 'toppedUp' })
  })
})

/** Debits of a dealer so far. */
async function entries(dealer: Dealer): Promise<number> {
  const { data } = await json(dealer, 'account/statement')
  return data.entryList.filter((entry: { kind: string }) => ['ORDER', 'TOPUP'].includes(entry.kind)).length
}
