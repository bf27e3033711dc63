import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { suspendTenant } from '#tenants/change-tenant.ts'
import { createKey } from '#tenants/keys/manage-keys.ts'
import { type Answer, addDealer, call, OPERATOR, sign } from '#test/harness/api-node.ts'
import { runOnNode } from '#test/harness/databases/tables.ts'
import { type ApiFixture, PRICE } from './api-fixture.ts'
import { act, addEsim, topUpWithBase } from './code-esims.ts'

/** @param also more assertions on the answer */
type Request = [
  title: string,
  get: (stage: ApiFixture) => Promise<Answer>,
  also?: (answer: Answer, stage: ApiFixture) => void,
]

/** Requests that cause each code. */
export const REQUESTS: Record<string, Request[]> = {
  '000000': [
    ['health', (stage) => call(stage.node, stage.dealer, 'health')],
    ['a balance', (stage) => call(stage.node, stage.dealer, 'account/balance')],
    ['packages', (stage) => call(stage.node, stage.dealer, 'package/list')],
    ['an order', (stage) => stage.order(stage.dealer)],
    ['profiles', (stage) => call(stage.node, stage.dealer, 'esim/profile/list')],
    ['a webhook setting', (stage) => call(stage.node, stage.dealer, 'webhook/set')],
    [
      'a media type with parameters',
      (stage) =>
        call(stage.node, stage.dealer, 'health', { headers: { 'Content-Type': 'Application/JSON; charset=utf-8' } }),
    ],
    [
      'an upper-case RequestID and signature',
      ({ node, dealer }) => {
        const [timestamp, requestId] = [String(Date.now()), '7F9C24E8-3B1A-4E5D-9F10-2B6C8D0E4A11']
        const signature = sign(dealer.appSecret, timestamp, requestId, dealer.appKey, '{}').toUpperCase()
        return call(node, dealer, 'health', { timestamp, requestId, signature })
      },
    ],
    [
      'a timestamp just within the clock window',
      ({ node, dealer }) => call(node, dealer, 'health', { timestamp: Date.now() - 297_000 }),
    ],
  ],
  '000001': [
    [
      'a missing column',
      async (stage) => {
        await runOnNode(stage.node.deps.db, 'alter table webhook_endpoints rename callback_url to away')
        const answer = await call(stage.node, stage.dealer, 'webhook/set')
        await runOnNode(stage.node.deps.db, 'alter table webhook_endpoints rename away to callback_url')
        return answer
      },
    ],
  ],
  '000002': [['a database that is away', (stage) => call(stage.offline, stage.dealer, 'health')]],
  '000101': ['RT-AccessCode', 'RT-RequestID', 'RT-Timestamp', 'X-Signature'].map((name) => [
    `no ${name}`,
    (stage) => call(stage.node, stage.dealer, 'health', { headers: { [name]: undefined } }),
    ({ data }) => expect(data.details).toEqual([{ field: name, reason: expect.any(String) }]),
  ]),
  '000102': Object.entries({
    'RT-AccessCode': 'short',
    'RT-RequestID': '7f9c24e83b1a4e5d9f102b6c8d0e4a11',
    'RT-Timestamp': '1700000000',
    'X-Signature': 'abc',
  }).map(([name, value]) => [
    `a malformed ${name}`,
    (stage) => call(stage.node, stage.dealer, 'health', { headers: { [name]: value } }),
    ({ data }) => expect(data.details).toEqual([{ field: name, reason: expect.any(String) }]),
  ]),
  '000103': ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].map((method) => [
    method,
    (stage) => call(stage.node, stage.dealer, 'health', { method }),
    ({ headers }) => expect(headers.allow).toBe('POST'),
  ]),
  '000104': [
    ['nothing', (stage) => call(stage.node, stage.dealer, 'health', { body: '' })],
    ['an array', (stage) => call(stage.node, stage.dealer, 'health', { body: '[]' })],
    ['null', (stage) => call(stage.node, stage.dealer, 'health', { body: 'null' })],
    ['broken JSON', (stage) => call(stage.node, stage.dealer, 'health', { body: '{"a":' })],
    ['invalid UTF-8', (stage) => call(stage.node, stage.dealer, 'health', { body: Buffer.from([0x7b, 0xff, 0x7d]) })],
    ['a byte-order mark', (stage) => call(stage.node, stage.dealer, 'health', { body: '\ufeff{}' })],
    ['a repeated member', (stage) => call(stage.node, stage.dealer, 'health', { body: '{"a":1,"\\u0061":1}' })],
    [
      'nine levels',
      (stage) => call(stage.node, stage.dealer, 'health', { body: `${'{"a":'.repeat(9)}1${'}'.repeat(9)}` }),
    ],
  ],
  '000105': [
    ['no transactionId', (stage) => stage.order(stage.dealer, { transactionId: undefined }), fieldIs('transactionId')],
    ['neither number nor transactionId', (stage) => call(stage.node, stage.dealer, 'esim/query')],
  ],
  '000106': [
    ['a null transactionId', (stage) => stage.order(stage.dealer, { transactionId: null }), fieldIs('transactionId')],
  ],
  '000107': [
    [
      'a long transactionId',
      (stage) => stage.order(stage.dealer, { transactionId: 'x'.repeat(65) }),
      fieldIs('transactionId'),
    ],
  ],
  '000108': [
    ['an unknown member', (stage) => stage.order(stage.dealer, { amounts: 1 }), fieldIs('amounts')],
    [
      'a repeated package',
      (stage) => stage.order(stage.dealer, { packageInfoList: Array(2).fill({ packageCode: 'JP_1_7', count: 1 }) }),
    ],
    ['an unsafe integer', (stage) => stage.order(stage.dealer, { amount: 2 ** 53 }), fieldIs('amount')],
    [
      'one of our events',
      (stage) => stage.json(stage.dealer, 'health', { notifyId: '1', notifyType: 'ORDER_PAID', content: {} }),
    ],
  ],
  '000109': [
    '/open-api/v1/nothing',
    '/open-api/v1/health/',
    '/open-api/v1',
    '/open-api/v2/health',
    '/health',
    '/open-api/v1/Health',
  ].map((path) => [path, (stage) => call(stage.node, stage.dealer, '', { path })]),
  '000110': [
    ['text', (stage) => call(stage.node, stage.dealer, 'health', { headers: { 'Content-Type': 'text/plain' } })],
    ['no type', (stage) => call(stage.node, stage.dealer, 'health', { headers: { 'Content-Type': undefined } })],
    [
      'a longer media type',
      (stage) => call(stage.node, stage.dealer, 'health', { headers: { 'Content-Type': 'application/json-seq' } }),
    ],
    [
      'an encoding',
      (stage) => call(stage.node, stage.dealer, 'health', { headers: { 'Content-Encoding': 'identity' } }),
    ],
  ],
  '000111': [
    [
      'a body of one byte too much',
      (stage) => call(stage.node, stage.dealer, 'health', { body: Buffer.alloc(256 * 1024 + 1, ' ') }),
    ],
    [
      'a megabyte in chunks',
      (stage) => {
        const chunked = { 'Transfer-Encoding': 'chunked' }
        return call(stage.node, stage.dealer, 'health', { body: Buffer.alloc(1024 * 1024, ' '), headers: chunked })
      },
    ],
  ],
  '101001': [301_000, -301_000, 8_000_000_000_000].map((off) => [
    `${off} ms off`,
    (stage) => call(stage.node, stage.dealer, 'health', { timestamp: Date.now() + off }),
    ({ data }) => expect(Math.abs(Date.parse(data.serverTime) - Date.now())).toBeLessThan(60_000),
  ]),
  '101002': [
    [
      'another address',
      async (stage) => call(stage.node, await stage.dealerWith({ ipAllowlist: ['203.0.113.0/24', '::1'] }), 'health'),
      ({ data }) => expect(data.address).toBe('127.0.0.1'),
    ],
  ],
  '101003': [
    [
      'another secret',
      (stage) =>
        call(stage.node, stage.dealer, 'health', {
          secret: 'wrong',
          timestamp: Date.now(),
          requestId: '7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11',
        }),
      ({ data }, stage) =>
        expect(data.stringToSign).toMatch(
          new RegExp(`^\\d{13}7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11${stage.dealer.appKey}\\{\\}$`),
        ),
    ],
    ['another body', (stage) => call(stage.node, stage.dealer, 'health', { signature: '0'.repeat(64) })],
  ],
  '101004': [['an unknown AppKey', (stage) => call(stage.node, stage.dealer, 'health', { appKey: 'nobody_at_all' })]],
  '101005': [
    [
      'a suspended tenant',
      async (stage) => {
        const suspended = await addDealer(stage.node.deps, 0)
        await suspendTenant(stage.node.deps, suspended.tenantId, OPERATOR)
        return call(stage.node, suspended, 'health')
      },
    ],
  ],
  '101006': [
    [
      'a repeated RequestID',
      async (stage) => {
        const parts = { requestId: '11111111-2222-4333-8444-555555555555' }
        expect((await call(stage.node, stage.dealer, 'health', parts)).code).toBe('000000')
        return call(stage.node, stage.dealer, 'account/balance', parts)
      },
    ],
  ],
  '101007': [
    [
      'the second request in a second that allows one',
      async (stage) => {
        const slow = await stage.dealerWith({ qpsLimit: 1 })
        await call(stage.node, slow, 'health')
        return call(stage.node, slow, 'health')
      },
      ({ headers }) => {
        expect(headers).toMatchObject({
          'retry-after': '1',
          'ratelimit-limit': '1',
          'ratelimit-remaining': '0',
          'ratelimit-reset': '1',
        })
      },
    ],
  ],
  '101008': [['a trusted proxy without forwarding headers', (stage) => call(stage.proxied, stage.dealer, 'health')]],
  '101009': [
    [
      'an order of a restricted key that may only read packages and the balance',
      async ({ node, dealer, order }) => {
        const key = await createKey(node.deps, dealer.tenantId, { label: 'reader' }, OPERATOR)
        return order({ tenantId: dealer.tenantId, ...key })
      },
      ({ data }) => expect(data.operation).toBe('esim/order'),
    ],
  ],
  '200002': [
    [
      'a cancel of an eSIM in use',
      async (stage) => act(stage, 'CANCEL', { esimTranNo: await addEsim(stage, 'IN_USE') }),
      ({ data }) => {
        const inTheWay = { actionNo: null, orderNo: null }
        expect(data).toMatchObject({ esimStatus: 'IN_USE', smdpStatus: null, suspended: false, ...inTheWay })
      },
    ],
    [
      'a revocation while another is open',
      async (stage) => {
        const esimTranNo = await addEsim(stage, 'IN_USE', 'a supplier of another node')
        const first = await act(stage, 'REVOKE', { esimTranNo })
        const second = await act(stage, 'REVOKE', { esimTranNo })
        expect(second.data.actionNo).toBe(first.data.actionNo)
        return second
      },
    ],
  ],
  '200005': [
    [
      'another price',
      (stage) => stage.order(stage.dealer, { packageInfoList: [{ packageCode: 'JP_1_7', count: 2, price: 1 }] }),
      ({ data }) => expect(data.current).toBe(PRICE),
    ],
  ],
  '200006': [
    [
      'another amount',
      (stage) => stage.order(stage.dealer, { amount: 1 }),
      ({ data }) => expect(data.current).toBe(PRICE),
    ],
  ],
  '200007': [
    [
      'an empty wallet',
      async (stage) =>
        stage.order(await stage.dealerWith({ creditLimit: 5_000n }, 1), {
          packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }],
        }),
      ({ data }) => {
        expect(data).toMatchObject({
          currentBalance: 10_000,
          requiredAmount: 90_000,
          shortfall: 75_000,
          currencyCode: 'USD',
        })
      },
    ],
  ],
  '200011': [
    [
      'a package without stock',
      (stage) => stage.order(stage.dealer, { packageInfoList: [{ packageCode: 'SOLD_OUT', count: 1 }] }),
      fieldIs('packageInfoList[0].count'),
    ],
  ],
  '200012': [
    [
      'other content',
      async (stage) => {
        await stage.order(stage.dealer, { transactionId: 'conflict' })
        return stage.order(stage.dealer, {
          transactionId: 'conflict',
          packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }],
        })
      },
    ],
  ],
  '200013': [
    ['an unknown orderNo', (stage) => stage.json(stage.dealer, 'esim/query', { orderNo: 'nothing' })],
    ['an unknown transactionId', (stage) => stage.json(stage.dealer, 'esim/query', { transactionId: 'nothing' })],
    ['an unknown action', (stage) => stage.json(stage.dealer, 'esim/action/query', { actionNo: 'nothing' })],
    [
      'two different orders',
      async (stage) => {
        const first = await stage.order(stage.dealer, { transactionId: 'first' })
        await stage.order(stage.dealer, { transactionId: 'second' })
        return stage.json(stage.dealer, 'esim/query', { orderNo: first.data.orderNo, transactionId: 'second' })
      },
    ],
  ],
  '200014': [
    [
      'more than the daily spend limit',
      async (stage) => stage.order(await stage.dealerWith({ dailySpendLimit: 44_999n })),
      ({ data }) => {
        expect(data).toMatchObject({ limit: 44_999, spent: 0, resetTime: expect.stringMatching(/T00:00:00\.000Z$/) })
      },
    ],
  ],
  '200015': [
    [
      'a supplier that cannot suspend',
      async (stage) => {
        const { suppliers } = stage.node.deps
        const { get } = suppliers
        const { suspend: _, ...supplier } = get('sandbox')!.supplier
        Object.assign(suppliers, { get: () => ({ ...get('sandbox')!, supplier }) })
        const answer = await act(stage, 'SUSPEND', { esimTranNo: await addEsim(stage, 'IN_USE') })
        Object.assign(suppliers, { get })
        return answer
      },
      ({ data }) => expect(data.action).toBe('SUSPEND'),
    ],
  ],
  '200017': [
    [
      'a cancel of an eSIM that its package does not allow',
      async (stage) => act(stage, 'CANCEL', { esimTranNo: await addEsim(stage, 'GOT_RESOURCE') }),
      ({ data }) => expect(data.cancellableUntil).toBeNull(),
    ],
  ],
  '310241': [
    [
      'an unknown package',
      (stage) => stage.order(stage.dealer, { packageInfoList: [{ packageCode: 'NOTHING', count: 1 }] }),
      fieldIs('packageInfoList[0].packageCode'),
    ],
  ],
  '310244': [
    [
      'a package off sale',
      (stage) => stage.order(stage.dealer, { packageInfoList: [{ packageCode: 'GONE', count: 1 }] }),
      fieldIs('packageInfoList[0].packageCode'),
    ],
  ],
  '310245': [['a package that is not a top-up', topUpWithBase, fieldIs('packageCode')]],
  '310403': (['CANCEL', 'SUSPEND', 'UNSUSPEND', 'REVOKE'] as const).map((action) => [
    `${action} of an unknown eSIM`,
    (stage) => act(stage, action, { esimTranNo: randomUUID() }),
  ]),
  '400101': [
    [
      'a user name',
      (stage) =>
        stage.json(stage.dealer, 'webhook/set', { callbackUrl: 'https://user:word@stage.dealer.example.com/' }),
    ],
  ],
  '400102': [
    [
      'a receiver that fails',
      async (stage) => {
        const receiver = createServer((_, response) => response.writeHead(500).end())
        await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
        const answer = await stage.json(stage.dealer, 'webhook/set', {
          callbackUrl: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
        })
        receiver.close()
        return answer
      },
    ],
  ],
}

function fieldIs(field: string) {
  return ({ data }: Answer) => expect(data.details[0].field).toBe(field)
}
