import { afterEach, describe, expect, test, vi } from 'vitest'
import { type FakeGateway, fakeGateway, ok, refusal, type Script } from '../test/fake-gateway.ts'
import { DealerEsim, type DealerEsimOptions } from './client.ts'
import { DealerEsimError } from './error.ts'

let gateway: FakeGateway | undefined
afterEach(() => gateway?.close())

const LINES = [{ packageCode: 'JP_1_7', count: 1 }]
const ORDER = { orderNo: 'O1', transactionId: 'T-1', orderStatus: 'PAID', amount: 45000, currencyCode: 'USD' }

async function client(script: Script, options: Partial<DealerEsimOptions> = {}, prefix = '') {
  gateway = await fakeGateway(script, prefix)
  return new DealerEsim({ ...gateway, ...options })
}

async function failure(promise: Promise<unknown>): Promise<DealerEsimError> {
  const error = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(DealerEsimError)
  return error as DealerEsimError
}

describe('operations', () => {
  test('each method posts to its operation and resolves with the data', async () => {
    const esim = await client((operation) => ok({ operation }), {}, '/behind/a/proxy')
    expect(await esim.health()).toEqual({ operation: 'health' })
    expect(await esim.balance()).toEqual({ operation: 'account/balance' })
    expect(await esim.brands()).toEqual({ operation: 'brand/list' })
    expect(await esim.packages({ locationCode: 'JP' })).toEqual({ operation: 'package/list' })
    const first = { transactionId: 'T-1', packageInfoList: LINES }
    expect(await esim.order(first)).toMatchObject({ operation: 'esim/order' })
    expect(await esim.query({ orderNo: 'O1' })).toEqual({ operation: 'esim/query' })
    expect(await esim.profiles()).toEqual({ operation: 'esim/profile/list' })
    expect(await esim.setWebhook({ callbackUrl: null })).toEqual({ operation: 'webhook/set' })
    expect(await esim.orders({ orderType: 'NEW' })).toEqual({ operation: 'order/list' })
    expect(await esim.statement({ kind: 'REFUND' })).toEqual({ operation: 'account/statement' })
    expect(await esim.locations({ language: 'de' })).toEqual({ operation: 'location/list' })
    expect(await esim.devices({ brand: 'Google' })).toEqual({ operation: 'device/list' })
    expect(await esim.usage({ esimTranNoList: ['E1'] })).toEqual({ operation: 'esim/usage/query' })
    const topup = { transactionId: 'T-2', esimTranNo: 'E1', packageCode: 'JP_1_7_TOPUP' }
    expect(await esim.topup(topup)).toMatchObject({ operation: 'esim/topup', replayed: false })
    const which = { transactionId: 'A-1', esimTranNo: 'E1' }
    for (const name of ['cancel', 'suspend', 'unsuspend', 'revoke'] as const) {
      expect(await esim[name](which)).toEqual({ operation: `esim/${name}`, replayed: false })
    }
    expect(await esim.action({ actionNo: 'A1' })).toEqual({ operation: 'esim/action/query' })
    expect(gateway?.seen.map((each) => each.body)).toEqual([
      ...[{}, {}, {}],
      { locationCode: 'JP' },
      first,
      { orderNo: 'O1' },
      {},
      { callbackUrl: null },
      { orderType: 'NEW' },
      { kind: 'REFUND' },
      { language: 'de' },
      { brand: 'Google' },
      { esimTranNoList: ['E1'] },
      topup,
      ...['CANCEL', 'SUSPEND', 'UNSUSPEND', 'REVOKE'].map((action) => ({ ...which, action })),
      { actionNo: 'A1' },
    ])
  })

  test('non-ASCII text verifies, because exactly the signed bytes are sent', async () => {
    const esim = await client(() => ok(ORDER))
    await esim.order({ transactionId: 'T-1', packageInfoList: LINES, remark: 'für Zoë 🧳' })
    expect(gateway?.seen[0]?.body.remark).toBe('für Zoë 🧳')
  })

  test('a replay is distinguished from a first order', async () => {
    const esim = await client((_operation, _body, arrival) =>
      arrival === 1 ? ok(ORDER) : { ...ok(ORDER), headers: { 'Idempotent-Replayed': 'true' } },
    )
    const order = () => esim.order({ transactionId: 'T-1', packageInfoList: LINES })
    expect((await order()).replayed).toBe(false)
    expect((await order()).replayed).toBe(true)
  })

  const WHICH = { transactionId: 'A-1', esimTranNo: 'E1' }
  test.each([
    ['topup', (esim: DealerEsim) => esim.topup({ ...WHICH, packageCode: 'JP_1_7_TOPUP' })],
    ['cancel', (esim: DealerEsim) => esim.cancel(WHICH)],
    ['suspend', (esim: DealerEsim) => esim.suspend(WHICH)],
    ['unsuspend', (esim: DealerEsim) => esim.unsuspend(WHICH)],
    ['revoke', (esim: DealerEsim) => esim.revoke(WHICH)],
  ])('a failed %s is repeated with the same content, and its replay is distinguished', async (name, run) => {
    const esim = await client((_operation, body, arrival) => {
      if (arrival === 1) return refusal(500, '000001')
      return { ...ok({ transactionId: body.transactionId }), headers: { 'Idempotent-Replayed': 'true' } }
    })
    expect(await run(esim)).toMatchObject({ transactionId: 'A-1', replayed: true })
    const [first, second, ...more] = gateway?.seen ?? []
    expect([first?.operation, second?.operation, more]).toEqual([`esim/${name}`, `esim/${name}`, []])
    expect(second?.body).toEqual(first?.body)
  })

  test('a generated transactionId is in the answer, or in the error if there was no answer', async () => {
    const esim = await client((_operation, body, arrival) =>
      arrival === 1 ? ok({ ...ORDER, transactionId: body.transactionId }) : refusal(402, '200007'),
    )
    const order = () => esim.order({ packageInfoList: LINES }, { generateTransactionId: true })
    const { transactionId } = await order()
    expect(transactionId).toMatch(/^[0-9a-f-]{36}$/)
    const error = await failure(order())
    expect(error.transactionId).toBe(gateway?.seen[1]?.body.transactionId)
    expect(error.transactionId).not.toBe(transactionId)
  })

  test('a quote is a dry run', async () => {
    const esim = await client((_operation, body) => ok({ sent: body }))
    const sent = { packageInfoList: LINES, validateOnly: true }
    expect(await esim.quote({ packageInfoList: LINES })).toEqual({ sent })
  })

  test('the iterators follow every page with the same filters', async () => {
    const pages: Record<string, object> = {
      none: { profileList: [{ iccid: '1' }, { iccid: '2' }], nextCursor: 'a' },
      a: { profileList: [], nextCursor: 'b' },
      b: { profileList: [{ iccid: '3' }], nextCursor: null },
    }
    const esim = await client((_operation, body) => ok(pages[String(body.cursor ?? 'none')] as object))
    const found: string[] = []
    for await (const profile of esim.eachProfile({ orderNo: 'O1' })) found.push(profile.iccid)
    expect(found).toEqual(['1', '2', '3'])
    expect(gateway?.seen.map((each) => each.body)).toEqual([
      { orderNo: 'O1' },
      { orderNo: 'O1', cursor: 'a' },
      { orderNo: 'O1', cursor: 'b' },
    ])
  })

  test('waitForOrder ends when the status is final, the time is up or the signal is aborted', async () => {
    const esim = await client((_operation, _body, arrival) =>
      ok({ ...ORDER, orderStatus: arrival === 2 ? 'DELIVERED' : 'ALLOCATING' }),
    )
    expect(await esim.waitForOrder({ orderNo: 'O1' })).toMatchObject({ orderStatus: 'DELIVERED' })
    expect(await esim.waitForOrder({ orderNo: 'O1' }, { waitMs: 0 })).toMatchObject({ orderStatus: 'ALLOCATING' })
    const signal = AbortSignal.timeout(50)
    expect(await failure(esim.waitForOrder({ orderNo: 'O1' }, { signal }))).toMatchObject({ code: 'ABORTED' })
  })

  test('a repeated cursor ends the iteration with an error', async () => {
    const esim = await client(() => ok({ packageList: [{ packageCode: 'P' }], nextCursor: 'same' }))
    const error = await failure(
      (async () => {
        for await (const _ of esim.eachPackage());
      })(),
    )
    expect(error.code).toBe('ANSWER_UNREADABLE')
    expect(gateway?.seen).toHaveLength(2)
  })

  test('an invalid option is rejected when the client is created', () => {
    const good = { baseUrl: 'https://esim.example.com/', appKey: 'demo_app_key', appSecret: 's' }
    expect(() => new DealerEsim(good)).not.toThrow()
    expect(() => new DealerEsim({ ...good, baseUrl: 'esim.example.com' })).toThrow(/baseUrl/)
    expect(() => new DealerEsim({ ...good, baseUrl: 'https://e.example.com/open-api/v1' })).toThrow(/remove it/)
    expect(() => new DealerEsim({ ...good, appSecret: 's\n' })).toThrow(/line break/)
    expect(() => new DealerEsim({ ...good, appKey: '' })).toThrow(/appKey is missing/)
  })

  test.each([
    ...[Number.POSITIVE_INFINITY, Number.NaN, 0, -1, 2 ** 31, '5000'].map((timeoutMs) => ({ timeoutMs })),
    ...[Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY, '3'].map((retries) => ({ retries })),
  ])('%o is rejected before anything is sent', async (given) => {
    const wrong = given as { timeoutMs?: number; retries?: number }
    const [name = ''] = Object.keys(wrong)
    const esim = await client(() => ok(ORDER))
    await expect(esim.order({ transactionId: 'T-1', packageInfoList: LINES }, wrong)).rejects.toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringMatching(`^${name} must be`) }),
    )
    expect(gateway?.seen).toEqual([])
    expect(() => new DealerEsim({ baseUrl: 'https://e.example.com', appKey: 'k', appSecret: 's', ...wrong })).toThrow(
      TypeError,
    )
  })

  test('timeoutMs may be the longest delay that a timer supports', async () => {
    const esim = await client(() => ok(ORDER), { timeoutMs: 2 ** 31 - 1, retries: 0 })
    expect(await esim.query({ orderNo: 'O1' }, { timeoutMs: 1e6, retries: 1 })).toMatchObject({ orderNo: 'O1' })
  })
})

