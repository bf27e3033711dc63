import { CLOCK_WINDOW_MS, type RequestHeaders, stringToSign } from '@dealer-esim/contract'
import { verifyRequest } from '@dealer-esim/contract/node'
import { isAttemptId } from '../events/attempt-id.ts'
import { ApiError, tooManyRequests } from '../lib/api-error.ts'
import type { Batcher } from '../lib/batch.ts'
import type { DatabaseClock } from '../lib/clock.ts'
import { acceptsUnsigned, allows } from '../tenants/allowlist.ts'
import { getPreparedSecret, type ServingNode, type Tenant, type TenantSecret } from '../tenants/tenant.ts'
import type { AdmissionInput, AdmissionResult } from './admit-batch.ts'
import type { FailureLimit } from './failure-limit.ts'

export interface SignedRequest {
  headers: RequestHeaders
  body: Buffer
  /** The caller's, canonical. */
  address: string
}

/** A request of the compatible API with nothing but an AppKey. It gets a RequestID and a timestamp of ours. */
export interface UnsignedRequest {
  headers: Pick<RequestHeaders, 'appKey' | 'requestId' | 'timestamp'>
  /** The caller's, canonical. */
  address: string
}

export interface AdmissionDeps {
  tenantCache: TenantCache
  batches: Batcher<AdmissionInput, AdmissionResult>
  failures: FailureLimit
  databaseClock: DatabaseClock
  /** Local and test gateways reveal what should have been signed. */
  revealsStringToSign: boolean
  defaultQpsLimit: number
  /** Authenticates the RequestIDs of our own attempts to send events. */
  linkKey: Buffer
  /** Called at the first request under a secret: events are signed with it from then on. */
  onSecretProven(tenant: Tenant, secret: TenantSecret): void
}

/**
 * Only another cell may serve the tenant, which has moved there or has not arrived from there yet (cells/move). Where the
 * request cannot be forwarded, the answer is 000002.
 */
export class ServedElsewhere extends ApiError {
  readonly nodes: readonly ServingNode[]
  constructor(nodes: readonly ServingNode[]) {
    super('000002', BEING_MOVED)
    this.nodes = nodes
  }
}

const BEING_MOVED = {
  message:
    'This account is being moved to another server: send the request again in a second, with a new RT-RequestID.',
}

/** Whose request it is, as far as this node knows: `admit` finds out whether that is still current. */
export interface Authenticated {
  tenant: Tenant
  /** Absent for an unsigned request. */
  secretId?: string
}

export interface Admitted {
  tenant: Tenant
  /** The catalogue's version when the request was admitted. */
  catalogueVersion: bigint
}

/**
 * The checks from "AppKey known" to "address" (contract §3), in their order. A refusal is answered only after reading the
 * tenant again, because the cached tenant may be outdated.
 * @throws ApiError 101001 to 101005; 101007 for an address that failed too often; 000002 while the tenant changes its cell;
 * ServedElsewhere
 */
export async function authenticate(deps: AdmissionDeps, request: SignedRequest): Promise<Authenticated> {
  const readFirst = () => deps.failures.attempt(request.address, () => authenticateAfterReading(deps, request))
  return authenticateFromCache(deps, request) ?? (await readFirst())
}

/**
 * The same for a request without a signature: it is accepted only while the operator's switch, a narrow allowlist with the
 * caller's address and a daily spend limit all stand. From elsewhere the answer is that of a dealer without the switch.
 * @throws ApiError 000101, 101005; 000002 while the tenant changes its cell; ServedElsewhere
 */
export async function authenticateUnsigned(deps: AdmissionDeps, request: UnsignedRequest): Promise<Authenticated> {
  const { headers, address } = request
  const tenant = deps.tenantCache.get(headers.appKey)
  const isAccepted = tenant?.status === 'ACTIVE' && acceptsUnsigned(tenant, address)
  if (isAccepted && !isFenced(tenant, deps.databaseClock.now())) return { tenant }
  return deps.failures
    .attempt(address, () => authenticateUnsignedAfterReading(deps, request))
    .catch((error) => {
      throw error instanceof ApiError && error.code === '101007' ? unsignedRefusal() : error
    })
}

