import { createHmac, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RequestLine } from '#http/request-log.ts'
import { createAttemptId } from '#platform/attempt-id.ts'
import { suspendTenant } from '#tenants/change-tenant.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { changeSettings, type SettingsInput } from '#tenants/tenant-settings.ts'
import { getTenantView } from '#tenants/tenant-views.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { createTestDatabase } from '#test/harness/databases/database.ts'
import { addPackages } from '../dealer/api-fixture.ts'
import { type FamilyParts, familyCall } from './family-program.ts'

const UNIT = 10_000n
const PRICE = 45_000
const HERE = '127.0.0.1'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let nodes: Node[]
/** Trusts a proxy at the loopback address. */
let proxied: Node
let node: Node
const lines: RequestLine[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  const logRequest = (line: RequestLine) => void lines.push(line)
  nodes = [await startNode(database.url, {}, { logRequest }), await startNode(database.url)]
  proxied = await startNode(database.url, { TRUSTED_PROXIES: HERE })
  node = nodes[0]!
  await addPackages(node)
})
afterAll(async () => {
  for (const each of [...nodes, proxied]) await each.stop()
  await database.drop()
})

const UNSIGNED = { 'RT-RequestID': undefined, 'RT-Timestamp': undefined, 'RT-Signature': undefined }
const ALL = { ipAllowlist: [HERE], dailySpendLimit: 1_000n * UNIT, unsignedRequests: true }

const dealerWith = async (settings: SettingsInput): Promise<Dealer> => {
  const dealer = await addDealer(node.deps)
  await changeSettings(node.deps, dealer.tenantId, settings, OPERATOR)
  return dealer
}
const unsigned = (of: Dealer, operation: string, body?: object, parts: FamilyParts = {}, at = node) =>
  familyCall(at.baseUrl, of, operation, body, { ...parts, headers: { ...UNSIGNED, ...parts.headers } })
const codeOf = async (...call: Parameters<typeof unsigned>) => (await unsigned(...call)).errorCode
const order = (transactionId?: string, count = 1) => ({
  transactionId,
  packageInfoList: [{ packageCode: 'JP_1_7', count }],
})
const refusalOf = (of: Dealer, input: SettingsInput) =>
  changeSettings(node.deps, of.tenantId, input, OPERATOR).then(
    () => 'none',
    (error: Error) => error.message,
  )
const isOn = async (of: Dealer) => (await getTenantView(node.deps, of.tenantId)).unsignedRequests