describe('failures', () => {
  test('a refusal becomes one error that contains the whole answer, and is not retried', async () => {
    const details = [{ field: 'packageInfoList[0].count', reason: 'at most 30' }]
    const esim = await client(() => refusal(402, '200007', { details, shortfall: 5000, requestId: 'r' }))
    const error = await failure(esim.order({ transactionId: 'T-1', packageInfoList: LINES }))
    expect(error).toMatchObject({
      name: 'DealerEsimError',
      code: '200007',
      httpStatus: 402,
      message: 'refused with 200007',
      details,
      transactionId: 'T-1',
      outcomeUnknown: false,
      attempts: 1,
    })
    expect(error.requestId).toBe(gateway?.seen[0]?.requestId)
    if (!error.is('200007')) throw new Error('it is')
    expect(error.data.shortfall).toBe(5000)
  })

  test('a page that is not an API answer is reported, with the target of any redirect', async () => {
    const esim = await client(
      (operation) =>
        operation === 'health'
          ? { status: 301, headers: { Location: 'https://elsewhere.example/' }, body: '' }
          : { status: 404, headers: { 'Content-Type': 'text/html' }, body: '<h1>Not found</h1>' },
      { retries: 0 },
    )
    const moved = await failure(esim.health())
    expect(moved).toMatchObject({ code: 'ANSWER_UNREADABLE', httpStatus: 301 })
    expect(moved.message).toContain('https://elsewhere.example/')
    const lost = await failure(esim.balance())
    expect(lost).toMatchObject({ code: 'ANSWER_UNREADABLE', httpStatus: 404, outcomeUnknown: false })
  })

  test('a call without an answer times out with an unknown outcome', async () => {
    const esim = await client(() => 'hang', { timeoutMs: 50, retries: 0 })
    const error = await failure(esim.order({ transactionId: 'T-1', packageInfoList: LINES }))
    expect(error).toMatchObject({ code: 'TIMED_OUT', outcomeUnknown: true, transactionId: 'T-1' })
  })

  test("the caller's signal ends a call and its waits", async () => {
    const controller = new AbortController()
    const esim = await client(() => {
      controller.abort()
      return 'hang'
    })
    expect(await failure(esim.health({ signal: controller.signal }))).toMatchObject({ code: 'ABORTED' })
    const before = await failure(esim.health({ signal: controller.signal }))
    expect(before).toMatchObject({ code: 'ABORTED', outcomeUnknown: false, attempts: 1 })
  })

  test('an error before sending rejects the call with a known outcome', async () => {
    let clock = () => Date.now()
    const esim = await client(() => ok(ORDER), { now: () => clock(), retries: 0 })
    clock = () => {
      throw new RangeError('no clock')
    }
    const error = await failure(esim.order({ packageInfoList: LINES }, { generateTransactionId: true }))
    expect(error).toMatchObject({
      code: 'NOT_SENT',
      outcomeUnknown: false,
      attempts: 1,
      cause: new RangeError('no clock'),
    })
    expect(error.transactionId).toMatch(/^[0-9a-f-]{36}$/)
    expect(gateway?.seen).toEqual([])
  })

  test('an error before sending keeps the unknown outcome of an earlier attempt', async () => {
    let asked = 0
    const esim = await client(() => 'break', {
      now: () => {
        if (++asked > 1) throw new RangeError('no clock')
        return Date.now()
      },
    })
    const error = await failure(esim.order({ transactionId: 'T-1', packageInfoList: LINES }))
    expect(error).toMatchObject({ code: 'NOT_SENT', outcomeUnknown: true, attempts: 2, transactionId: 'T-1' })
  })

  test('a clock that fails after the answer does not affect the answer', async () => {
    let asked = 0
    const now = () => {
      if (++asked > 1) throw new RangeError('no clock')
      return Date.now()
    }
    const esim = await client(() => ok(ORDER), { now })
    expect(await esim.order({ transactionId: 'T-1', packageInfoList: LINES })).toMatchObject({ orderNo: 'O1' })
  })

  test('a gateway that is not running is reported as unreachable, with a known outcome', async () => {
    const esim = await client(() => ok({}), { retries: 0 })
    await gateway?.close()
    const error = await failure(esim.order({ transactionId: 'T-1', packageInfoList: LINES }))
    expect(error).toMatchObject({ code: 'NETWORK_FAULT', outcomeUnknown: false, httpStatus: undefined })
    expect(error.message).toMatch(/ECONNREFUSED/)
  })
})

