import fc from 'fast-check'
import { Check } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { isCode } from '#codes/codes.ts'
import { type OperationName, operationNames, operations } from '#schemas/operations.ts'
import { TEXT_PATTERNS } from '#text-patterns.ts'
import { listFaults } from './faults.ts'
import { parseRequest } from './parse-request.ts'

const line = (packageCode: string, count: unknown = 1) => ({ packageCode, count })
const lines = (length: number, count = 1) => Array.from({ length }, (_, i) => line(`P${i}`, count))
const order = (change: object = {}) => ({ transactionId: 'T-1', packageInfoList: [line('JP_1_7')], ...change })
const emoji = '\u{1F5FC}'

describe('valid requests pass unchanged', () => {
  test.each<[OperationName, object]>([
    ['health', {}],
    ['account/balance', {}],
    ['package/list', {}],
    ['package/list', { locationCode: 'JP', keyword: '日本', updatedSince: '2026-11-20T13:28:09Z', pageSize: 500 }],
    ['package/list', { locationCode: '!RG', cursor: 'abc' }],
    ['package/list', { updatedSince: '2024-02-29t23:59:60.123456789+00:00' }],
    ['esim/order', order()],
    ['esim/order', order({ transactionId: 'aZ09_.:-'.repeat(8) })],
    ['esim/order', order({ packageInfoList: lines(20, 5), amount: 0, remark: emoji.repeat(200) })],
    ['esim/order', order({ packageInfoList: [{ ...line('A', 30), price: 9007199254740991 }], remark: 'two\nlines' })],
    ['esim/query', { orderNo: 'X' }],
    ['esim/query', { orderNo: 'X', transactionId: 'Y' }],
    ['esim/profile/list', { iccid: '8985200012345678903F', esimStatus: 'IN_USE', smdpStatus: 'ENABLED' }],
    ['webhook/set', {}],
    ['webhook/set', { callbackUrl: null }],
    ['webhook/set', { callbackUrl: 'https://dealer.example.com/e', eventTypes: [], enabled: false }],
  ])('%s %j', (name, request) => {
    const before = structuredClone(request)
    expect(parseRequest(name, request)).toEqual({ ok: true, value: before })
    expect(request).toEqual(before)
  })

  test('accepts the number 1.0 as an integer, because integers are compared by value', () => {
    const parsed = parseRequest('package/list', JSON.parse('{"pageSize":1.0e2}'))
    expect(parsed).toEqual({ ok: true, value: { pageSize: 100 } })
  })
})

describe('null for an optional member means absent', () => {
  test.each<[OperationName, object, object]>([
    ['package/list', { keyword: null, pageSize: 1, cursor: null }, { pageSize: 1 }],
    ['esim/query', { orderNo: null, transactionId: 'T' }, { transactionId: 'T' }],
    ['esim/order', order({ amount: null, remark: null }), order()],
    [
      'esim/order',
      order({ packageInfoList: [{ ...line('A'), price: null }] }),
      order({ packageInfoList: [line('A')] }),
    ],
    ['webhook/set', { callbackUrl: null, enabled: null, eventTypes: null }, { callbackUrl: null }],
  ])('%s %j', (name, request, value) => {
    const before = structuredClone(request)
    expect(parseRequest(name, request)).toEqual({ ok: true, value })
    expect(request).toEqual(before)
  })
})