describe('a request without a signature', () => {
  test('is accepted only if unsigned requests are enabled with an allowlist and a daily limit', async () => {
    const allowed = await dealerWith(ALL)
    expect(await codeOf(allowed, 'balance/query')).toBe(null)
    const elsewhere = await dealerWith({ ...ALL, ipAllowlist: ['192.0.2.1'] })
    const off = await dealerWith({ ...ALL, unsignedRequests: false })
    const plain = await addDealer(node.deps)
    const unknown = { ...plain, appKey: 'ak_main_nobody_at_all_1234' }
    const refusals = []
    for (const each of [elsewhere, off, plain, unknown]) {
      const { headers, ...answer } = await unsigned(each, 'balance/query')
      refusals.push({ ...answer, headers: { ...Object.fromEntries(headers), date: undefined } })
    }
    for (const refusal of refusals) expect(refusal).toEqual(refusals[0])
    expect(refusals[0]).toMatchObject({ status: 200, success: false, errorCode: '000101' })
  })

  test('is refused on every node as soon as one of these three conditions is removed', async () => {
    const removals: SettingsInput[] = [
      { unsignedRequests: false },
      { ipAllowlist: [] },
      { ipAllowlist: [HERE, '127.0.0.0/23'] },
      { ipAllowlist: [HERE, '2001:db8::/63'] },
      { dailySpendLimit: null },
    ]
    for (const removal of removals) {
      const dealer = await dealerWith(ALL)
      for (const each of nodes) expect(await codeOf(dealer, 'balance/query', {}, {}, each)).toBe(null)
      await changeSettings(node.deps, dealer.tenantId, removal, OPERATOR)
      for (const each of nodes) expect(await codeOf(dealer, 'balance/query', {}, {}, each)).toBe('000101')
      await changeSettings(node.deps, dealer.tenantId, { ...ALL, unsignedRequests: undefined } as never, OPERATOR)
      expect(await isOn(dealer)).toBe(false)
      expect(await codeOf(dealer, 'balance/query')).toBe('000101')
      await changeSettings(node.deps, dealer.tenantId, ALL, OPERATOR)
      for (const each of nodes) expect(await codeOf(dealer, 'balance/query', {}, {}, each)).toBe(null)
    }
  })

  test('is refused once a condition no longer holds, even if unsigned requests are still enabled', async () => {
    const dealer = await dealerWith(ALL)
    const remove = async (statement: string) => {
      await node.deps.db.query({ text: statement, values: [dealer.tenantId] })
      const bump = 'update tenants set version = version + 1 where tenant_id = $1'
      await node.deps.db.query({ text: bump, values: [dealer.tenantId] })
    }
    await remove(`update wallets set daily_spend_limit = null where tenant_id = $1`)
    expect(await codeOf(dealer, 'balance/query')).toBe('000101')
    await remove(`update wallets set daily_spend_limit = 1 where tenant_id = $1`)
    expect(await codeOf(dealer, 'balance/query')).toBe(null)
    await remove(`update tenants set ip_allowlist = '{127.0.0.0/8}' where tenant_id = $1`)
    expect(await codeOf(dealer, 'balance/query')).toBe('000101')
  })

  test('cannot benefit from a forwarded address that it adds itself', async () => {
    const dealer = await dealerWith({ ...ALL, ipAllowlist: ['203.0.113.7'] })
    const forwarded = (address: string) => ({
      headers: {
        'X-Forwarded-For': address,
        'X-Forwarded-Proto': 'https',
        Forwarded: `for=${address}`,
        'X-Real-IP': address,
      },
    })
    expect(await codeOf(dealer, 'balance/query', {}, forwarded('203.0.113.7'))).toBe('000101')
    for (const chain of ['203.0.113.7, 198.51.100.1', '203.0.113.7,198.51.100.1,127.0.0.1']) {
      expect(await codeOf(dealer, 'balance/query', {}, forwarded(chain), proxied)).toBe('000101')
    }
    expect(await codeOf(dealer, 'balance/query', {}, forwarded('198.51.100.1, 203.0.113.7'), proxied)).toBe(null)
  })

  test('with any signature header is treated as signed', async () => {
    const dealer = await dealerWith(ALL)
    const timestamp = String(Date.now())
    const given: Record<string, string>[] = [
      { 'RT-Signature': '0'.repeat(64) },
      { 'RT-Timestamp': timestamp },
      { 'RT-RequestID': randomUUID() },
      { 'RT-Signature': '' },
    ]
    for (const headers of given) expect(await codeOf(dealer, 'balance/query', {}, { headers })).toBe('000101')
    const signature = createHmac('sha256', 'wrong').update('').digest('hex')
    const all = { 'RT-Signature': signature, 'RT-Timestamp': timestamp, 'RT-RequestID': randomUUID() }
    expect(await codeOf(dealer, 'balance/query', {}, { headers: all })).toBe('101003')
  })

  test('is never accepted by the dealer API', async () => {
    const dealer = await dealerWith(ALL)
    const headers = { 'RT-RequestID': undefined, 'RT-Timestamp': undefined, 'X-Signature': undefined }
    for (const operation of ['health', 'esim/order', 'webhook/set']) {
      expect((await call(node, dealer, operation, { headers })).code).toBe('000101')
    }
  })

  test('cannot change where events are sent', async () => {
    const dealer = await dealerWith(ALL)
    const answer = await unsigned(dealer, 'webhook/save', { webhook: 'https://attacker.example/' })
    expect(answer.errorCode).toBe('401001')
  })

  test('spends no more than the daily limit, even if many arrive on several nodes simultaneously', async () => {
    const dealer = await dealerWith({ ...ALL, dailySpendLimit: BigInt(5 * PRICE), qpsLimit: 1_000 })
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => codeOf(dealer, 'esim/order', order(), {}, nodes[index % 2])),
    )
    expect(answers.filter((code) => code === null)).toHaveLength(5)
    expect(new Set(answers)).toEqual(new Set([null, '200007']))
    const { obj } = await unsigned(dealer, 'balance/query')
    expect(obj.balance).toBe(10_000_000_000 - 5 * PRICE)
  })

  test('is not debited if the daily limit was removed after its admission', async () => {
    const dealer = await dealerWith(ALL)
    const { tenantId } = dealer
    expect(await codeOf(dealer, 'balance/query')).toBe(null)
    const remove = 'update wallets set daily_spend_limit = null where tenant_id = $1'
    await node.deps.db.query({ text: remove, values: [tenantId] }) // without the new version that admission would notice
    expect(await codeOf(dealer, 'esim/order', order())).toBe('000101')
    expect((await familyCall(node.baseUrl, dealer, 'balance/query')).obj.balance).toBe(10_000_000_000)
  })

  test('is refused after a suspension, rate-limited, and checked in the usual order', async () => {
    const dealer = await dealerWith({ ...ALL, qpsLimit: 1 })
    const plain = await addDealer(node.deps)
    const codes = await Promise.all(Array.from({ length: 5 }, () => codeOf(dealer, 'balance/query')))
    expect(new Set(codes)).toEqual(new Set([null, '900001']))
    const large = { remark: 'x'.repeat(300_000) }
    expect(await codeOf(plain, 'balance/query', large)).toBe('000101')
    expect(await codeOf(dealer, 'balance/query', large)).toBe('000102')
    await suspendTenant(node.deps, dealer.tenantId, OPERATOR)
    expect(await codeOf(dealer, 'balance/query')).toBe('401001')
  })

  test('is marked in the log and the order, and in the audit log with its address', async () => {
    const dealer = await dealerWith(ALL)
    const { obj } = await unsigned(dealer, 'esim/order', order('U №1'))
    await familyCall(node.baseUrl, dealer, 'esim/order', order('signed'))
    const own = lines.filter(({ tenantId, operation }) => tenantId === dealer.tenantId && operation === 'rt/esim/order')
    expect(own.map(({ isUnsigned }) => isUnsigned)).toEqual([true, undefined])
    const orders = await node.deps.db.query({
      text: 'select transaction_id, sent from orders where tenant_id = $1 order by order_id',
      values: [dealer.tenantId],
    })
    expect(orders).toEqual([
      { transactionId: expect.stringMatching(/^rt-sha256:/), sent: { transactionId: 'U №1', unsignedFrom: HERE } },
      { transactionId: 'signed', sent: null },
    ])
    const entries = await node.deps.db.query({
      text: `select actor, subject, address, after from audit_log where tenant_id = $1 and action = 'order.place_unsigned'`,
      values: [dealer.tenantId],
    })
    expect(entries).toEqual([
      { actor: 'unsigned', subject: obj.orderNo, address: HERE, after: { amount: String(PRICE) } },
    ])
  })
})

