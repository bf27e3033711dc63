import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { suspendTenant } from '../../src/tenants/change.ts'
import { changeSettings } from '../../src/tenants/settings.ts'
import { addDealer, call, type Dealer, OPERATOR, type RequestParts } from '../harness/api-node.ts'
import { type ApiFixture, createApiFixture } from './api-fixture.ts'

let stage: ApiFixture
beforeAll(async () => {
  stage = await createApiFixture()
})
afterAll(() => stage.close())

/** A request under construction. Each fault breaks a different part, so that any two can be combined. */
interface Draft {
  dealer: Dealer
  parts: RequestParts & { headers: Record<string, string | string[] | undefined> }
  body: { text: string; order: Record<string, unknown>; size?: number }
}

interface Check {
  name: string
  code: string
  breakIt(draft: Draft): Promise<void> | void
}

/** The order of checks, contract §3. */
const CHECKS: Check[] = [
  {
    name: 'route',
    code: '000109',
    breakIt: ({ parts }) => {
      parts.path = '/open-api/v1/nothing'
    },
  },
  {
    name: 'method',
    code: '000103',
    breakIt: ({ parts }) => {
      parts.method = 'PUT'
    },
  },
  {
    name: 'HTTPS',
    code: '101008',
    breakIt: ({ parts }) => {
      parts.headers['X-Forwarded-Proto'] = undefined
    },
  },
  {
    name: 'media type',
    code: '000110',
    breakIt: ({ parts }) => {
      parts.headers['Content-Type'] = 'text/plain'
    },
  },
  {
    name: 'headers present',
    code: '000101',
    breakIt: ({ parts }) => {
      parts.headers['RT-RequestID'] = undefined
    },
  },
  {
    name: 'headers well formed',
    code: '000102',
    breakIt: ({ parts }) => {
      parts.headers['RT-Timestamp'] = Array(2).fill(String(parts.timestamp))
    },
  },
  {
    name: 'size',
    code: '000111',
    breakIt: ({ body }) => {
      body.size = 256 * 1024 + 1
    },
  },
  {
    name: 'AppKey',
    code: '101004',
    breakIt: ({ parts }) => {
      parts.appKey = 'nobody_at_all'
    },
  },
  {
    name: 'timestamp',
    code: '101001',
    breakIt: ({ parts }) => {
      parts.timestamp = Date.now() - 400_000
    },
  },
  {
    name: 'signature',
    code: '101003',
    breakIt: ({ parts }) => {
      parts.secret = 'another secret'
    },
  },
  {
    name: 'tenant active',
    code: '101005',
    breakIt: ({ dealer }) => suspendTenant(stage.node.deps, dealer.tenantId, OPERATOR),
  },
  {
    name: 'allowlist',
    code: '101002',
    async breakIt({ dealer }) {
      await changeSettings(stage.node.deps, dealer.tenantId, { ipAllowlist: ['203.0.113.1'] }, OPERATOR)
    },
  },
  {
    name: 'RequestID unused',
    code: '101006',
    async breakIt({ parts, dealer }) {
      await stage.node.deps.db.query({
        text: `insert into request_ids select $1, $2, extract(epoch from now())::int / 3600`,
        values: [dealer.tenantId, parts.requestId],
      })
    },
  },
  {
    name: 'QPS',
    code: '101007',
    async breakIt({ dealer }) {
      await stage.node.deps.db.query({
        text: `insert into qps_buckets values ($1, 0, 100, 1, 0, now() + interval '1 hour')`,
        values: [dealer.tenantId],
      })
    },
  },
  {
    name: 'JSON',
    code: '000104',
    breakIt: ({ body }) => {
      body.text = '[%'
    },
  },
  {
    name: 'parameters',
    code: '000108',
    breakIt: ({ body }) => {
      body.order.amounts = 1
    },
  },
  {
    name: 'business rules',
    code: '310241',
    breakIt: ({ body }) => {
      body.order.packageInfoList = [{ packageCode: 'NOTHING', count: 1 }]
    },
  },
]

/** A RequestID that is not sent cannot have been used. */
const IMPOSSIBLE = 'headers present + RequestID unused'

let callers = 0
/** Sends each request from its own address, because failures are limited by address. */
function forwarded() {
  callers += 1
  return { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': `198.51.${callers >> 8}.${callers & 255}` }
}

async function codeOf(broken: Check[]): Promise<string> {
  const order = { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
  const draft: Draft = {
    dealer: await addDealer(stage.node.deps),
    parts: { requestId: randomUUID(), timestamp: Date.now(), headers: forwarded() },
    body: { text: '%', order },
  }
  // From the last fault to the first, because a header is repeated in the form in which later faults left it.
  for (const check of broken.toReversed()) await check.breakIt(draft)
  const text = draft.body.text.replace('%', JSON.stringify(draft.body.order))
  const body = text.padEnd(draft.body.size ?? 0)
  return (await call(stage.proxied, draft.dealer, 'esim/order', { ...draft.parts, body })).code
}

describe('of two faults the earlier check is answered', () => {
  const pairs = CHECKS.flatMap((earlier, i) => CHECKS.slice(i + 1).map((later) => ({ earlier, later })))
  const possible = pairs.filter(({ earlier, later }) => `${earlier.name} + ${later.name}` !== IMPOSSIBLE)

  it('an order without a fault is placed, and each fault alone is answered', async () => {
    expect(await codeOf([])).toBe('000000')
    for (const check of CHECKS) expect([check.name, await codeOf([check])]).toEqual([check.name, check.code])
  })

  it.each(CHECKS.slice(1).map((later, i) => [`${CHECKS[i]!.name} before ${later.name}`, CHECKS[i]!, later] as const))(
    '%s',
    async (_, earlier, later) => expect(await codeOf([earlier, later])).toBe(earlier.code),
  )

  it('for any two checks that are not adjacent', async () => {
    for (const { earlier, later } of possible) {
      const names = `${earlier.name} before ${later.name}`
      expect([names, await codeOf([earlier, later])]).toEqual([names, earlier.code])
    }
  })

  it('for all checks together', async () => {
    for (let i = 0; i < CHECKS.length; i++) {
      const broken = CHECKS.slice(i).filter(({ name }) => i > 4 || name !== 'RequestID unused')
      expect([CHECKS[i]!.name, await codeOf(broken)]).toEqual([CHECKS[i]!.name, CHECKS[i]!.code])
    }
  })
})
