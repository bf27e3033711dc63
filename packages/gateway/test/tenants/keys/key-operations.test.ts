import { randomUUID } from 'node:crypto'
import { type OperationName, operationNames, type RtOperationName, rtOperations } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEFAULT_OPERATIONS } from '#tenants/keys/manage-keys.ts'
import type { Dealer, RequestParts } from '#test/harness/api-node.ts'
import { familyCode } from '#test/http/rt/family-program.ts'
import { createKeysTestbed, DEALER_PATH, ELSEWHERE, type KeysTestbed, RT_PATH, type Sender } from './keys-testbed.ts'

/*
 * Which key gets which answer from which operation, on a production gateway: every kind of key and of fault × every operation of
 * both APIs. A new operation fails here until it has a line in one of the first two tables.
 */

/** The answer to `{}` of each operation of the dealer API that a key may call. */
const DEALER_API: Record<OperationName, string> = {
  health: '000000',
  'account/balance': '000000',
  'package/list': '000000',
  'esim/order': '000105',
  'esim/topup': '000105',
  'esim/query': '000105',
  'esim/profile/list': '000000',
  'esim/profile/send': '000105',
  'brand/list': '000000',
  'esim/cancel': '000105',
  'esim/suspend': '000105',
  'esim/unsuspend': '000105',
  'esim/revoke': '000105',
  'esim/action/query': '000105',
  'webhook/set': '000000',
  'webhook/test': '000105',
  'order/list': '000000',
  'account/statement': '000000',
  'ledger/checkpoint': '000000',
  'ledger/proof': '000105',
  'ledger/consistency': '000105',
  'ledger/keys': '000000',
  'location/list': '000000',
  'device/list': '000000',
  'esim/usage/query': '000105',
  'test/balance/set': '000105',
  'test/esim/update': '000105',
  'test/clock/advance': '000105',
  'test/order/resolve': '000105',
}

/** The same for the RT API, with the operations of the dealer API that a restricted key needs for it. */
const RT_API: Record<RtOperationName, [code: string, ...needs: (OperationName | 'esim/sendSms')[]]> = {
  'balance/query': ['000000', 'account/balance'],
  'location/list': ['000000', 'location/list'],
  'package/list': ['000000', 'package/list'],
  'esim/order': ['000105', 'esim/order'],
  'esim/query': ['000105', 'esim/query', 'esim/profile/list'],
  'esim/topup': ['000105', 'esim/topup'],
  'esim/cancel': ['000105', 'esim/cancel'],
  'esim/suspend': ['000105', 'esim/suspend'],
  'esim/unsuspend': ['000105', 'esim/unsuspend'],
  'esim/revoke': ['000105', 'esim/revoke'],
  'esim/usage/query': ['000105', 'esim/usage/query'],
  // No operation of the dealer API has this name, so no restricted key has it.
  'esim/sendSms': ['000105', 'esim/sendSms'],
  'webhook/save': ['000105', 'webhook/set'],
  'webhook/query': ['000000', 'webhook/set'],
}

type Need = OperationName | 'esim/sendSms'
const NEVER: readonly string[] = ['webhook/set', 'esim/sendSms']

/** null: the operation's own answer, as in the tables above. */
type Code = string | null
type Column = 'others' | 'never' | 'test'

interface Kind {
  title: string
  /** The sender of a call that needs these operations. */
  sender: (needs: readonly Need[]) => Sender | Promise<Sender>
  /** For most operations. */
  others: Code | ((needs: readonly Need[]) => Code)
  /** For webhook/set and esim/sendSms, which no restricted key has. */
  never: Code
  /** For the operations that begin with test/. */
  test: Code
}

let bed: KeysTestbed
beforeAll(async () => {
  bed = await createKeysTestbed()
})
afterAll(() => bed.close())

const OLD = { timestamp: Date.now() - 400_000 }
const FORGED = { signature: '0'.repeat(64) }
const USED = () => ({ requestId: bed.usedRequestId })
const all = (code: string) => ({ others: code, never: code, test: code })
/** As for a live account's own key on a production gateway. */
const OWN = { others: null, never: null, test: '000109' }
const KEY = { ...OWN, never: '101009' }