describe('the switch for unsigned requests', () => {
  test('cannot be turned on without the other conditions, and the refusal says what to do', async () => {
    const dealer = await addDealer(node.deps)
    expect(await refusalOf(dealer, { unsignedRequests: true })).toContain('IP allowlist')
    expect(await refusalOf(dealer, { ...ALL, ipAllowlist: ['10.0.0.0/23'] })).toContain('10.0.0.0/23 is wider')
    expect(await refusalOf(dealer, { ...ALL, dailySpendLimit: null })).toContain('daily spend limit')
    expect(await isOn(dealer)).toBe(false)
    expect(await refusalOf(dealer, { ...ALL, ipAllowlist: ['10.0.0.0/24', '2001:db8::/64'] })).toBe('none')
    const named = { clientName: 'Euro dealer', currencyCode: 'EUR' }
    const euro = { ...dealer, ...(await createTenant(node.deps, named, OPERATOR)) }
    expect(await refusalOf(euro, ALL)).toContain('is in EUR')
    expect((await getTenantView(node.deps, euro.tenantId)).unsignedFault).toContain('USD')
  })

  test('is audited, even if another change turns it off', async () => {
    const dealer = await dealerWith(ALL)
    await changeSettings(node.deps, dealer.tenantId, { dailySpendLimit: null }, OPERATOR)
    const entries = await node.deps.db.query<{ before: object; after: object }>({
      text: `select before, after from audit_log where tenant_id = $1 and action = 'tenant.set' order by audit_id`,
      values: [dealer.tenantId],
    })
    expect(entries).toMatchObject([
      { before: { unsignedRequests: false }, after: { unsignedRequests: true } },
      { before: { unsignedRequests: true }, after: { unsignedRequests: false, dailySpendLimit: null } },
    ])
  })
})

describe('a captured event', () => {
  test('is refused because of its members, and because of its RequestID', async () => {
    const dealer = await addDealer(node.deps)
    const event = {
      notifyId: randomUUID(),
      notifyType: 'ORDER_STATUS',
      content: { orderNo: 'X', orderStatus: 'GOT_RESOURCE' },
    }
    expect((await familyCall(node.baseUrl, dealer, 'balance/query', event)).errorCode).toBe('200008')
    const requestId = createAttemptId(node.deps)
    expect((await familyCall(node.baseUrl, dealer, 'balance/query', {}, { requestId })).errorCode).toBe('900001')
    expect((await call(node, dealer, 'health', { requestId: requestId.toUpperCase() })).code).toBe('101006')
    const ownId = node.deps.ids.uuid()
    expect((await familyCall(node.baseUrl, dealer, 'balance/query', {}, { requestId: ownId })).errorCode).toBe(null)
  })
})
