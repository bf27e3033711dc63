import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  answerExamples,
  codes,
  type FailureCode,
  failureCodes,
  failureExamples,
  type OperationName,
  operationNames,
  requestExamples,
} from '@dealer-esim/contract'
import { canRun } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { stopGateways } from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { type FakeAnswer, fakeGateway, ok, refusal, type Script } from '@dealer-esim/sdk/test/fake-gateway.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { sdkModel } from '#scripts/generate/sdk-model.ts'
import { root, startLocalGateway } from '../local-gateway.ts'
import { type CommandName, InvalidArgument, LANGUAGES, type Thrown, typescriptDriver } from './drivers.ts'
import { describeEvents, WITHIN } from './event-behaviours.ts'
import { startCuttingProxy, startRepeatingProxy } from './proxies.ts'

/**
 * One list of behaviours for the SDKs of all languages, against one live gateway, and against a scripted one where a live
 * gateway cannot be made to answer as needed. A language whose interpreter is not installed is skipped with a warning.
 */
const vectors = JSON.parse(readFileSync(join(root, 'test/vectors/signing.json'), 'utf8'))
const LINES = [{ packageCode: 'JP_1_7', count: 1 }]
const PRICE = 45_000
const model = sdkModel()

let credentials: { baseUrl: string; appKey: string; appSecret: string }
/** The events of every order, as they arrived at the receiver. */
const received: { headers: Record<string, string>; body: string }[] = []
const receiver = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  received.push({ headers: request.headers as Record<string, string>, body })
  response.writeHead(204).end()
})

beforeAll(async () => {
  const { baseUrl, appKey, appSecret } = (await startLocalGateway()).credentials
  credentials = { baseUrl, appKey, appSecret }
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const callbackUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  await typescriptDriver().run('call', {
    client: credentials,
    method: 'setWebhook',
    args: [{ callbackUrl, enabled: true }],
  })
})
afterAll(async () => {
  receiver.close()
  await stopGateways()
})

