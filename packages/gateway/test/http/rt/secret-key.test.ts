import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RequestLine } from '#http/request-log.ts'
import { resetSecret } from '#tenants/app-secret.ts'
import { suspendTenant } from '#tenants/change-tenant.ts'
import { changeSettings, type SettingsInput } from '#tenants/tenant-settings.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { addPackages } from '../dealer/api-fixture.ts'
import { type familyCall, familyHeaders } from './family-program.ts'

const HERE = '127.0.0.1'
const PRICE = 45_000
const ALLOWED = { ipAllowlist: [HERE], dailySpendLimit: 10_000_000n, unsignedRequests: true }

let database: TestDatabase
let node: Node
let other: Node
const lines: RequestLine[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url, {}, { logRequest: (line: RequestLine) => void lines.push(line) })
  other = await startNode(database.url)
  await addPackages(node)
})
afterAll(async () => {
  for (const each of [node, other]) await each.stop()
  await database.drop()
})

async function dealerWith(settings: SettingsInput = ALLOWED): Promise<Dealer> {
  const dealer = await addDealer(node.deps)
  await changeSettings(node.deps, dealer.tenantId, settings, OPERATOR)
  return dealer
}

/** Posts as programs without signature support do: the access code and the secret, over TLS. */
async function post(of: Dealer, operation: string, body: object = {}, headers: Record<string, string> = {}, at = node) {
  return postTo(`/api/v1/open/${operation}`, of, body, headers, at)
}