const KINDS: Kind[] = [
  { title: 'the account’s own key', sender: () => ({ of: bed.live.own }), ...OWN },
  { title: 'the secret before a reset, in its grace period', sender: () => ({ of: bed.inGracePeriod }), ...OWN },
  {
    title: 'the secret before a reset, after its grace period',
    sender: () => ({ of: bed.afterGracePeriod }),
    ...all('101003'),
  },
  { title: 'a restricted key with every operation', sender: () => ({ of: bed.live.all }), ...KEY },
  { title: 'a restricted key with only what the call needs', sender: (needs) => bed.live.only(needs), ...KEY },
  ...[0, -1].map((at) => ({
    title: `a restricted key without the ${at === 0 ? 'first' : 'last'} operation that the call needs`,
    sender: (needs: readonly Need[]) => bed.live.allBut(needs.at(at)!),
    ...{ others: '101009', never: '101009', test: '000109' },
  })),
  {
    title: 'a restricted key made without a list of operations',
    sender: () => ({ of: bed.live.byDefault }),
    others: (needs) => (needs.every((name) => (DEFAULT_OPERATIONS as Need[]).includes(name)) ? null : '101009'),
    ...{ never: '101009', test: '000109' },
  },
  { title: 'a revoked key', sender: () => ({ of: bed.live.revoked }), ...all('101004') },
  { title: 'an expired key', sender: () => ({ of: bed.live.expired }), ...all('101004') },
  { title: 'a restricted key outside its allowlist', sender: () => ({ of: bed.live.outside }), ...all('101002') },
  {
    title: 'a restricted key outside the account’s allowlist',
    sender: () => ({ of: bed.elsewhere.all }),
    ...all('101002'),
  },
  {
    title: 'the account’s own key outside its allowlist',
    sender: () => ({ of: bed.elsewhere.own }),
    ...all('101002'),
  },
  { title: 'the own key of a suspended account', sender: () => ({ of: bed.suspended.own }), ...all('101005') },
  {
    title: 'a restricted key of a suspended account',
    sender: () => ({ of: bed.suspended.all }),
    ...all('101005'),
  },
  { title: 'the twin’s own key', sender: () => ({ of: bed.twin.own }), ...OWN, test: null },
  {
    title: 'the twin’s restricted key with every operation',
    sender: () => ({ of: bed.twin.all }),
    ...KEY,
    test: null,
  },
  {
    title: 'the twin’s restricted key with only what the call needs',
    sender: (needs) => bed.twin.only(needs),
    ...{ ...KEY, test: null },
  },
  {
    title: 'the twin’s restricted key without the operation',
    sender: (needs) => bed.twin.allBut(needs[0]!),
    ...all('101009'),
  },
  {
    title: 'the own key of a suspended account’s twin',
    sender: () => ({ of: bed.suspendedTwin.own }),
    ...all('101005'),
  },
  {
    title: 'a restricted key of a suspended account’s twin',
    sender: () => ({ of: bed.suspendedTwin.all }),
    ...all('101005'),
  },
  ...['ak_main', 'rk_main', 'ak_main_test', 'rk_main_test'].map((prefix) => ({
    title: `an unknown AppKey ${prefix}_…`,
    sender: () => ({ of: { ...bed.live.own, appKey: `${prefix}_012345678901234567890123` } }),
    ...all('101004'),
  })),
  ...(['own', 'all'] as const).flatMap((key) => [
    { title: `a wrong signature, ${key}`, sender: () => ({ of: bed.live[key], parts: FORGED }), ...all('101003') },
    {
      title: `a wrong signature of the twin, ${key}`,
      sender: () => ({ of: bed.twin[key], parts: FORGED }),
      ...all('101003'),
    },
    { title: `an old timestamp, ${key}`, sender: () => ({ of: bed.live[key], parts: OLD }), ...all('101001') },
    {
      title: `a used RequestID, ${key}`,
      sender: () => ({ of: bed.live[key], parts: USED() }),
      ...{ others: '101006', never: key === 'own' ? '101006' : '101009', test: '000109' },
    },
  ]),
  // From here on, all later faults are there as well.
  {
    title: 'a revoked key before an old timestamp',
    sender: () => ({ of: bed.suspended.revoked, parts: { ...OLD, ...FORGED, ...USED() } }),
    ...all('101004'),
  },
  {
    title: 'an expired key before an old timestamp',
    sender: () => ({ of: bed.suspended.expired, parts: { ...OLD, ...FORGED, ...USED() } }),
    ...all('101004'),
  },
  {
    title: 'an old timestamp before a wrong signature',
    sender: () => ({ of: bed.suspended.outside, parts: { ...OLD, ...FORGED, ...USED() } }),
    ...all('101001'),
  },
  {
    title: 'a wrong signature before a suspension',
    sender: () => ({ of: bed.suspended.outside, parts: { ...FORGED, ...USED() } }),
    ...all('101003'),
  },
  {
    title: 'a suspension before an allowlist',
    sender: () => ({ of: bed.suspended.outside, parts: USED() }),
    ...all('101005'),
  },
  {
    title: 'an allowlist before the operation',
    sender: async (needs) => ({ ...(await bed.elsewhere.allBut(needs[0]!)), parts: USED() }),
    ...all('101002'),
  },
  {
    title: 'the operation before a used RequestID',
    sender: async (needs) => ({ ...(await bed.live.allBut(needs[0]!)), parts: USED() }),
    ...{ others: '101009', never: '101009', test: '000109' },
  },
]