const faults: [OperationName, string, unknown, code: string, field: string][] = [
  // missing
  ['esim/order', 'no transactionId', { packageInfoList: [line('A')] }, '000105', 'transactionId'],
  ['esim/order', 'no lines', { transactionId: 'T' }, '000105', 'packageInfoList'],
  ['esim/order', 'no count', order({ packageInfoList: [{ packageCode: 'A' }] }), '000105', 'packageInfoList[0].count'],
  ['esim/order', 'an empty object', {}, '000105', 'transactionId'],
  ['esim/query', 'neither key', {}, '000105', 'orderNo'],
  ['esim/query', 'both keys null', { orderNo: null, transactionId: null }, '000105', 'orderNo'],
  // null though required
  ['esim/order', 'transactionId null', order({ transactionId: null }), '000106', 'transactionId'],
  ['esim/order', 'lines null', order({ packageInfoList: null }), '000106', 'packageInfoList'],
  ['esim/order', 'a line null', order({ packageInfoList: [null] }), '000106', 'packageInfoList[0]'],
  ['esim/order', 'count null', order({ packageInfoList: [line('A', null)] }), '000106', 'packageInfoList[0].count'],
  ['webhook/set', 'event type null', { eventTypes: [null] }, '000106', 'eventTypes[0]'],
  // too long or short
  ['esim/order', 'empty transactionId', order({ transactionId: '' }), '000107', 'transactionId'],
  ['esim/order', 'transactionId of 65', order({ transactionId: 'x'.repeat(65) }), '000107', 'transactionId'],
  ['esim/order', 'remark of 201', order({ remark: emoji.repeat(201) }), '000107', 'remark'],
  ['esim/order', 'empty package', order({ packageInfoList: [line('')] }), '000107', 'packageInfoList[0].packageCode'],
  ['package/list', 'empty keyword', { keyword: '' }, '000107', 'keyword'],
  ['package/list', 'cursor of 513', { cursor: 'x'.repeat(513) }, '000107', 'cursor'],
  ['esim/profile/list', 'short ICCID', { iccid: '8985' }, '000107', 'iccid'],
  ['webhook/set', 'empty URL', { callbackUrl: '' }, '000107', 'callbackUrl'],
  // malformed
  ['esim/order', 'space in transactionId', order({ transactionId: 'a b' }), '000108', 'transactionId'],
  ['esim/order', 'line break in transactionId', order({ transactionId: 'a\n' }), '000108', 'transactionId'],
  ['esim/order', 'number as transactionId', order({ transactionId: 1 }), '000108', 'transactionId'],
  ['esim/order', 'U+0000 in remark', order({ remark: 'a\u0000' }), '000108', 'remark'],
  ['esim/order', 'lone surrogate in remark', order({ remark: 'a\ud800' }), '000108', 'remark'],
  ['package/list', 'small letters', { locationCode: 'jp' }, '000108', 'locationCode'],
  ['package/list', 'three letters', { locationCode: 'JPN' }, '000108', 'locationCode'],
  ['package/list', 'date only', { updatedSince: '2026-11-20' }, '000108', 'updatedSince'],
  ['package/list', 'no zone', { updatedSince: '2026-11-20T13:28:09' }, '000108', 'updatedSince'],
  ['package/list', 'no such day', { updatedSince: '2026-02-29T00:00:00Z' }, '000108', 'updatedSince'],
  ['package/list', 'named zone', { updatedSince: '2026-02-28T00:00:00Z[UTC]' }, '000108', 'updatedSince'],
  ['package/list', 'milliseconds', { updatedSince: 1700000000000 }, '000108', 'updatedSince'],
  ['esim/profile/list', 'no such status', { esimStatus: 'in_use' }, '000108', 'esimStatus'],
  ['esim/profile/list', 'status as number', { smdpStatus: 1 }, '000108', 'smdpStatus'],
  ['webhook/set', 'unknown event', { eventTypes: ['CHECK_HEALTH'] }, '000108', 'eventTypes[0]'],
  ['webhook/set', 'event twice', { eventTypes: ['ORDER_PAID', 'ORDER_PAID'] }, '000108', 'eventTypes[1]'],
  ['webhook/set', 'text as boolean', { enabled: 'true' }, '000108', 'enabled'],
  ['webhook/set', 'relative URL', { callbackUrl: '/events' }, '000108', 'callbackUrl'],
  ['webhook/set', 'URL between spaces', { callbackUrl: ' https://dealer.example.com/e ' }, '000108', 'callbackUrl'],
  // out of range
  ['esim/order', 'no line', order({ packageInfoList: [] }), '000108', 'packageInfoList'],
  ['esim/order', '21 lines', order({ packageInfoList: lines(21) }), '000108', 'packageInfoList'],
  ['esim/order', 'lines as object', order({ packageInfoList: {} }), '000108', 'packageInfoList'],
  ['esim/order', 'line as array', order({ packageInfoList: [[]] }), '000108', 'packageInfoList[0]'],
  ['esim/order', 'count 0', order({ packageInfoList: [line('A', 0)] }), '000108', 'packageInfoList[0].count'],
  ['esim/order', 'count 31', order({ packageInfoList: [line('A', 31)] }), '000108', 'packageInfoList[0].count'],
  ['esim/order', 'count 1.5', order({ packageInfoList: [line('A', 1.5)] }), '000108', 'packageInfoList[0].count'],
  ['esim/order', 'count "1"', order({ packageInfoList: [line('A', '1')] }), '000108', 'packageInfoList[0].count'],
  [
    'esim/order',
    '101 eSIMs',
    order({ packageInfoList: [...lines(20, 5).slice(1), line('A', 6)] }),
    '000108',
    'packageInfoList',
  ],
  [
    'esim/order',
    'twice',
    order({ packageInfoList: [line('A'), line('A')] }),
    '000108',
    'packageInfoList[1].packageCode',
  ],
  ['esim/order', 'negative guard', order({ amount: -1 }), '000108', 'amount'],
  ['esim/order', 'unsafe guard', order({ amount: 9007199254740992 }), '000108', 'amount'],
  ['esim/order', 'infinite guard', order({ amount: JSON.parse('1e400') }), '000108', 'amount'],
  ['package/list', 'pageSize 0', { pageSize: 0 }, '000108', 'pageSize'],
  ['package/list', 'pageSize 501', { pageSize: 501 }, '000108', 'pageSize'],
  // unknown
  ['health', 'a member', { a: 1 }, '000108', 'a'],
  ['health', 'a null member', { a: null }, '000108', 'a'],
  ['health', '__proto__', JSON.parse('{"__proto__":{}}'), '000108', '__proto__'],
  ['health', 'constructor', { constructor: 1 }, '000108', 'constructor'],
  [
    'esim/order',
    '__proto__',
    JSON.parse(`{"__proto__":{},"transactionId":"T","packageInfoList":[{"packageCode":"A","count":1}]}`),
    '000108',
    '__proto__',
  ],
  ['esim/order', 'mistyped guard', order({ amounts: 1 }), '000108', 'amounts'],
  [
    'esim/order',
    'in a line',
    order({ packageInfoList: [{ ...line('A'), Price: 1 }] }),
    '000108',
    'packageInfoList[0].Price',
  ],
  ['health', 'an odd name', { 'a b"': 1 }, '000108', '["a b\\""]'],
  ['health', 'an event', { notifyId: 'x', notifyType: 'CHECK_HEALTH', content: {} }, '000108', 'notifyId'],
  ['health', 'an array', [], '000108', 'body'],
  ['health', 'null', null, '000108', 'body'],
]

