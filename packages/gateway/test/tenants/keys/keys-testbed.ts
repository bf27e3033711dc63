import { randomUUID } from 'node:crypto'
import { QPS_LIMIT_MAX } from '@dealer-esim/contract'
import type { Deps } from '#deps.ts'
import { resetSecret } from '#tenants/app-secret.ts'
import { suspendTenant } from '#tenants/change-tenant.ts'
import { ALLOWED_OPERATIONS, createKey, type KeyInput, revokeKey, setKey } from '#tenants/keys/manage-keys.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import {
  addDealer,
  addTwin,
  call,
  type Dealer,
  OPERATOR,
  type RequestParts,
  startNode,
} from '#test/harness/api-node.ts'
import { createTestDatabase } from '#test/harness/databases/database.ts'

const CALLERS = '198.51.100.0/24'
/** On the allowlists of what refuses all callers of a test. */
export const ELSEWHERE = '203.0.113.7'
export const DEALER_PATH = '/open-api/v1/'
export const RT_PATH = '/api/v1/open/'

export interface Sender {
  of: Dealer
  parts?: RequestParts
}

export type KeysTestbed = Awaited<ReturnType<typeof createKeysTestbed>>

/** A production gateway, and accounts and twins with keys of each kind. */
export async function createKeysTestbed() {
  const database = await createTestDatabase()
  const behindProxy = { PUBLIC_URL: 'https://esim.example.com', TRUSTED_PROXIES: '127.0.0.1' }
  const node = await startNode(database.url, { DEPLOYMENT: 'production', ...behindProxy })
  let callers = 0

  /**
   * Each call comes from a different address, because failures are limited by address.
   * @returns its code, which is null for the success of an RT API call, and its message
   */
  async function send(path: string, operation: string, { of, parts = {} }: Sender) {
    const address = `198.51.100.${(callers++ % 254) + 1}`
    const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': address, ...parts.headers }
    const signatureHeader = path === RT_PATH ? 'RT-Signature' : 'X-Signature'
    const { text } = await call(node, of, '', { signatureHeader, ...parts, path: path + operation, headers })
    const answer = JSON.parse(text)
    const [code, message] = path === RT_PATH ? [answer.errorCode, answer.errorMsg] : [answer.code, answer.message]
    return { code: code as string | null, message: String(message) }
  }

  const { deps } = node
  const account = async () => accountOf(deps, await addDealer(deps))
  const [live, suspended, elsewhere, unsigned] = [await account(), await account(), await account(), await account()]
  const [twin, suspendedTwin] = [await addTwin(deps, live.own), await addTwin(deps, suspended.own)]
  const twins = (await deps.twins.open())!
  const settings = { ipAllowlist: [CALLERS], dailySpendLimit: 10_000_000n, unsignedRequests: true }
  await changeSettings(deps, unsigned.own.tenantId, settings, OPERATOR)
  await changeSettings(deps, elsewhere.own.tenantId, { ipAllowlist: [ELSEWHERE] }, OPERATOR)
  await suspendTenant(deps, suspended.own.tenantId, OPERATOR)
  const [reset, resetLongAgo, usedRequestId] = [await addDealer(deps), await addDealer(deps), randomUUID()]
  await resetSecret(deps, reset.tenantId, { graceMs: 3_600_000 }, OPERATOR)
  await resetSecret(deps, resetLongAgo.tenantId, { graceMs: 1 }, OPERATOR)
  await send(DEALER_PATH, 'health', { of: live.own, parts: { requestId: usedRequestId } })
  return {
    ...{ send, live, suspended, elsewhere, unsigned, usedRequestId },
    /** Dealers with the secret that they had before a reset. */
    ...{ inGracePeriod: reset, afterGracePeriod: resetLongAgo },
    twin: await accountOf(twins, twin),
    suspendedTwin: await accountOf(twins, suspendedTwin),
    async close() {
      await node.stop()
      await database.drop()
    },
  }
}

async function accountOf(deps: Deps, own: Dealer) {
  const { tenantId } = own
  await changeSettings(deps, tenantId, { qpsLimit: QPS_LIMIT_MAX }, OPERATOR)
  const key = async (label: string, input: KeyInput = {}): Promise<Dealer> => {
    const made = await createKey(deps, tenantId, { label, operations: ALLOWED_OPERATIONS, ...input }, OPERATOR)
    return { tenantId, ...made }
  }
  const [one, revoked] = [await key('one'), await key('revoked')]
  await revokeKey(deps, tenantId, revoked.appKey, OPERATOR)
  const oneWith = async (operations: readonly string[]): Promise<Sender> => {
    await setKey(deps, tenantId, one.appKey, { operations }, OPERATOR)
    return { of: one }
  }
  return {
    ...{ own, revoked },
    all: await key('all'),
    byDefault: await key('by default', { operations: null }),
    expired: await key('expired', { expiresAt: new Date(Date.now() - 1_000) }),
    outside: await key('outside', { ipAllowlist: [ELSEWHERE] }),
    /** A key with those of these operations that a restricted key may have, or with `health`. */
    only(names: readonly string[]): Promise<Sender> {
      const allowed = ALLOWED_OPERATIONS.filter((name) => names.includes(name))
      return oneWith(allowed.length > 0 ? allowed : ['health'])
    },
    allBut: (name: string) => oneWith(ALLOWED_OPERATIONS.filter((other) => other !== name)),
  }
}
