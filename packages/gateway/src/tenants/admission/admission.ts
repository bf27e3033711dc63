import { hash, timingSafeEqual } from 'node:crypto'
import { CLOCK_WINDOW_MS, type RequestHeaders, stringToSign, TEST_OPERATION_PREFIX } from '@dealer-esim/contract'
import { verifyRequest } from '@dealer-esim/contract/node'
import { ApiError, tooManyRequests } from '@dealer-esim/lib/api-error.ts'
import type { Batcher } from '@dealer-esim/lib/batch.ts'
import type { DatabaseClock } from '@dealer-esim/lib/clock.ts'
import { isAttemptId } from '#platform/attempt-id.ts'
import type { Config } from '#platform/config/config.ts'
import { acceptsUnsigned, allows } from '../allowlist.ts'
import { getPreparedSecret, type RestrictedKey, type ServingNode, type Tenant, type TenantSecret } from '../tenant.ts'
import { mayUseTestOperations } from '../test-access.ts'
import type { AdmissionInput, AdmissionResult } from './admit-batch.ts'
import type { FailureLimit } from './failure-limit.ts'
import { type TwinAdmission, unknownAppKey } from './twin-admission.ts'

export interface SignedRequest {
  headers: RequestHeaders
  body: Buffer
  /** The caller's address in canonical form. */
  address: string
  /** The dealer API operations that it stands for. A restricted key must be allowed to call all of them. */
  operations: readonly string[]
  /** The UUID as which the RequestID is spent, if it is in a form of the RT API (docs/decisions/0033). */
  spentAs?: string
}

/** An RT API request without a signature. The gateway creates its RequestID and timestamp. */
export interface UnsignedRequest {
  headers: Pick<RequestHeaders, 'appKey' | 'requestId' | 'timestamp'>
  /** The caller's address in canonical form. */
  address: string
  /** The AppSecret itself, if the request contains it. Never logged. */
  secretKey?: string
}

export interface AdmissionDeps {
  tenantCache: TenantCache
  batches: Batcher<AdmissionInput, AdmissionResult>
  failures: FailureLimit
  databaseClock: DatabaseClock
  deployment: Config['deployment']
  /** True on local and test gateways, whose answers show what should have been signed. */
  revealsStringToSign: boolean
  defaultQpsLimit: number
  /** No tenant has more, whatever its settings. Absent: no such limit. */
  qpsLimitMax?: number | undefined
  /** The key that recognises the RequestIDs of the gateway's own attempts to send events. */
  linkKey: Buffer
  /** Called for the first request signed with a secret: from then on, that secret signs events. */
  onSecretProven(tenant: Tenant, secret: TenantSecret): void
  /** What is known about test twins; only in their own admission. */
  twins?: TwinAdmission
  /** Called at each admitted request that a restricted key signed. */
  onKeyUsed(tenant: Tenant, key: RestrictedKey): void
}

/**
 * Thrown if only another cell may serve the tenant, which has moved there or has not arrived from there yet (cells/move). If
 * the request cannot be forwarded, the answer is 000002.
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

/** The sender of a request, as far as this node knows. `admit` finds out whether that is still up to date. */
export interface Authenticated {
  tenant: Tenant
  /** Absent for a request that is neither signed nor contains a secret. */
  secretId?: string
}

export interface Admitted {
  tenant: Tenant
  /** The catalogue's version when the request was admitted. */
  catalogueVersion: bigint
}

/**
 * The checks from "AppKey known" to "address" (contract §3), of test operations and of a restricted key's operations, in their
 * order. A refusal is answered only after reading the tenant again, because the cached tenant may be outdated.
 * @throws ApiError 101001 to 101005, 000109, 101009; 101007 for an address that failed too often; 000002 while the tenant changes its cell;
 * ServedElsewhere
 */
export async function authenticate(deps: AdmissionDeps, request: SignedRequest): Promise<Authenticated> {
  const readFirst = () => deps.failures.attempt(request.address, () => authenticateAfterReading(deps, request))
  return authenticateFromCache(deps, request) ?? (await readFirst())
}

