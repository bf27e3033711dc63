import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { suspendTenant } from '#tenants/change-tenant.ts'
import { createKey } from '#tenants/keys/manage-keys.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, type Dealer, type Node, OPERATOR, type RequestParts } from './api-node.ts'

/** A request under construction. Each fault breaks a different part, so that any two can be combined. */
interface Draft {
  dealer: Dealer
  parts: RequestParts & { headers: Record<string, string | string[] | undefined> }
  body: { text: string; order: Record<string, unknown>; size?: number }
}

interface Check {
  name: string
  /** The dealer API's code for the fault. */
  code: string
  breakIt(draft: Draft, node: Node): Promise<void> | void
}

/**
 * The order of the checks, contract §3. That of test operations, between the allowlist and the operation, is in
 * test/tenants/keys/key-operations.test.ts.
 */
const CHECKS: Check[] = [
  {
    name: 'route',
    code: '000109',
    breakIt: ({ parts }) => {
      parts.path = `${parts.path}/nothing`
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
    breakIt: ({ dealer }, node) => suspendTenant(node.deps, dealer.tenantId, OPERATOR),
  },
  {
    name: 'allowlist',
    code: '101002',
    async breakIt({ dealer }, node) {
      await changeSettings(node.deps, dealer.tenantId, { ipAllowlist: ['203.0.113.1'] }, OPERATOR)
    },
  },
  {
    name: 'operation',
    code: '101009',
    async breakIt(draft, { deps }) {
      const { tenantId } = draft.dealer
      draft.dealer = { tenantId, ...(await createKey(deps, tenantId, { label: 'reader' }, OPERATOR)) }
    },
  },
  {
    name: 'RequestID unused',
    code: '101006',
    async breakIt({ parts, dealer }, node) {
      await node.deps.db.query({
        text: `insert into request_ids select $1, $2, extract(epoch from now())::int / 3600`,
        values: [dealer.tenantId, parts.requestId],
      })
    },
  },
  {
    name: 'QPS',
    code: '101007',
    async breakIt({ dealer }, node) {
      await node.deps.db.query({
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
      body.order.amount = -1
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

/** A RequestID that is not sent cannot have been used before. */
const IMPOSSIBLE = 'headers present + RequestID unused'

/** An API with the checks of contract §3, whose requests use the path of an order. */
export interface CheckedApi {
  path: string
  node(): Node
  /** The code of this API that corresponds to one of the dealer API. */
  codeFor(code: string): string
  /** Sends the request. @returns its code, and a text that distinguishes answers with equal codes */
  send(draft: Draft, body: string): Promise<{ code: string; answer: string }>
}

export function describeOrderOfChecks(api: CheckedApi): void {
  let callers = 0
  /** Returns headers that make each request come from a different address, because failures are limited by address. */
  function forwarded() {
    callers += 1
    return { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': `198.51.${callers >> 8}.${callers & 255}` }
  }

  async function send(broken: Check[]) {
    const order = { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
    const draft: Draft = {
      dealer: await addDealer(api.node().deps),
      parts: { path: api.path, requestId: randomUUID(), timestamp: Date.now(), headers: forwarded() },
      body: { text: '%', order },
    }
    // From the last fault to the first, because a header is repeated in the form that later faults gave it.
    for (const check of broken.toReversed()) await check.breakIt(draft, api.node())
    const text = draft.body.text.replace('%', JSON.stringify(draft.body.order))
    return api.send(draft, text.padEnd(draft.body.size ?? 0))
  }

  /** The answer to each single fault; all of them differ. */
  const alone = new Map<Check, string>()
  async function expectFirst(broken: Check[]) {
    const [first] = broken as [Check]
    const names = broken.map(({ name }) => name).join(' before ')
    if (!alone.has(first)) alone.set(first, (await send([first])).answer)
    expect([names, (await send(broken)).answer]).toEqual([names, alone.get(first)])
  }

  describe('the order of checks', () => {
    const pairs = CHECKS.flatMap((earlier, i) => CHECKS.slice(i + 1).map((later) => ({ earlier, later })))
    const possible = pairs.filter(({ earlier, later }) => `${earlier.name} + ${later.name}` !== IMPOSSIBLE)

    it('lets an order without faults be placed, and reports each single fault in its own way', async () => {
      expect((await send([])).code).toBe(api.codeFor('000000'))
      for (const check of CHECKS) {
        const { code, answer } = await send([check])
        expect([check.name, code]).toEqual([check.name, api.codeFor(check.code)])
        alone.set(check, answer)
      }
      expect(new Set(alone.values()).size).toBe(CHECKS.length)
    })

    it.each(CHECKS.slice(1).map((later, i) => [`${CHECKS[i]!.name} before ${later.name}`, CHECKS[i]!, later] as const))(
      '%s',
      (_, earlier, later) => expectFirst([earlier, later]),
    )

    it('holds for any two checks that fail together', async () => {
      for (const { earlier, later } of possible) await expectFirst([earlier, later])
    })

    it('holds even if all checks fail together', async () => {
      for (let i = 0; i < CHECKS.length; i++) {
        await expectFirst(CHECKS.slice(i).filter(({ name }) => i > 4 || name !== 'RequestID unused'))
      }
    })
  })
}