for (const language of LANGUAGES) {
  const title = `the SDK for ${language.name}`
  describe.skipIf(!canRun(title, ...language.needs))(title, { concurrent: true }, () => {
    const driver = language.start()
    afterAll(() => driver.stop())
    const run = (name: CommandName, parameters: object) => driver.run(name, parameters)
    const caught = (name: CommandName, parameters: object): Promise<Thrown> =>
      run(name, parameters).then(
        (answer) => expect.fail(`no error, but ${JSON.stringify(answer)}`),
        (error) => error,
      )
    const live = (method: string, request?: object, client: object = {}) => ({
      client: { ...credentials, ...client },
      method,
      args: request === undefined ? [] : [request],
    })
    /** The names of orders differ by attempt at a test. */
    let attempt = ''
    beforeEach(() => {
      attempt = randomUUID()
    })
    const id = (name: string) => `${name}-${attempt}`
    // The hook of vitest's module would wait for a test of another language, which runs at the same time.
    const opened: { close(): unknown }[] = []
    afterAll(() => Promise.all(opened.map((each) => each.close())))
    const scripted = async (script: Script) => {
      const fake = await fakeGateway(script)
      opened.push(fake)
      const { seen, baseUrl, appKey, appSecret } = fake
      return { seen, client: { baseUrl, appKey, appSecret } }
    }
    /** The members of an error; its class, in languages that have one for each. */
    const failure = (code: string, members: object = {}) => ({ members: { code, ...members } })

    test.sequential('signs every vector', async () => {
      for (const { timestamp, requestId, appKey, appSecret, body, signature } of vectors.requests) {
        expect(await run('sign', { timestamp, requestId, appKey, appSecret, body })).toBe(signature)
      }
    })

    test.sequential('refuses invalid options before it sends anything', async () => {
      for (const wrong of [
        { baseUrl: 'esim.example.com' },
        { baseUrl: 'https://esim.example.com/open-api/v1' },
        { baseUrl: 'https://user:pass@esim.example.com' },
        { appKey: '' },
        { appSecret: 'secret\n' },
        { timeoutMs: 0 },
        { retries: -1 },
      ]) {
        await expect(run('call', live('health', undefined, wrong)), JSON.stringify(wrong)).rejects.toThrow(
          InvalidArgument,
        )
      }
    })

    test.sequential('reads the account', async () => {
      expect(await run('call', live('health'))).toMatchObject({ status: 'UP', tenantId: expect.any(String) })
      expect(await run('call', live('balance'))).toMatchObject({ currencyCode: 'USD', balance: expect.any(Number) })
    })

    test.sequential('has a method for each operation, which sends its members and returns its answer unchanged', async () => {
      const { client, seen } = await scripted((operation) => ok(answerExamples[operation as OperationName]))
      for (const { path, method, isDryRun, fixed } of model.operations) {
        if (isDryRun) continue
        const name = path as OperationName
        // The SDK adds members that always have one value, such as `action`.
        const given = Object.entries(requestExamples[name]).filter(([member]) => !(member in fixed))
        const args = given.length === 0 ? [] : [Object.fromEntries(given)]
        expect(await run('call', { client, method, args }), method).toMatchObject(answerExamples[name])
        expect(seen.at(-1)).toMatchObject({ operation: path, body: requestExamples[name] })
      }
      expect(new Set(seen.map(({ operation }) => operation))).toEqual(new Set(operationNames))
    })

    test.sequential('orders once, however often it is called', async () => {
      const request = { transactionId: id('ONCE'), packageInfoList: LINES, amount: PRICE, remark: 'café 東京 🗼' }
      const first = await run('call', live('order', request))
      expect(first).toMatchObject({ transactionId: id('ONCE'), amount: PRICE, replayed: false })
      const again = await run('call', live('order', request))
      expect(again).toMatchObject({ orderNo: first.orderNo, balanceAfter: first.balanceAfter, replayed: true })
      const order = await run('wait', { client: credentials, which: { orderNo: first.orderNo }, waitMs: 20_000 })
      expect(order).toMatchObject({ orderStatus: 'DELIVERED', remark: request.remark })
      expect(order.profileList).toHaveLength(1)
    })

    test.sequential('an order whose answers are lost is placed once, and the retry is marked as a replay', async () => {
      const proxy = await startCuttingProxy(credentials.baseUrl, 2)
      opened.push(proxy)
      const request = { transactionId: id('CUT'), packageInfoList: LINES }
      const order = await run('call', live('order', request, { baseUrl: proxy.baseUrl }))
      expect(order).toMatchObject({ transactionId: id('CUT'), replayed: true })
      expect(proxy.connections).toBe(3)
      const entries = await run('each', live('eachEntry', { kind: 'ORDER', pageSize: 500 }))
      expect(entries.filter((entry: { transactionId: string }) => entry.transactionId === id('CUT'))).toHaveLength(1)
    })

    test.sequential('an order without any answer can be found by the transactionId in the error', async () => {
      const proxy = await startCuttingProxy(credentials.baseUrl, Number.POSITIVE_INFINITY)
      opened.push(proxy)
      const request = { transactionId: id('LOST'), packageInfoList: LINES }
      const lost = await caught('call', live('order', request, { baseUrl: proxy.baseUrl, retries: 0 }))
      expect(lost).toMatchObject(
        failure('NETWORK_FAULT', { outcomeUnknown: true, transactionId: id('LOST'), attempts: 1 }),
      )
      const transactionId = lost.members.transactionId
      await vi.waitFor(async () => {
        expect(await run('call', live('query', { transactionId }))).toMatchObject({ packageInfoList: LINES })
      }, WITHIN)
    })

    test.sequential('a time-out covers the whole answer, is retried, and leaves the outcome unknown', async () => {
      const { client, seen } = await scripted((_operation, _body, arrival) =>
        arrival === 1 ? 'hang' : ok({ orderNo: 'O1', transactionId: 'T-1' }),
      )
      const request = { transactionId: 'T-1', packageInfoList: LINES }
      const order = await run('call', { client: { ...client, timeoutMs: 1_000 }, method: 'order', args: [request] })
      expect(order).toMatchObject({ orderNo: 'O1' })
      expect(seen.map(({ body }) => body)).toEqual([request, request])
      expect(new Set(seen.map(({ requestId }) => requestId)).size).toBe(2)

      const trickling = createServer((_request, response) => {
        response.writeHead(200, { 'Content-Type': 'application/json' })
        const timer = setInterval(() => response.write(' '), 50)
        response.on('close', () => clearInterval(timer))
      })
      await new Promise<void>((resolve) => trickling.listen(0, '127.0.0.1', resolve))
      opened.push(trickling)
      const baseUrl = `http://127.0.0.1:${(trickling.address() as AddressInfo).port}`
      const slow = { ...client, baseUrl, timeoutMs: 400, retries: 0 }
      expect(await caught('call', { client: slow, method: 'order', args: [request] })).toMatchObject(
        failure('TIMED_OUT', { outcomeUnknown: true, transactionId: 'T-1' }),
      )
    })

    test.sequential('nothing is unknown if the connection was never opened', async () => {
      const closed = await startCuttingProxy(credentials.baseUrl, 0)
      closed.close()
      const client = { ...credentials, baseUrl: closed.baseUrl, retries: 0 }
      const request = { transactionId: 'T-1', packageInfoList: LINES }
      expect(await caught('call', { client, method: 'order', args: [request] })).toMatchObject(
        failure('NETWORK_FAULT', { outcomeUnknown: false, attempts: 1 }),
      )
    })

    test.sequential('a RequestID that something repeated is retried as a new request for the same order', async () => {
      const proxy = await startRepeatingProxy(credentials.baseUrl)
      opened.push(proxy)
      const request = { transactionId: id('REPEATED'), packageInfoList: LINES }
      const order = await run('call', live('order', request, { baseUrl: proxy.baseUrl }))
      expect(order).toMatchObject({ transactionId: id('REPEATED'), replayed: true })
      expect(proxy.connections).toBe(2)
    })

    test.sequential('a transactionId with other content is refused, and nothing changes', async () => {
      const request = { transactionId: id('CONFLICT'), packageInfoList: LINES }
      const { orderNo } = await run('call', live('order', request))
      const other = { ...request, packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }] }
      expect(await caught('call', live('order', other))).toMatchObject(
        failure('200012', { httpStatus: 409, transactionId: id('CONFLICT'), outcomeUnknown: false, attempts: 1 }),
      )
      expect(await run('call', live('query', { orderNo }))).toMatchObject({ packageInfoList: LINES })
    })

    test.sequential('a dry run returns the price and buys nothing; with a taken transactionId it returns the order', async () => {
      const quote = await run('call', live('quote', { packageInfoList: LINES }))
      expect(quote).toMatchObject({ validateOnly: true, amount: PRICE })
      const taken = { transactionId: id('QUOTED'), packageInfoList: LINES }
      expect(await run('call', live('quote', taken))).toMatchObject({ validateOnly: true })
      const { orderNo } = await run('call', live('order', taken))
      const answer = await run('call', live('quote', taken))
      expect(answer).toMatchObject({ orderNo, replayed: true })
      expect(answer.validateOnly ?? null).toBeNull()
    })

    test.sequential('tops up and cancels once, and reads the action', async () => {
      const packageInfoList = [{ packageCode: 'JP_1_7', count: 2 }]
      await run('call', live('order', { transactionId: id('SALE'), packageInfoList }))
      const { profileList } = await run('wait', {
        client: credentials,
        which: { transactionId: id('SALE') },
        waitMs: 20_000,
      })
      const [first, second] = profileList.map(({ esimTranNo }: { esimTranNo: string }) => esimTranNo)
      const topup = { transactionId: id('TOPUP'), esimTranNo: first, packageCode: 'JP_1_7_TOPUP' }
      expect(await run('call', live('topup', topup))).toMatchObject({ orderType: 'TOPUP', replayed: false })
      expect(await run('call', live('topup', topup))).toMatchObject({ orderType: 'TOPUP', replayed: true })
      const cancel = { transactionId: id('CANCEL'), esimTranNo: second }
      expect(await run('call', live('cancel', cancel))).toMatchObject({ action: 'CANCEL', replayed: false })
      expect(await run('call', live('cancel', cancel))).toMatchObject({ action: 'CANCEL', replayed: true })
      const action = { transactionId: id('CANCEL') }
      await vi.waitFor(async () => {
        expect(await run('call', live('action', action))).toMatchObject({ actionStatus: 'DONE' })
      }, WITHIN)
      const usage = await run('call', live('usage', { esimTranNoList: [first, 'unknown'] }))
      expect(usage).toMatchObject({ esimUsageList: [{ esimTranNo: first }], notFound: ['unknown'] })
    })

    test.sequential('iterates over all pages, whatever their size, and refuses a list that would never end', async () => {
      const codesOf = (rows: { packageCode: string }[]) => rows.map(({ packageCode }) => packageCode)
      const all = codesOf(await run('each', live('eachPackage', { pageSize: 500 })))
      expect(all.length).toBeGreaterThan(200)
      expect(new Set(all).size).toBe(all.length)
      expect(codesOf(await run('each', live('eachPackage', { pageSize: 83 })))).toEqual(all)
      expect(await run('each', live('eachProfile', { orderNo: 'none' }))).toEqual([])
      expect(await run('each', live('eachOrder', { pageSize: 1, orderType: 'TOPUP' }))).not.toEqual([])

      const { client } = await scripted(() => ok({ orderList: [{ orderNo: 'O1' }], nextCursor: 'again' }))
      expect(await caught('each', { client, method: 'eachOrder', args: [] })).toMatchObject(
        failure('ANSWER_UNREADABLE'),
      )
    })

    test.sequential('waits for an order, for as long as it may', async () => {
      const pending = { orderNo: 'O1', orderStatus: 'ALLOCATING' }
      const { client, seen } = await scripted((_operation, _body, arrival) =>
        ok(arrival === 3 ? { ...pending, orderStatus: 'DELIVERED' } : pending),
      )
      const which = { orderNo: 'O1' }
      expect(await run('wait', { client, which, waitMs: 10_000 })).toMatchObject({ orderStatus: 'DELIVERED' })
      expect(seen).toHaveLength(3)
      expect(await run('wait', { client, which, waitMs: 0 })).toMatchObject(pending)
      expect(seen).toHaveLength(4)
      expect(await run('wait', { client, which, waitMs: 1_500 })).toMatchObject(pending)
      const silent = await scripted(() => 'hang')
      expect(await caught('wait', { client: silent.client, which, waitMs: 300 })).toMatchObject(failure('TIMED_OUT'))
    })

    test.sequential('obeys Retry-After, and does not wait for more than a minute', async () => {
      const arrivedMs: number[] = []
      const { client } = await scripted((_operation, _body, arrival) => {
        arrivedMs.push(performance.now())
        return arrival === 1 ? refusal(429, '101007', {}, { 'Retry-After': '1' }) : ok({ status: 'UP' })
      })
      expect(await run('call', { client, method: 'health', args: [] })).toMatchObject({ status: 'UP' })
      expect(arrivedMs[1]! - arrivedMs[0]!).toBeGreaterThanOrEqual(990)

      const late = await scripted(() => refusal(503, '000002', {}, { 'Retry-After': '61' }))
      expect(await caught('call', { client: late.client, method: 'health', args: [] })).toMatchObject(
        failure('000002', { retryAfterS: 61, attempts: 1, outcomeUnknown: false }),
      )
      const date = new Date(Date.now() + 90_000).toUTCString()
      const dated = await scripted(() => refusal(503, '000002', {}, { 'Retry-After': date }))
      const { members } = await caught('call', { client: dated.client, method: 'health', args: [] })
      expect(members.retryAfterS).toBeGreaterThan(85)
      expect(members.retryAfterS).toBeLessThanOrEqual(91)
    })

    test.sequential.each(failureCodes)('raises %s with the members that it documents', async (code) => {
      const { http, name } = codes[code as FailureCode]
      const { details = [], data = {} }: { details?: object[]; data?: object } = failureExamples[code] ?? {}
      const { client, seen } = await scripted(() => refusal(http, code, { details, ...data }))
      const request = { transactionId: 'T-1', packageInfoList: LINES }
      const isRetried = http >= 500 || http === 429 || code === '101006'
      const error = await caught('call', {
        client: { ...client, retries: isRetried ? 1 : 3 },
        method: 'order',
        args: [request],
      })
      expect(error).toMatchObject(
        failure(code, {
          ...{ httpStatus: http, details, transactionId: 'T-1', message: `refused with ${code}` },
          data: { requestId: 'r', details, ...data },
          outcomeUnknown: (http >= 500 && code !== '000002') || code === '101006',
          attempts: isRetried ? 2 : 1,
        }),
      )
      expect(seen).toHaveLength(isRetried ? 2 : 1)
      const kind = model.refusals.find((refusal) => refusal.code === code)?.name
      expect([kind, 'DealerEsimError'], name).toContain(error.members.kind)
      if (language.name !== 'TypeScript') expect(error.members.kind).toBe(kind)
    })

    test.sequential('raises the codes of a live gateway', async () => {
      const order = (request: object) =>
        live('order', { transactionId: id('REFUSED'), packageInfoList: LINES, ...request })
      const { packageList } = await run('call', live('packages', { pageSize: 500 }))
      const isDear = ({ price, periodNumMin }: { price: number; periodNumMin: number | null }) =>
        price > 5 * PRICE && periodNumMin === null
      const dear = packageList
        .filter(isDear)
        .slice(0, 3)
        .map(({ packageCode }: (typeof LINES)[0]) => ({ packageCode, count: 30 }))
      for (const [code, command] of [
        ['000105', live('order', { packageInfoList: LINES })],
        ['000108', order({ amounts: PRICE })],
        ['101001', live('health', undefined, { clockMs: -3_600_000 })],
        ['101003', live('health', undefined, { appSecret: 'not-the-secret' })],
        ['101004', live('health', undefined, { appKey: 'nobody_has_this_key' })],
        ['200005', order({ packageInfoList: [{ ...LINES[0], price: 1 }] })],
        ['200006', order({ amount: 1 })],
        ['200013', live('query', { transactionId: id('REFUSED') })],
        ['310241', order({ packageInfoList: [{ packageCode: 'NO_SUCH', count: 1 }] })],
        ['310403', live('cancel', { transactionId: id('REFUSED'), esimTranNo: 'unknown' })],
      ] as const) {
        expect(await caught('call', command), code).toMatchObject(failure(code, { httpStatus: codes[code].http }))
      }
      const needed = await caught('call', order({ packageInfoList: dear }))
      expect(needed).toMatchObject(failure('200007', { data: { currencyCode: 'USD', shortfall: expect.any(Number) } }))
      const unknown = { client: credentials, operation: 'no/such/operation', request: {} }
      expect(await caught('operation', unknown)).toMatchObject(failure('000109'))
    })

    test.sequential('raises a code that it does not know, and what is no answer of a gateway', async () => {
      const answers: FakeAnswer[] = [
        refusal(418, '999999', { more: 1 }),
        { status: 302, headers: { Location: 'https://elsewhere.example/' }, body: '' },
        { status: 200, body: '<h1>Welcome</h1>' },
        { status: 502, body: '<h1>Bad gateway</h1>' },
        { status: 404, body: '[]' },
      ]
      const { client } = await scripted((_operation, _body, arrival) => answers[arrival - 1]!)
      const next = () =>
        caught('call', {
          client: { ...client, retries: 0 },
          method: 'order',
          args: [{ transactionId: 'T-1', packageInfoList: LINES }],
        })
      expect(await next()).toMatchObject(failure('999999', { httpStatus: 418, data: { more: 1 } }))
      const redirect = await next()
      expect(redirect).toMatchObject(failure('ANSWER_UNREADABLE', { httpStatus: 302, outcomeUnknown: false }))
      expect(redirect.message).toContain('https://elsewhere.example/')
      expect(await next()).toMatchObject(failure('ANSWER_UNREADABLE', { httpStatus: 200, outcomeUnknown: true }))
      expect(await next()).toMatchObject(failure('ANSWER_UNREADABLE', { httpStatus: 502, outcomeUnknown: true }))
      expect(await next()).toMatchObject(failure('ANSWER_UNREADABLE', { httpStatus: 404, outcomeUnknown: false }))
    })

    test.sequential('a refusal after an unknown outcome leaves the outcome unknown', async () => {
      const { client } = await scripted((_operation, _body, arrival) =>
        arrival === 1 ? 'break' : refusal(403, '101005'),
      )
      const request = { transactionId: 'T-1', packageInfoList: LINES }
      expect(await caught('call', { client, method: 'order', args: [request] })).toMatchObject(
        failure('101005', { outcomeUnknown: true, attempts: 2 }),
      )
    })

    describeEvents({ run, caught, live, id, credentials: () => credentials, received })
  })
}
