import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import type { FastifyRequest } from 'fastify'
import { findServedTwin, type ServedTwin } from '#operations/twins/served-twin.ts'
import { ACCESS_TOKEN_PREFIX, findAccessToken } from '#people/account/access-token.ts'
import { checkPasswordChosen, findPerson, isOperator, type Person } from '#people/person.ts'
import { checkSecondFactorSet } from '#people/second-factor/required-factor.ts'
import { findSession, notSignedIn } from '#people/session.ts'
import { BUYERS, type ConsoleDeps, type Route, type SignedIn } from './route.ts'

/** Identifies the calling person by the session cookie, or by the access token in `Authorization: Bearer`. */
export async function identify(
  deps: Pick<ConsoleDeps, 'db'>,
  request: FastifyRequest,
  cookieName: string,
): Promise<SignedIn | undefined> {
  const token = bearerToken(request)
  if (token !== undefined) return token.startsWith(ACCESS_TOKEN_PREFIX) ? identifyByToken(deps, token) : undefined
  const cookie = request.cookies[cookieName]
  if (!cookie) return undefined
  const session = await findSession(deps.db, cookie, { prolong: request.headers[UNATTENDED] === undefined })
  const person = session && (await findPerson(deps.db, session.personId))
  if (!session || person?.status !== 'ACTIVE') return undefined
  const { sessionId, signedInBy, viewedTenantId } = session
  return { person, credential: { kind: 'session', sessionId, signedInBy }, viewedTenantId }
}

/** Set by the console's pages on automatic refreshes while nobody uses the page. */
const UNATTENDED = 'x-unattended'

/**
 * Lets the person through or throws. Checks, in this order: signed in, own password chosen, second factor set up if the
 * role requires one, read-only while the person views the console as a dealer, session where the route requires one, role,
 * the token's scope, and the tenant in the path.
 * @returns the person as whom the route is called
 */
export function authorize(route: Route, signedIn: SignedIn | undefined, params: unknown): SignedIn {
  if (!signedIn) throw notSignedIn()
  const { credential, viewedTenantId } = signedIn
  if (!route.duringSetUp) {
    checkPasswordChosen(signedIn.person)
    checkSecondFactorSet(signedIn.person, { byProvider: isByProvider(credential) })
  }
  if (viewedTenantId !== null && route.method !== 'GET' && !route.duringView) throw viewOnly()
  const person = viewedTenantId === null ? signedIn.person : asDealer(signedIn.person, viewedTenantId)
  const sessionOnly = route.access === 'session' || route.sessionOnly === true
  if (sessionOnly && credential.kind !== 'session')
    throw new Refusal(403, 'SESSION_NEEDED', 'Access tokens cannot do this. Sign in to the console.')
  if (Array.isArray(route.access) && !route.access.includes(person.role))
    throw new Refusal(403, 'NOT_ALLOWED', 'Your role does not allow this. Ask an administrator.')
  if (credential.kind === 'token' && credential.scope === 'READ' && route.method !== 'GET')
    throw new Refusal(403, 'TOKEN_READ_ONLY', 'This access token is read-only. Use one with the scope WRITE.')
  const { tenantId } = (params ?? {}) as { tenantId?: string }
  if (tenantId !== undefined && !isOperator(person.role) && tenantId !== person.tenantId) throw notFound('tenant')
  return { ...signedIn, person }
}

/**
 * The one place where a request is turned to the dealer's test twin: its dependencies, so its schema, and its id in the path.
 * Lists of the twin link with its own id, so either id is accepted.
 * @throws Refusal for operators, for routes that are not part of test mode, and if the dealer has no twin
 */
export async function enterTestMode(
  live: ConsoleDeps,
  route: Route,
  { person }: SignedIn,
  params: unknown,
): Promise<ServedTwin> {
  if (person.tenantId === null)
    throw new Refusal(403, 'TEST_MODE_OF_DEALERS', 'Test mode shows a dealer its test twin. Use View as dealer.')
  if (route.testMode === undefined)
    throw new Refusal(409, 'NOT_IN_TEST_MODE', 'This is not part of test mode. Switch test mode off, and try again.')
  const twin = await findServedTwin(live, person.tenantId)
  if (twin === undefined)
    throw new Refusal(409, 'NO_TWIN', 'Your account has no test twin yet. An administrator can create it.')
  if (route.access === BUYERS && twin.status !== 'ACTIVE') throw new ApiError('101005')
  const named = (params ?? {}) as { tenantId?: string }
  if (named.tenantId !== undefined) {
    if (named.tenantId !== person.tenantId && named.tenantId !== twin.tenantId) throw notFound('tenant')
    named.tenantId = twin.tenantId
  }
  return twin
}

/** Refuses what exists in test mode only. */
export function requireTestMode(route: Route): void {
  if (route.testMode === 'TWIN_ONLY')
    throw new Refusal(409, 'ONLY_IN_TEST_MODE', 'This is part of test mode. Switch test mode on, and try again.')
}

/** The person with the rights of a dealer's administrator, and none of the operator's. */
function asDealer(person: Person, tenantId: string): Person {
  return { ...person, role: 'DEALER_ADMIN', tenantId }
}

/** Refuses a change by an operator who views the console as a dealer. */
export function viewOnly(): Refusal {
  const message = 'You are viewing the console as this dealer and cannot change anything. End the view first.'
  return new Refusal(403, 'VIEW_ONLY', message)
}

export function isByProvider(credential: SignedIn['credential']): boolean {
  return credential.kind === 'session' && credential.signedInBy === 'PROVIDER'
}

async function identifyByToken(deps: Pick<ConsoleDeps, 'db'>, token: string): Promise<SignedIn | undefined> {
  const found = await findAccessToken(deps.db, token)
  const person = found && (await findPerson(deps.db, found.personId))
  if (!found || person?.status !== 'ACTIVE') return undefined
  return { person, credential: { kind: 'token', tokenId: found.tokenId, scope: found.scope }, viewedTenantId: null }
}

export interface AllowedOrigins {
  /** Origins whose pages may make changes: PUBLIC_URL's and that of the console's own address. */
  origins: readonly string[]
  /** On a local deployment, pages under every loopback name of this machine may make changes too. */
  loopback: boolean
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
const READ_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses changes requested by a page of another site. Browsers always send `Origin` with a change, and no page can forge
 * it. Requests with an access token are exempt, because no browser adds one on its own. Other Authorization headers do not
 * count: browsers add a proxy's automatically.
 */
export function checkOrigin(options: AllowedOrigins, request: FastifyRequest): void {
  if (READ_METHODS.has(request.method) || bearerToken(request) !== undefined) return
  const { origin, host } = request.headers
  if (origin !== undefined && options.origins.includes(origin)) return
  // A local console is served under every name of this machine, on its own port.
  if (options.loopback && origin !== undefined && URL.canParse(origin)) {
    const url = new URL(origin)
    if (LOOPBACK.has(url.hostname) && url.host === host) return
  }
  throw new Refusal(403, 'FOREIGN_ORIGIN', 'A page at this address may not change anything. Open the console itself.')
}

/** The token of `Authorization: Bearer`, if there is one. */
function bearerToken(request: FastifyRequest): string | undefined {
  return /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
}
