import { stringToSign } from '@dealer-esim/contract'
import { ApiError, tooManyRequests } from '../lib/api-error.ts'
import type { Batcher } from '../lib/batch.ts'
import type { DatabaseClock } from '../lib/clock.ts'
import type { Tenant, TenantSecret } from '../tenants/load.ts'
import type { Entered, Entry } from './enter.ts'
import type { FailureLimit } from './failures.ts'
import { type Judgement, judge, type SignedRequest } from './judge.ts'
import type { KnownTenants } from './known-tenants.ts'

export interface Admitted {
  tenant: Tenant
  /** Of the catalogue, current when the request was admitted. */
  catalogueVersion: bigint
}

export interface AdmissionDeps {
  known: KnownTenants
  entrance: Batcher<Entry, Entered>
  failures: FailureLimit
  databaseClock: DatabaseClock
  /** Local and test gateways tell what should have been signed. */
  tellStringToSign: boolean
  defaultQpsLimit: number
  /** Hears of the first request under a secret: events are signed with it from then on. */
  onSecretProven(tenant: Tenant, secret: TenantSecret): void
}

/** Versions may change while a request is judged; more often than this in a row is no coincidence. */
const ROUNDS_MAX = 5

/** Whose request it is, as far as this node knows: admission finds out whether that still holds. */
export interface Authenticated {
  tenant: Tenant
  secretId: string
}

/**
 * The checks from "AppKey known" to "address" (contract §3), in their order. A refusal that follows from what this node
 * remembers is given only after reading again: it may be the memory that is wrong.
 * @throws ApiError 101001 to 101005, 101007 for an address that failed too often.
 */
export async function authenticate(deps: AdmissionDeps, request: SignedRequest): Promise<Authenticated> {
  const readFirst = () => deps.failures.attempt(request.address, () => readAndJudge(deps, request))
  return judgeFromMemory(deps, request) ?? (await readFirst())
}

/**
 * What is left of the checks: RequestID and QPS, and all of them again where what was known turns out to be outdated.
 * @throws ApiError 101001 to 101007, or 000002 under overload.
 */
export async function admit(
  deps: AdmissionDeps,
  request: SignedRequest,
  authenticated: Authenticated,
): Promise<Admitted> {
  let judged = authenticated
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const { tenant, secretId } = judged
    const entered = await deps.entrance.add({
      tenantId: tenant.tenantId,
      requestId: request.headers.requestId,
      timestampMs: Number(request.headers.timestamp),
      version: tenant.version,
    })
    // It has arrived, signed by that secret, whether or not it is admitted.
    if (entered.verdict !== 'stale') noteFirstUse(deps, tenant, secretId)
    switch (entered.verdict) {
      case 'admitted':
        return { tenant, catalogueVersion: entered.catalogueVersion }
      case 'used':
        throw new ApiError('101006')
      case 'over-qps':
        throw tooManyRequests({ limit: tenant.qpsLimit ?? deps.defaultQpsLimit, waitS: 1 })
      case 'stale':
        // Its signature was good a moment ago: whatever else its address has done, it is no guess.
        judged = await readAndJudge(deps, request)
    }
  }
  throw new ApiError('000002')
}

/** @throws ApiError 101001, which is the clock's word and not the memory's. Undefined: read, and judge again. */
function judgeFromMemory(deps: AdmissionDeps, request: SignedRequest): Authenticated | undefined {
  const tenant = deps.known.get(request.headers.appKey)
  if (!tenant) return undefined
  const judgement = judge(request, tenant, deps.databaseClock.now())
  if (judgement.ok) return { tenant, secretId: judgement.secretId }
  if (judgement.code === '101001') throw refusal(deps, request, judgement.code)
  return undefined
}

/** @throws ApiError 101001 to 101005 */
async function readAndJudge(deps: AdmissionDeps, request: SignedRequest): Promise<Authenticated> {
  const tenant = await deps.known.reload(request.headers.appKey)
  if (!tenant) throw new ApiError('101004')
  const judgement = judge(request, tenant, deps.databaseClock.now())
  if (!judgement.ok) throw refusal(deps, request, judgement.code)
  return { tenant, secretId: judgement.secretId }
}

type RefusalCode = Extract<Judgement, { ok: false }>['code']

function refusal(deps: AdmissionDeps, request: SignedRequest, code: RefusalCode): ApiError {
  switch (code) {
    case '101001':
      return new ApiError(code, { data: { serverTime: new Date(deps.databaseClock.now()).toISOString() } })
    case '101002':
      return new ApiError(code, { data: { address: request.address } })
    case '101003': {
      if (!deps.tellStringToSign) return new ApiError(code)
      const text = Buffer.from(stringToSign(request.headers, request.body)).toString('utf8')
      return new ApiError(code, { data: { stringToSign: text } })
    }
    case '101005':
      return new ApiError(code)
    default:
      return code satisfies never
  }
}

function noteFirstUse(deps: AdmissionDeps, tenant: Tenant, secretId: string): void {
  const secret = tenant.secrets.find((candidate) => candidate.secretId === secretId)
  if (!secret || secret.provenAtMs !== null) return
  secret.provenAtMs = deps.databaseClock.now()
  deps.onSecretProven(tenant, secret)
}