test.each([
  ['connect', false],
  ['read', true],
  ['write', true],
  [undefined, true], // a runtime that does not name the system call
])('an order whose route is lost in %s has outcomeUnknown: %s', async (syscall, outcomeUnknown) => {
  const cause = Object.assign(new Error('EHOSTUNREACH'), { code: 'EHOSTUNREACH', syscall })
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }))
  const esim = await client(() => ok(ORDER), { fetch, retries: 0 })
  const error = await failure(esim.order({ transactionId: 'T-1', packageInfoList: LINES }))
  expect(error).toMatchObject({ code: 'NETWORK_FAULT', outcomeUnknown })
})

test('an order without a route to any of several addresses was not placed', async () => {
  const unreachable = (address: string) =>
    Object.assign(new Error(`connect ENETUNREACH ${address}`), { code: 'ENETUNREACH', syscall: 'connect' })
  const errors = [unreachable('2001:db8::1'), unreachable('192.0.2.1')]
  const cause = Object.assign(new AggregateError(errors), { code: 'ENETUNREACH' }) // as Node throws it
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }))
  const esim = await client(() => ok(ORDER), { fetch, retries: 0 })
  const error = await failure(esim.order({ transactionId: 'T-1', packageInfoList: LINES }))
  expect(error).toMatchObject({ code: 'NETWORK_FAULT', outcomeUnknown: false })
  expect(error.message).toContain('connect ENETUNREACH 2001:db8::1')
})

