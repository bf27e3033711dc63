import { randomUUID } from 'node:crypto'
import { operationNames, QPS_LIMIT_MAX, type RtOperationName, rtOperations } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { suspendTenant } from '#tenants/change-tenant.ts'
import {
  ALLOWED_OPERATIONS,
  createKey,
  DEFAULT_OPERATIONS,
  type KeyInput,
  listKeys,
  revokeKey,
  setKey,
} from '#tenants/keys/manage-keys.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, type RequestParts } from '#test/harness/api-node.ts'
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
const rtOrder = (of: Dealer, at?: Node) =>
  rt(of, 'esim/order', { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }, at)

const limitsOf = async (key: Dealer) => (await json(key, 'health')).data.keyLimits

describe('a restricted key’s operations', () => {
  it('a key created without a list of operations may read packages and the balance', async () => {
    const dealer = await dealerWith()
    const key = await keyOf(dealer, { operations: null })
    for (const operation of operationNames) {
      const { code, data, status } = await json(key, operation)
      if (DEFAULT_OPERATIONS.includes(operation)) expect([operation, code]).toEqual([operation, '000000'])
      else expect([operation, code, status, data.operation]).toEqual([operation, '101009', 403, operation])
    }
  })

  it.each(ALLOWED_OPERATIONS)('a key for only %s may call nothing else', async (allowed) => {
    const dealer = await dealerWith()
    const key = await keyOf(dealer, { operations: [allowed] })
    for (const operation of operationNames) {
      const { code } = await json(key, operation)
      expect([operation, code === '101009']).toEqual([operation, operation !== allowed])
    }
  })

  it('an RT API call needs every operation that it stands for, and gets 401001 without one', async () => {
    const needs: Record<RtOperationName, string[] | undefined> = {
      ...(Object.fromEntries(Object.keys(rtOperations).map((name) => [name, [name]])) as Record<
        RtOperationName,
        string[]
      >),
      ...{ 'balance/query': ['account/balance'], 'esim/query': ['esim/query', 'esim/profile/list'] },
      ...{ 'esim/sendSms': undefined, 'webhook/save': undefined, 'webhook/query': undefined },
    }
    const dealer = await dealerWith()
    const all = await keyOf(dealer)
    for (const [operation, needed] of Object.entries(needs)) {
      const isAllowed = async (key: Dealer) => {
        const { errorCode, errorMsg } = await rt(key, operation)
        return !(errorCode === '401001' && errorMsg.startsWith('This key may not call'))
      }
      expect([operation, await isAllowed(dealer)]).toEqual([operation, true])
      expect([operation, await isAllowed(all)]).toEqual([operation, needed !== undefined])
      for (const one of needed ?? []) {
        const without = await keyOf(dealer, { operations: ALLOWED_OPERATIONS.filter((name) => name !== one) })
        expect([operation, one, await isAllowed(without)]).toEqual([operation, one, false])
        await revokeKey(bed.node.deps, dealer.tenantId, without.appKey, OPERATOR)
      }
    }
  })

  it('a call must be signed: unsigned, or with its secret as a header, it gets 000101 whatever the settings', async () => {
    const dealer = await dealerWith({
      ipAllowlist: ['127.0.0.1'],
      dailySpendLimit: 10_000_000n,
      unsignedRequests: true,
    })
    const key = await keyOf(dealer)
    const unsigned = { 'RT-Signature': undefined, 'RT-RequestID': undefined, 'RT-Timestamp': undefined }
    const send = (of: Dealer, headers: RequestParts['headers']) =>
      rt(of, 'balance/query', {}, nodes[0], { headers: { ...unsigned, ...headers } })
    expect((await send(dealer, {})).errorCode).toBeNull()
    expect((await send(key, {})).errorCode).toBe('000101')
    expect((await send(dealer, { 'RT-SecretKey': dealer.appSecret })).errorCode).toBeNull()
    expect((await send(key, { 'RT-SecretKey': key.appSecret })).errorCode).toBe('000101')
    expect((await rt(key, 'balance/query')).errorCode).toBeNull()
  })
})

it('the order of checks is AppKey, timestamp, signature, status, address, operation, RequestID, QPS', async () => {
  const { deps } = bed.node
  const dealer = await dealerWith({ qpsLimit: 1 })
  const key = await keyOf(dealer, { operations: ['health'], ipAllowlist: ['203.0.113.7'] })
  const used = randomUUID()
  const wrong = { timestamp: Date.now() - 400_000, signature: '0'.repeat(64), requestId: used }
  const code = async (parts: RequestParts, operation = 'esim/order') =>
    (await json(key, operation, {}, nodes[0], parts)).code
  expect(await code({ ...wrong, appKey: 'rk_main_0123456789012345678901234' })).toBe('101004')
  expect(await code(wrong)).toBe('101001')
  expect(await code({ signature: wrong.signature })).toBe('101003')
  await suspendTenant(deps, dealer.tenantId, OPERATOR)
  expect(await code({})).toBe('101005')
  await deps.db.query({
    text: `update tenants set status = 'ACTIVE', version = version + 1 where tenant_id = $1`,
    values: [dealer.tenantId],
  })
  expect(await code({ requestId: used })).toBe('101002')
  await setKey(deps, dealer.tenantId, key.appKey, { ipAllowlist: [] }, OPERATOR)
  expect(await code({ requestId: used })).toBe('101009')
  expect(await code({ requestId: used })).toBe('101009') // it was not spent
  expect(await code({ requestId: used }, 'health')).toBe('000000')
  expect(await code({ requestId: used }, 'health')).toBe('101006')
  expect((await json(dealer, 'health', {}, nodes[1], { requestId: used })).code).toBe('101006') // one namespace
  await changeSettings(deps, dealer.tenantId, { ipAllowlist: ['203.0.113.7'] }, OPERATOR)
  expect(await code({}, 'health')).toBe('101002') // both allowlists apply
})

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
  const LIMIT = 50n * BigInt(PRICE)
  it.each([
    ['TENANT_DAY', { dailySpendLimit: LIMIT + 44_999n }, {}],
    ['KEY_DAY', {}, { perDayMax: LIMIT + 44_999n }],
    ['KEY_TOTAL', {}, { totalMax: LIMIT + 44_999n }],
    ['KEY_ORDER', {}, { perOrderMax: 44_999n }],
  ] as const)(
    'of 200 simultaneous orders over two nodes and both APIs, %s accepts as many as it covers and no more',
    async (scope, settings, limits) => {
      const dealer = await dealerWith(settings)
      const key = await keyOf(dealer, limits)
      const before = (await json(dealer, 'account/balance')).data.balance
      const answers = await Promise.all(
        Array.from({ length: 200 }, async (_, index) => {
          const at = nodes[index % 2]!
          if (index % 4 < 2) {
            const { code, data } = await order(key, {}, at)
            if (code !== '000000') expect([code, data.scope]).toEqual(['200014', scope])
            return code === '000000'
          }
          const { errorCode } = await rtOrder(key, at)
          if (errorCode !== null) expect(errorCode).toBe('200007')
          return errorCode === null
        }),
      )
      const placed = answers.filter(Boolean).length
      expect(placed).toBe(scope === 'KEY_ORDER' ? 0 : 50)
      expect((await json(dealer, 'account/balance')).data.balance).toBe(before - placed * PRICE)
      expect(await limitsOf(key)).toMatchObject({ daySpent: placed * PRICE, totalSpent: placed * PRICE })
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