const FORBIDDEN = /^This key may not call/

function expectedOf(kind: Kind, needs: readonly Need[], own: string): string {
  const column: Column = needs.some((name) => NEVER.includes(name))
    ? 'never'
    : needs[0]!.startsWith('test/')
      ? 'test'
      : 'others'
  const code = kind[column]
  return (typeof code === 'function' ? code(needs) : code) ?? own
}

describe('the dealer API, for every operation, answers', () => {
  it('the operations of the contract, no more and no fewer', () => {
    expect(Object.keys(DEALER_API)).toEqual(operationNames)
    expect(Object.keys(RT_API)).toEqual(Object.keys(rtOperations))
  })

  it.each(KINDS)('$title', async (kind) => {
    const [answers, expected]: Record<string, string | null>[] = [{}, {}]
    for (const name of operationNames) {
      answers![name] = (await bed.send(DEALER_PATH, name, await kind.sender([name]))).code
      expected![name] = expectedOf(kind, [name], DEALER_API[name])
    }
    expect(answers).toEqual(expected)
  })
})

describe('the RT API, for every operation, answers', () => {
  it.each(KINDS)('$title', async (kind) => {
    const [answers, expected]: Record<string, unknown>[] = [{}, {}]
    for (const [name, [own, ...needs]] of Object.entries(RT_API)) {
      const { code, message } = await bed.send(RT_PATH, name, await kind.sender(needs))
      const wanted = expectedOf(kind, needs, own)
      answers![name] = [code, FORBIDDEN.test(message)]
      expected![name] = [familyCode(wanted), wanted === '101009']
    }
    expect(answers).toEqual(expected)
  })
})

const UNSIGNED = {
  'RT-RequestID': undefined,
  'RT-Timestamp': undefined,
  'X-Signature': undefined,
  'RT-Signature': undefined,
}
const bare = (of: Dealer, headers: RequestParts['headers'] = {}) => ({
  ...{ of, parts: { headers: { ...UNSIGNED, ...headers } } },
})
const withSecret = (of: Dealer, secret = of.appSecret) => bare(of, { 'RT-SecretKey': secret })

/** Requests without a signature: who sends them, and what the RT API answers, to webhook/save and to the others. */
const UNSIGNED_KINDS: [title: string, sender: () => Sender, others: Code, save: Code][] = [
  ['an account without the switch', () => bare(bed.live.own), '000101', '000101'],
  ['an account with the switch', () => bare(bed.unsigned.own), null, '401001'],
  [
    'an account with the switch, from elsewhere',
    () => bare(bed.unsigned.own, { 'X-Forwarded-For': ELSEWHERE }),
    ...(['000101', '000101'] as const),
  ],
  ['a restricted key of it', () => bare(bed.unsigned.all), '000101', '000101'],
  ['a revoked key of it', () => bare(bed.unsigned.revoked), '000101', '000101'],
  ['the secret of an account without the switch', () => withSecret(bed.live.own), '000101', '000101'],
  ['the secret of an account with the switch', () => withSecret(bed.unsigned.own), null, '401001'],
  ['another secret', () => withSecret(bed.unsigned.own, 'another'), '101003', '101003'],
  ['the secret of a restricted key', () => withSecret(bed.unsigned.all), '000101', '000101'],
  ['the secret of a twin', () => withSecret(bed.twin.own), '000101', '000101'],
]

describe('without a signature', () => {
  it.each(UNSIGNED_KINDS)('%s', async (_, sender, others, save) => {
    const [answers, expected]: Record<string, Code>[] = [{}, {}]
    for (const [name, [own]] of Object.entries(RT_API)) {
      answers![name] = (await bed.send(RT_PATH, name, sender())).code
      expected![name] = (name === 'webhook/save' ? save : others) ?? familyCode(own)
    }
    for (const name of operationNames) {
      answers![`dealer API: ${name}`] = (await bed.send(DEALER_PATH, name, sender())).code
      expected![`dealer API: ${name}`] = '000101'
    }
    expect(answers).toEqual(expected)
  })
})

it('a refusal for the operation spends no RequestID', async () => {
  const requestId = randomUUID()
  const { own, byDefault } = bed.live
  const answers = []
  for (const [path, operation, of] of [
    [DEALER_PATH, 'test/clock/advance', own],
    [DEALER_PATH, 'esim/order', byDefault],
    [RT_PATH, 'esim/order', byDefault],
    [DEALER_PATH, 'health', byDefault],
    [DEALER_PATH, 'health', own],
  ] as const) {
    answers.push((await bed.send(path, operation, { of, parts: { requestId } })).code)
  }
  expect(answers).toEqual(['000109', '101009', '401001', '000000', '101006'])
})