describe('a single fault is answered with its code, field and advice', () => {
  test.each(faults)('%s: %s', (name, _, request, code, field) => {
    const parsed = parseRequest(name, request)
    if (parsed.ok) throw new Error('accepted')
    expect([parsed.code, parsed.details[0]?.field]).toEqual([code, field])
    for (const { reason } of parsed.details)
      expect(reason).toMatch(/^(Send|Use|It is|Missing|Unknown|This|Order|The package).+/)
  })
})

describe('several faults', () => {
  test('are answered with the lowest code, regardless of member order', () => {
    const request = {
      zzz: 1,
      packageInfoList: [{ packageCode: '', count: null }, { count: 99 }],
      amount: 'x',
      transactionId: 'a b',
    }
    expect(parseRequest('esim/order', request)).toMatchObject({
      code: '000105',
      details: [
        { field: 'packageInfoList[1].packageCode' },
        { field: 'packageInfoList[0].count' },
        { field: 'packageInfoList[0].packageCode' },
        { field: 'transactionId' },
        { field: 'packageInfoList[1].count' },
        { field: 'amount' },
        { field: 'zzz' },
      ],
    })
  })

  test('are listed up to a limit of twenty, and a hostile body is cheap to reject', () => {
    const request = Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`k${i}`, 1]))
    const parsed = parseRequest('esim/order', { ...request, packageInfoList: Array.from({ length: 30_000 }, () => 1) })
    expect(parsed).toMatchObject({ ok: false, code: '000105' })
    expect(!parsed.ok && parsed.details).toHaveLength(20)
  })

  test('are listed with long unknown member names truncated', () => {
    const parsed = parseRequest('health', { [emoji.repeat(5000)]: 1 })
    expect(!parsed.ok && parsed.details[0]?.field.length).toBeLessThan(200)
  })
})