/**
 * Authenticates a request without a signature. It is accepted only while the operator's switch, a narrow allowlist
 * containing the caller's address, and a daily spend limit are all set; if it contains a secret, that must be the tenant's.
 * A caller at another address gets the same answer as if the switch were off.
 * @throws ApiError 000101, 101003, 101005; 000002 while the tenant is moving to another cell; ServedElsewhere
 */
export async function authenticateUnsigned(deps: AdmissionDeps, request: UnsignedRequest): Promise<Authenticated> {
  const { headers, address } = request
  const tenant = deps.tenantCache.get(headers.appKey)
  if (tenant?.status === 'ACTIVE' && tenant.key === null && acceptsUnsigned(tenant, address)) {
    const nowMs = deps.databaseClock.now()
    const carried = checkSecretKey(request, tenant, nowMs)
    if (carried && !isFenced(tenant, nowMs)) return { tenant, ...carried }
  }
  return deps.failures
    .attempt(address, () => authenticateUnsignedAfterReading(deps, request))
    .catch((error) => {
      throw error instanceof ApiError && error.code === '101007' ? unsignedRefusal(request) : error
    })
}

/** @throws ApiError 000101, 101003, 101005 */
async function authenticateUnsignedAfterReading(deps: AdmissionDeps, request: UnsignedRequest): Promise<Authenticated> {
  const tenant = await deps.tenantCache.reload(request.headers.appKey)
  if (tenant?.servedBy) throw new ServedElsewhere(tenant.servedBy)
  // A restricted key always signs, whatever the operator's switch.
  if (!tenant || tenant.key !== null || !acceptsUnsigned(tenant, request.address)) throw unsignedRefusal(request)
  const nowMs = deps.databaseClock.now()
  const carried = checkSecretKey(request, tenant, nowMs)
  if (!carried) throw new ApiError('101003', { message: WRONG_SECRET })
  if (tenant.status !== 'ACTIVE') throw new ApiError('101005')
  if (isFenced(tenant, nowMs)) throw new ApiError('000002', BEING_MOVED)
  return { tenant, ...carried }
}

const WRONG_SECRET = 'RT-SecretKey is not the AppSecret of this account. Send its AppSecret, or sign the request.'

/**
 * Compares the secret in a request with the tenant's. All digests are compared, so that the time reveals nothing about a
 * secret or its length.
 * @returns undefined if it does not match
 */
function checkSecretKey(
  { secretKey }: UnsignedRequest,
  tenant: Tenant,
  nowMs: number,
): { secretId?: string } | undefined {
  if (secretKey === undefined) return {}
  const digest = (text: string) => hash('sha256', text, 'buffer')
  const given = digest(secretKey)
  const [equal] = tenant.secrets.filter(
    (candidate) => timingSafeEqual(given, digest(candidate.secret)) && isLive(candidate, nowMs),
  )
  return equal && { secretId: equal.secretId }
}

function unsignedRefusal({ secretKey }: UnsignedRequest): ApiError {
  const missing = secretKey === undefined ? ['RT-RequestID', 'RT-Timestamp', 'RT-Signature'] : ['RT-Signature']
  return new ApiError('000101', {
    details: missing.map((field) => ({ field, reason: 'Missing: add it and sign the request.' })),
  })
}

/**
 * The tenant and its secret may change while a request is being checked. More consecutive changes than this cannot be a
 * coincidence.
 */
const ROUNDS_MAX = 5

/**
 * Makes the remaining checks: RequestID and QPS, and all the earlier ones again if the cached tenant turns out to be
 * outdated.
 * @throws ApiError 101001 to 101007; 000002 under overload; ServedElsewhere
 */