async function postTo(path: string, of: Dealer, body: object, headers: Record<string, string> = {}, at = node) {
  const response = await fetch(`${at.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'RT-AccessCode': of.appKey,
      'RT-SecretKey': of.appSecret,
      ...headers,
    },
    body: JSON.stringify(body),
  })
  const { errorCode, errorMsg, obj } = (await response.json()) as Awaited<ReturnType<typeof familyCall>>
  return { status: response.status, errorCode, errorMsg, obj, requestId: response.headers.get('rt-requestid') }
}
const codeOf = async (...parts: Parameters<typeof post>) => (await post(...parts)).errorCode
const order = (transactionId: string) => ({ transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })

describe('a request with RT-SecretKey', () => {
  test('is accepted only if unsigned requests are enabled with both an allowlist and a daily limit', async () => {
    const dealer = await dealerWith()
    expect(await codeOf(dealer, 'balance/query')).toBeNull()
    const removals: SettingsInput[] = [
      { unsignedRequests: false },
      { ipAllowlist: ['192.0.2.1'] },
      { ipAllowlist: [] },
      { dailySpendLimit: null },
    ]
    for (const removal of removals) {
      await changeSettings(node.deps, dealer.tenantId, ALLOWED, OPERATOR)
      for (const at of [node, other]) expect(await codeOf(dealer, 'balance/query', {}, {}, at)).toBeNull()
      await changeSettings(node.deps, dealer.tenantId, removal, OPERATOR)
      for (const at of [node, other]) expect(await codeOf(dealer, 'balance/query', {}, {}, at)).toBe('000101')
    }
  })

  test('is refused with 101003 if the secret is wrong, too short or too long', async () => {
    const dealer = await dealerWith()
    const stranger = await dealerWith()
    for (const secret of [
      stranger.appSecret,
      dealer.appSecret.slice(1),
      `${dealer.appSecret}x`,
      ' x',
      'x'.repeat(500),
    ]) {
      const answer = await post(dealer, 'balance/query', {}, { 'RT-SecretKey': secret })
      expect([secret, answer.errorCode]).toEqual([secret, '101003'])
      expect(answer.errorMsg).toContain('RT-SecretKey')
      expect(answer.errorMsg).not.toContain(secret.trim().slice(0, 20))
    }
    expect(await codeOf(dealer, 'balance/query')).toBeNull()
  })

  test('gets the same answer as an unsigned one from a disallowed address, whatever the secret', async () => {
    const elsewhere = await dealerWith({ ...ALLOWED, ipAllowlist: ['192.0.2.1'] })
    const plain = await addDealer(node.deps)
    const unknown = { ...plain, appKey: 'ak_main_nobody_at_all_1234' }
    const answers = []
    for (const of of [elsewhere, plain, unknown]) {
      answers.push(await post(of, 'balance/query'))
      answers.push(await post(of, 'balance/query', {}, { 'RT-SecretKey': 'wrong' }))
    }
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(answers[0]).toMatchObject({ status: 200, errorCode: '000101' })
  })

  test('is checked as a signed request if it also has a signature', async () => {
    const signing = await addDealer(node.deps) // does not need the switch
    const text = JSON.stringify({})
    const signed = familyHeaders(signing, text)
    expect(await codeOf(signing, 'balance/query', {}, signed)).toBeNull()
    expect(await codeOf(signing, 'balance/query', {}, signed)).toBe('900001')
    const dealer = await dealerWith()
    const wrong = { ...familyHeaders(dealer, text), 'RT-Signature': '0'.repeat(64) }
    expect(await codeOf(dealer, 'balance/query', {}, wrong)).toBe('101003')
  })

  test('may also carry a RequestID and a timestamp, and gets the RequestID back', async () => {
    const dealer = await dealerWith()
    for (const requestId of [randomUUID(), 'own-form-7']) {
      const headers = { 'RT-RequestID': requestId, 'RT-Timestamp': '1' }
      expect(await post(dealer, 'balance/query', {}, headers)).toMatchObject({ errorCode: null, requestId })
    }
    expect(await post(dealer, 'balance/query', {}, { 'RT-RequestID': '<' })).toMatchObject({
      ...{ errorCode: null, requestId: null },
    })
  })

  test('cannot change where events are sent', async () => {
    const dealer = await dealerWith()
    expect(await codeOf(dealer, 'webhook/save', { webhook: 'https://attacker.example/' })).toBe('401001')
  })

  test('follows a secret reset immediately, on every node', async () => {
    const dealer = await dealerWith()
    for (const at of [node, other]) expect(await codeOf(dealer, 'balance/query', {}, {}, at)).toBeNull()
    const { appSecret } = await resetSecret(node.deps, dealer.tenantId, {}, OPERATOR)
    for (const at of [node, other]) {
      expect(await codeOf(dealer, 'balance/query', {}, {}, at)).toBe('101003')
      expect(await codeOf({ ...dealer, appSecret }, 'balance/query', {}, {}, at)).toBeNull()
    }
  })

  test('is refused after a suspension', async () => {
    const dealer = await dealerWith()
    await suspendTenant(node.deps, dealer.tenantId, OPERATOR)
    expect(await codeOf(dealer, 'balance/query')).toBe('401001')
    expect(await codeOf(dealer, 'balance/query', {}, { 'RT-SecretKey': 'wrong' })).toBe('101003')
  })

  test('is not accepted by the dealer API', async () => {
    const dealer = await dealerWith()
    const headers = {
      ...{ 'RT-SecretKey': dealer.appSecret },
      ...{ 'RT-RequestID': undefined, 'RT-Timestamp': undefined, 'X-Signature': undefined },
    }
    for (const operation of ['health', 'esim/order']) {
      expect((await call(node, dealer, operation, { headers })).code).toBe('000101')
    }
  })

  test('buys within the daily limit, and is marked in the order and the log without the secret', async () => {
    const dealer = await dealerWith({ ...ALLOWED, dailySpendLimit: BigInt(PRICE) })
    expect(await codeOf(dealer, 'esim/order', order('S-1'))).toBeNull()
    expect(await codeOf(dealer, 'esim/order', order('S-2'))).toBe('200007')
    await post(dealer, 'esim/order', order('S-3'), { 'RT-SecretKey': 'not-the-secret' })
    const own = lines.filter(({ tenantId }) => tenantId === dealer.tenantId)
    expect(own).toMatchObject([{ isUnsigned: true }, { isUnsigned: true }])
    const rows = await node.deps.db.query({
      text: `select o.sent::text || a.after::text as text from orders o join audit_log a using (tenant_id)
             where tenant_id = $1 and a.action = 'order.place_unsigned'`,
      values: [dealer.tenantId],
    })
    expect(rows).toHaveLength(1)
    const written = JSON.stringify([lines, rows])
    expect(written).toContain(HERE)
    expect(written).not.toContain(dealer.appSecret)
    expect(written).not.toContain('not-the-secret')
  })
})

describe('the paths below /api/v5/esim/', () => {
  test('are package/list, order and query, and no others', async () => {
    const dealer = await dealerWith()
    const { obj } = await postTo('/api/v5/esim/package/list', dealer, { packageCode: 'JP_1_7' })
    expect(obj.packageList).toMatchObject([{ packageCode: 'JP_1_7' }])
    const { orderNo } = (await postTo('/api/v5/esim/order', dealer, order('V5-1'))).obj
    expect((await postTo('/api/v5/esim/query', dealer, { orderNo })).errorCode).toBe('200010')
    expect((await post(dealer, 'esim/query', { orderNo })).errorCode).toBe('200010')
    for (const path of ['topup', 'esim/order', 'balance/query', 'webhook/save', '']) {
      const { status, errorCode } = await postTo(`/api/v5/esim/${path}`, dealer, {})
      expect([path, status, errorCode]).toEqual([path, 200, '000102'])
    }
  })

  test('also accept signed requests', async () => {
    const dealer = await addDealer(node.deps)
    const body = order('V5-2')
    const headers = familyHeaders(dealer, JSON.stringify(body))
    const answer = await postTo('/api/v5/esim/order', dealer, body, { ...headers, 'RT-SecretKey': '' })
    expect(answer).toMatchObject({ errorCode: null, requestId: headers['RT-RequestID'] })
  })
})