describe('retries', () => {
  const twice = (first: ReturnType<Script>): Script => {
    return (_operation, _body, arrival) => (arrival === 1 ? first : ok(ORDER))
  }

  test.each([
    ['a broken connection', 'break' as const],
    ['an internal error', refusal(500, '000001')],
    ['a gateway that is starting', refusal(503, '000002', {}, { 'Retry-After': '0' })],
    ['a proxy without its gateway', { status: 502, body: '<html>' }],
    ['a page in place of an answer', { status: 200, body: '<html>' }],
    ['the rate limit', refusal(429, '101007', {}, { 'Retry-After': '0' })],
    ['a request that something between repeated', refusal(409, '101006')],
  ])('%s is retried with a new RequestID and the same transactionId', async (_name, first) => {
    const esim = await client(twice(first))
    await esim.order({ transactionId: 'T-1', packageInfoList: LINES })
    const [one, two] = gateway?.seen ?? []
    expect(gateway?.seen).toHaveLength(2)
    expect(two?.requestId).not.toBe(one?.requestId)
    expect(two?.body).toEqual(one?.body)
  })

  test('a call ends after the allowed retries and reports the number of attempts', async () => {
    const esim = await client(() => refusal(500, '000001'), { retries: 1 })
    const error = await failure(esim.order({ transactionId: 'T-1', packageInfoList: LINES }))
    expect(error).toMatchObject({ code: '000001', attempts: 2, outcomeUnknown: true })
    expect(gateway?.seen).toHaveLength(2)
  })

  test('the wait is at least as long as Retry-After', async () => {
    const esim = await client(twice(refusal(429, '101007', {}, { 'Retry-After': '1' })))
    const started = performance.now()
    await esim.health()
    expect(performance.now() - started).toBeGreaterThanOrEqual(990)
  })

  test.each([
    ['3600', 3600],
    ['9999999999', 999_999_999],
    ['9'.repeat(40), 999_999_999],
  ])('a call does not wait for a Retry-After above one minute: %s', async (text, retryAfterS) => {
    const esim = await client(() => refusal(503, '000002', {}, { 'Retry-After': text }))
    const error = await failure(esim.health())
    expect(error).toMatchObject({ code: '000002', retryAfterS, attempts: 1, outcomeUnknown: false })
  })

  test('a refusal after an unanswered attempt leaves the outcome unknown', async () => {
    const esim = await client((_operation, _body, arrival) =>
      arrival === 1 ? 'break' : refusal(402, '200007', { shortfall: 1 }),
    )
    const error = await failure(esim.order({ transactionId: 'T-1', packageInfoList: LINES }))
    expect(error).toMatchObject({ code: '200007', outcomeUnknown: true, attempts: 2 })
  })

  test('an observer sees every attempt, with the text that was signed', async () => {
    const observed: { attempt: number; stringToSign: string; status: number | undefined }[] = []
    const esim = await client(twice('break'), {
      observe: ({ attempt, stringToSign, answer }) => observed.push({ attempt, stringToSign, status: answer?.status }),
    })
    await esim.health()
    expect(observed.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, undefined],
      [2, 200],
    ])
    expect(observed[1]?.stringToSign).toMatch(/^\d{13}[0-9a-f-]{36}fake_app_key\{\}$/)
  })

  test('a failing observer does not affect an order, and its error is logged', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    try {
      const fault = new Error('the log is full')
      const observers = [
        () => {
          throw fault
        },
        () => Promise.reject(fault),
      ]
      for (const observe of observers) {
        const esim = await client(twice(refusal(500, '000001')), { observe })
        expect(await esim.order({ transactionId: 'T-1', packageInfoList: LINES })).toMatchObject({ orderNo: 'O1' })
        await gateway?.close()
      }
      expect(logged.mock.calls).toEqual([[fault], [fault], [fault], [fault]])
    } finally {
      logged.mockRestore()
    }
  })
})