export async function admit(
  deps: AdmissionDeps,
  request: SignedRequest | UnsignedRequest,
  authenticated: Authenticated,
): Promise<Admitted> {
  const requestId = ('spentAs' in request && request.spentAs) || request.headers.requestId
  if (isAttemptId(deps.linkKey, requestId)) throw new ApiError('101006')
  await checkStanding(deps, authenticated)
  let current = authenticated
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const { tenant, secretId } = current
    const result = await deps.batches.add({
      tenantId: tenant.tenantId,
      requestId,
      timestampMs: Number(request.headers.timestamp),
      version: tenant.version,
    })
    // The secret has signed a request, whether or not that request is admitted.
    if (result.verdict !== 'stale') noteFirstUse(deps, tenant, secretId)
    switch (result.verdict) {
      case 'admitted':
        if (deps.twins?.takeRequest() === false) throw tooManyRequests({ limit: deps.twins.qpsLimit, waitS: 1 })
        if (tenant.key !== null) deps.onKeyUsed(tenant, tenant.key)
        return { tenant, catalogueVersion: result.catalogueVersion }
      case 'used':
        throw new ApiError('101006')
      case 'over-qps':
        throw tooManyRequests({ limit: qpsLimitOf(deps, tenant), waitS: 1 })
      case 'stale':
        // Does not count against the caller's address: the credentials were valid a moment ago.
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

function qpsLimitOf({ defaultQpsLimit, qpsLimitMax }: AdmissionDeps, { qpsLimit }: Tenant): number {
  return Math.min(qpsLimit ?? defaultQpsLimit, qpsLimitMax ?? Number.POSITIVE_INFINITY)
}

/** A cached twin says nothing about its live dealer, who may have been suspended since. @throws ApiError 101005 */
async function checkStanding({ twins }: AdmissionDeps, { tenant }: Authenticated): Promise<void> {
  if (twins && (await twins.withStanding(tenant)).status !== 'ACTIVE') throw new ApiError('101005')
}

/**
 * Refuses everything of a dealer in recovery (operations/recovery): an answer would be of the time of the backup. Orders and
 * top-ups go on to where they are placed, which refuses them too and remembers their transactionIds.
 * @throws ApiError 000002
 */
export function refuseInRecovery({ tenant }: Admitted, operation: string): void {
  if (tenant.isInRecovery && operation !== 'esim/order' && operation !== 'esim/topup') {
    throw new ApiError('000002', { message: IN_RECOVERY })
  }
}

const IN_RECOVERY =
  'The service is being restored from a backup: nothing happened. Repeat the request later, with a new RT-RequestID.'

/** @throws ApiError 101001, which depends on the clock and not on the cache. @returns undefined: read the tenant first */
function authenticateFromCache(deps: AdmissionDeps, request: SignedRequest): Authenticated | undefined {
  const tenant = deps.tenantCache.get(request.headers.appKey)
  if (!tenant) return undefined
  const checked = checkRequest(deps, request, tenant)
  if (checked.ok) return { tenant, secretId: checked.secretId }
  if (checked.code === '101001') throw refusal(deps, request, checked.code, tenant)
  return undefined
}

/** @throws ApiError 101001 to 101005 */
async function authenticateAfterReading(deps: AdmissionDeps, request: SignedRequest): Promise<Authenticated> {
  const tenant = await deps.tenantCache.reload(request.headers.appKey)
  if (!tenant) throw unknownAppKey(request.headers.appKey)
  // Checked first, because this cell's copy of the tenant's secrets and settings may be outdated.
  if (tenant.servedBy) throw new ServedElsewhere(tenant.servedBy)
  const checked = checkRequest(deps, request, tenant)
  if (!checked.ok) throw refusal(deps, request, checked.code, tenant)
  return { tenant, secretId: checked.secretId }
}

type Checked =
  | { ok: true; secretId: string }
  | { ok: false; code: '101004' | '101001' | '101003' | '101005' | '101002' | '000109' | '101009' | '000002' }

/** Makes the checks from the timestamp to the allowlist (contract §3), against the tenant as this node knows it. */
export function checkRequest(
  {
    databaseClock,
    deployment,
    twins,
  }: Pick<AdmissionDeps, 'deployment' | 'twins'> & {
    databaseClock: Pick<DatabaseClock, 'now'>
  },
  request: SignedRequest,
  tenant: Tenant,
): Checked {
  const nowMs = databaseClock.now()
  const { headers, body } = request
  const { key } = tenant
  if (key !== null && key.expiresAtMs !== null && key.expiresAtMs <= nowMs) return { ok: false, code: '101004' }
  if (Math.abs(Number(headers.timestamp) - nowMs) > CLOCK_WINDOW_MS) return { ok: false, code: '101001' }
  const secret = tenant.secrets.find((candidate) => {
    return isLive(candidate, nowMs) && verifyRequest([getPreparedSecret(candidate)], headers, body) !== undefined
  })
  if (!secret) return { ok: false, code: '101003' }
  if (tenant.status !== 'ACTIVE') return { ok: false, code: '101005' }
  if (!allows(tenant.ipAllowlist, request.address)) return { ok: false, code: '101002' }
  if (key !== null && !allows(key.ipAllowlist, request.address)) return { ok: false, code: '101002' }
  if (isTestOperation(request) && !mayUseTestOperations(deployment, twins !== undefined))
    return { ok: false, code: '000109' }
  if (key !== null && forbiddenOperation(request, key) !== undefined) return { ok: false, code: '101009' }
  if (isFenced(tenant, nowMs)) return { ok: false, code: '000002' }
  return { ok: true, secretId: secret.secretId }
}

function isTestOperation({ operations }: SignedRequest): boolean {
  return operations.some((operation) => operation.startsWith(TEST_OPERATION_PREFIX))
}

/** The first operation of the request that the key may not call. */
function forbiddenOperation({ operations }: SignedRequest, { operations: allowed }: RestrictedKey): string | undefined {
  return operations.find((operation) => !allowed.includes(operation))
}

function isLive({ validUntilMs }: TenantSecret, nowMs: number): boolean {
  return validUntilMs === null || validUntilMs > nowMs
}

/**
 * True while a move to another cell copies the tenant's last changes, and after the move has ended (cells/move). The fence
 * increments the tenant's version, so admission refuses requests that were checked earlier. Requests that were already
 * admitted are refused by the triggers on the tables that they write to.
 */
function isFenced({ fencedUntilMs }: Tenant, nowMs: number): boolean {
  return fencedUntilMs !== null && fencedUntilMs > nowMs
}

type RefusalCode = Extract<Checked, { ok: false }>['code']

function refusal(deps: AdmissionDeps, request: SignedRequest, code: RefusalCode, { key }: Tenant): ApiError {
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
    case '101009':
      return new ApiError(code, { data: { operation: key && forbiddenOperation(request, key) } })
    case '000109':
    case '101004':
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
 * Credentials and settings, decrypted, as this node last read them. They may be outdated: every request states the version
 * against which it was checked, and admission refuses an outdated one (admit-batch.ts), so a reset or a suspension applies
 * immediately.
 */
export interface TenantCache {
  get(appKey: string): Tenant | undefined
  /**
   * Reads the tenant again, with a read that begins after the call. Only one read per AppKey runs at a time, and all calls
   * made during it share the next one, so a flood of requests for one tenant causes at most two reads at a time.
   * @returns undefined if there is no such AppKey
   */
  reload(appKey: string): Promise<Tenant | undefined>
}

const TENANTS_MAX = 50_000

export function createTenantCache(load: (appKey: string) => Promise<Tenant | undefined>): TenantCache {
  const tenants = new Map<string, Tenant>()
  const running = new Map<string, Promise<void>>()
  const next = new Map<string, Promise<Tenant | undefined>>()

  async function read(appKey: string): Promise<Tenant | undefined> {
    // The read in progress may have missed the change that caused this call, so a new one follows it.
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
      next.set(appKey, reading) // it begins in a later turn of the event loop
      return reading
    },
  }
}

const NOTHING = () => {}