/** @throws ApiError 000101, 101005 */
async function authenticateUnsignedAfterReading(
  deps: AdmissionDeps,
  { headers, address }: UnsignedRequest,
): Promise<Authenticated> {
  const tenant = await deps.tenantCache.reload(headers.appKey)
  if (tenant?.servedBy) throw new ServedElsewhere(tenant.servedBy)
  if (!tenant || !acceptsUnsigned(tenant, address)) throw unsignedRefusal()
  if (tenant.status !== 'ACTIVE') throw new ApiError('101005')
  if (isFenced(tenant, deps.databaseClock.now())) throw new ApiError('000002', BEING_MOVED)
  return { tenant }
}

function unsignedRefusal(): ApiError {
  const missing = ['RT-RequestID', 'RT-Timestamp', 'RT-Signature']
  return new ApiError('000101', {
    details: missing.map((field) => ({ field, reason: 'Missing: add it and sign the request.' })),
  })
}

/** Tenant and secret may change while a request is checked; more often than this in a row is no coincidence. */
const ROUNDS_MAX = 5

/**
 * The remaining checks: RequestID and QPS, and all of them again where the cached tenant turns out to be outdated.
 * @throws ApiError 101001 to 101007; 000002 under overload; ServedElsewhere
 */
export async function admit(
  deps: AdmissionDeps,
  request: SignedRequest | UnsignedRequest,
  authenticated: Authenticated,
): Promise<Admitted> {
  if (isAttemptId(deps.linkKey, request.headers.requestId)) throw new ApiError('101006')
  let current = authenticated
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const { tenant, secretId } = current
    const result = await deps.batches.add({
      tenantId: tenant.tenantId,
      requestId: request.headers.requestId,
      timestampMs: Number(request.headers.timestamp),
      version: tenant.version,
    })
    // The request was signed with that secret, whether or not it is admitted.
    if (result.verdict !== 'stale') noteFirstUse(deps, tenant, secretId)
    switch (result.verdict) {
      case 'admitted':
        return { tenant, catalogueVersion: result.catalogueVersion }
      case 'used':
        throw new ApiError('101006')
      case 'over-qps':
        throw tooManyRequests({ limit: tenant.qpsLimit ?? deps.defaultQpsLimit, waitS: 1 })
      case 'stale':
        // Does not count against the caller's address: the signature was valid a moment ago.
        current =
          'body' in request
            ? await authenticateAfterReading(deps, request)
            : await authenticateUnsignedAfterReading(deps, request)
        break
      default:
        return result.verdict satisfies never
    }
  }
  throw new ApiError('000002')
}

/** @throws ApiError 101001, which depends on the clock and not on the cache. @returns undefined: read the tenant first */
function authenticateFromCache(deps: AdmissionDeps, request: SignedRequest): Authenticated | undefined {
  const tenant = deps.tenantCache.get(request.headers.appKey)
  if (!tenant) return undefined
  const checked = checkRequest(request, tenant, deps.databaseClock.now())
  if (checked.ok) return { tenant, secretId: checked.secretId }
  if (checked.code === '101001') throw refusal(deps, request, checked.code)
  return undefined
}

/** @throws ApiError 101001 to 101005 */
async function authenticateAfterReading(deps: AdmissionDeps, request: SignedRequest): Promise<Authenticated> {
  const tenant = await deps.tenantCache.reload(request.headers.appKey)
  if (!tenant) throw new ApiError('101004')
  // First, because this cell's copy of the tenant's secrets and settings may be outdated.
  if (tenant.servedBy) throw new ServedElsewhere(tenant.servedBy)
  const checked = checkRequest(request, tenant, deps.databaseClock.now())
  if (!checked.ok) throw refusal(deps, request, checked.code)
  return { tenant, secretId: checked.secretId }
}

type Checked =
  | { ok: true; secretId: string }
  | { ok: false; code: '101001' | '101003' | '101005' | '101002' | '000002' }