describe('any input', () => {
  const name = fc.constantFrom(...operationNames)
  const members = operationNames.flatMap((operation) => Object.keys(operations[operation].request.properties))
  const member = fc.oneof(fc.constantFrom(...members, 'packageCode', 'count', 'price', '__proto__'), fc.string())
  const scalar = fc.constantFrom(
    null,
    '',
    'A',
    'T-1',
    0,
    1,
    -1,
    1.5,
    31,
    true,
    'JP',
    '2026-11-20T13:28:09Z',
    2 ** 53,
    'ORDER_PAID',
  )
  const tree = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc.jsonValue(),
      fc.array(tie('value'), { maxLength: 3 }),
      tie('object'),
    ),
    object: fc.dictionary(member, tie('value'), { maxKeys: 5 }),
  }))

  test('is never modified, and is rejected with a code from the table, never with an exception', () => {
    fc.assert(
      fc.property(name, fc.oneof(tree.object, tree.value), (operation, value) => {
        const before = JSON.stringify(value)
        const parsed = parseRequest(operation, value)
        expect(JSON.stringify(value)).toBe(before)
        if (parsed.ok) return
        expect(isCode(parsed.code)).toBe(true)
        expect(parsed.details.length).toBeGreaterThan(0)
      }),
      { numRuns: 3000 },
    )
  })

  const nearly = fc
    .tuple(fc.constantFrom<keyof typeof valid>('esim/order', 'esim/profile/list', 'webhook/set'), member, tree.value)
    .chain(([operation, extra, value]) => {
      const known = Object.keys(valid[operation])
      const changed = fc.constantFrom(...known, extra)
      return changed.map((key) => [operation, { ...valid[operation], [key]: value }] as const)
    })

  test('is accepted only if it matches the schema, and parsing the result again changes nothing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.tuple(name, tree.object), nearly), ([operation, value]) => {
        const first = parseRequest(operation, value)
        if (!first.ok) return
        expect(Check(operations[operation].request, first.value)).toBe(true)
        expect(listFaults(operations[operation].request, first.value)).toEqual([])
        expect(parseRequest(operation, first.value)).toEqual(first)
      }),
      { numRuns: 3000 },
    )
  })
})

const valid = {
  'esim/order': order({ amount: 45_000, remark: 'a note' }),
  'esim/profile/list': {
    esimTranNo: 'X',
    iccid: '8985200012345678903',
    startTime: '2026-11-20T13:28:09Z',
    pageSize: 1,
  },
  'webhook/set': { callbackUrl: 'https://dealer.example.com/e', eventTypes: ['ORDER_PAID'], enabled: true },
} satisfies Partial<Record<OperationName, object>>

test('an empty callback URL is reported as a single fault, with a hint that null removes the URL', () => {
  expect(parseRequest('webhook/set', { callbackUrl: '' })).toEqual({
    ok: false,
    code: '000107',
    details: [{ field: 'callbackUrl', reason: 'Send null to remove it, or use 1 to 2048 characters.' }],
  })
})

describe('an e-mail address is one address in the header of an e-mail too', () => {
  const send = (email: string) => ({ transactionId: 'T', esimTranNo: '0190a5c8-7b1e-7000-8000-000000000001', email })
  const isAccepted = (email: string) => parseRequest('esim/profile/send', send(email)).ok
  const published = new RegExp(TEXT_PATTERNS.email.published)

  test.each(
    [...'<>()[],;:\\"'].flatMap((char) => [`a${char}b@example.com`, `a@exam${char}ple.com`, `a@example.c${char}m`]),
  )('refuses %s', (email) => expect([isAccepted(email), published.test(email)]).toEqual([false, false]))

  test.each(["o'neil+tag@mail.example.com", 'mei_ta-naka!#$%&*/=?^`{|}~@example.com', '田中@例え.jp'])(
    'accepts %s',
    (email) => expect([isAccepted(email), published.test(email)]).toEqual([true, true]),
  )
})
