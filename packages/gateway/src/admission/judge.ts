import { CLOCK_WINDOW_MS, type RequestHeaders } from '@dealer-esim/contract'
import { verifyRequest } from '@dealer-esim/contract/node'
import { allows } from '../tenants/allowlist.ts'
import type { Tenant } from '../tenants/load.ts'
import { prepared } from '../tenants/prepared-secret.ts'

export interface SignedRequest {
  headers: RequestHeaders
  body: Buffer
  /** The caller's, canonical. */
  address: string
}

/** What the checks from the timestamp to the allowlist say (contract §3), by what a node knows of the tenant. */
export type Judgement = { ok: true; secretId: string } | { ok: false; code: '101001' | '101003' | '101005' | '101002' }

export function judge(request: SignedRequest, tenant: Tenant, nowMs: number): Judgement {
  if (!inWindow(request.headers.timestamp, nowMs)) return { ok: false, code: '101001' }
  const { headers, body } = request
  const secret = tenant.secrets.find((candidate) => {
    const isLive = candidate.validUntilMs === null || candidate.validUntilMs > nowMs
    return isLive && verifyRequest([prepared(candidate)], headers, body) !== undefined
  })
  if (!secret) return { ok: false, code: '101003' }
  if (tenant.status !== 'ACTIVE') return { ok: false, code: '101005' }
  if (!allows(tenant.ipAllowlist, request.address)) return { ok: false, code: '101002' }
  return { ok: true, secretId: secret.secretId }
}

function inWindow(timestamp: string, nowMs: number): boolean {
  return Math.abs(Number(timestamp) - nowMs) <= CLOCK_WINDOW_MS
}