/** The checks from the timestamp to the allowlist (contract §3), against the tenant as this node knows it. */
export function checkRequest(request: SignedRequest, tenant: Tenant, nowMs: number): Checked {
  const { headers, body } = request
  if (Math.abs(Number(headers.timestamp) - nowMs) > CLOCK_WINDOW_MS) return { ok: false, code: '101001' }
  const secret = tenant.secrets.find((candidate) => {
    const isLive = candidate.validUntilMs === null || candidate.validUntilMs > nowMs
    return isLive && verifyRequest([getPreparedSecret(candidate)], headers, body) !== undefined
  })
  if (!secret) return { ok: false, code: '101003' }
  if (tenant.status !== 'ACTIVE') return { ok: false, code: '101005' }
  if (!allows(tenant.ipAllowlist, request.address)) return { ok: false, code: '101002' }
  if (isFenced(tenant, nowMs)) return { ok: false, code: '000002' }
  return { ok: true, secretId: secret.secretId }
}

/**
 * A move to another cell has the tenant's last changes copied now, or has ended (cells/move). The fence increments the
 * tenant's version, so that admission refuses what was checked before. What it had already admitted is refused by the
 * trigger of the tables that it writes.
 */
function isFenced({ fencedUntilMs }: Tenant, nowMs: number): boolean {
  return fencedUntilMs !== null && fencedUntilMs > nowMs
}

type RefusalCode = Extract<Checked, { ok: false }>['code']

function refusal(deps: AdmissionDeps, request: SignedRequest, code: RefusalCode): ApiError {
  switch (code) {
    case '101001':
      return new ApiError(code, { data: { serverTime: new Date(deps.databaseClock.now()).toISOString() } })
    case '101002':
      return new ApiError(code, { data: { address: request.address } })
    case '101003': {
      if (!deps.revealsStringToSign) return new ApiError(code)
      const text = Buffer.from(stringToSign(request.headers, request.body)).toString('utf8')
      return new ApiError(code, { data: { stringToSign: text } })
    }
    case '101005':
      return new ApiError(code)
    case '000002':
      return new ApiError(code, BEING_MOVED)
    default:
      return code satisfies never
  }
}

function noteFirstUse(deps: AdmissionDeps, tenant: Tenant, secretId: string | undefined): void {
  const secret = tenant.secrets.find((candidate) => candidate.secretId === secretId)
  if (!secret || secret.provenAtMs !== null) return
  secret.provenAtMs = deps.databaseClock.now()
  deps.onSecretProven(tenant, secret)
}

/**
 * Credentials and settings, decrypted, as this node last read them. They may be outdated: every request names the version
 * that it was checked against, and admission refuses an outdated one (admit-batch.ts), so a reset or a suspension applies
 * at once.
 */
export interface TenantCache {
  get(appKey: string): Tenant | undefined
  /**
   * Reads the tenant again, by a read that begins after the call. One read per AppKey runs at a time, and all calls in the
   * meantime share the next one, so that a flood for one tenant costs two reads at any time.
   * @returns undefined where there is no such AppKey
   */
  reload(appKey: string): Promise<Tenant | undefined>
}

const TENANTS_MAX = 50_000

export function createTenantCache(load: (appKey: string) => Promise<Tenant | undefined>): TenantCache {
  const tenants = new Map<string, Tenant>()
  const running = new Map<string, Promise<void>>()
  const next = new Map<string, Promise<Tenant | undefined>>()

  async function read(appKey: string): Promise<Tenant | undefined> {
    // The running read may have missed the change that caused this call, so a new one begins when it has ended.
    await running.get(appKey)
    next.delete(appKey)
    const reading = load(appKey)
    const ended = reading.then(NOTHING, NOTHING)
    running.set(appKey, ended)
    void ended.then(() => running.get(appKey) === ended && running.delete(appKey))
    const tenant = await reading
    tenants.delete(appKey)
    if (tenant) tenants.set(appKey, tenant)
    if (tenants.size > TENANTS_MAX) tenants.delete(tenants.keys().next().value as string)
    return tenant
  }

  return {
    get: (appKey) => tenants.get(appKey),
    reload(appKey) {
      const reading = next.get(appKey) ?? read(appKey)
      next.set(appKey, reading) // it begins in a later turn
      return reading
    },
  }
}

const NOTHING = () => {}
