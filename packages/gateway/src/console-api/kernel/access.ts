import type { FastifyRequest } from 'fastify'
import { notFound, Refusal } from '../../lib/refusal.ts'
import { ACCESS_TOKEN_PREFIX, accessTokenOf } from '../../people/access-token.ts'
import { isOperator, personById, requireOwnPassword } from '../../people/person.ts'
import { sessionOf, signedOut } from '../../people/session.ts'
import type { ConsoleDeps } from './route.ts'
import type { Route, SignedIn } from './route.ts'

/** Who calls: the holder of the session's cookie, or of the access token in `Authorization: Bearer`. */
export async function identify(
  deps: Pick<ConsoleDeps, 'db'>,
  request: FastifyRequest,
  cookieName: string,
): Promise<SignedIn | undefined> {
  const bearer = bearerOf(request)
  if (bearer !== undefined) return bearer.startsWith(ACCESS_TOKEN_PREFIX) ? byToken(deps, bearer) : undefined
  const cookie = request.cookies[cookieName]
  if (!cookie) return undefined
  const session = await sessionOf(deps.db, cookie, request.headers[UNATTENDED] === undefined)
  const person = session && (await personById(deps.db, session.personId))
  if (!session || person?.status !== 'ACTIVE') return undefined
  return { person, means: { kind: 'session', sessionId: session.sessionId } }
}

/** Set by the console's pages where nobody has touched them for a while, and they only keep themselves up to date. */
const UNATTENDED = 'x-unattended'

/** The token of `Authorization: Bearer`, if that is there. */
export function bearerOf(request: FastifyRequest): string | undefined {
  return /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
}

/**
 * Lets the person through or throws. In this order: signed in at all, password changed where it has to be, by a session
 * where only that will do, role, the token's scope, and the tenant in the path.
 */
export function authorize(route: Route, signedIn: SignedIn | undefined, params: unknown): SignedIn {
  if (!signedIn) throw signedOut()
  const { person, means } = signedIn
  if (route.who !== 'session') requireOwnPassword(person)
  const sessionOnly = route.who === 'session' || route.sessionOnly === true
  if (sessionOnly && means.kind !== 'session')
    throw new Refusal(403, 'SESSION_NEEDED', 'Access tokens cannot do this. Sign in to the console.')
  if (Array.isArray(route.who) && !route.who.includes(person.role))
    throw new Refusal(403, 'NOT_ALLOWED', 'Your role does not allow this. Ask an administrator.')
  if (means.kind === 'token' && means.scope === 'READ' && route.method !== 'GET')
    throw new Refusal(403, 'TOKEN_READ_ONLY', 'This access token may only read.')
  const { tenantId } = (params ?? {}) as { tenantId?: string }
  if (tenantId !== undefined && !isOperator(person.role) && tenantId !== person.tenantId) throw notFound('tenant')
  return signedIn
}

async function byToken(deps: Pick<ConsoleDeps, 'db'>, bearer: string): Promise<SignedIn | undefined> {
  const token = await accessTokenOf(deps.db, bearer)
  const person = token && (await personById(deps.db, token.personId))
  if (!token || person?.status !== 'ACTIVE') return undefined
  return { person, means: { kind: 'token', tokenId: token.tokenId, scope: token.scope } }
}

export interface AllowedOrigins {
  /** Origins whose pages may make changes: those of PUBLIC_URL and of the console's own address. */
  origins: readonly string[]
  /** A local deployment: every loopback name of this machine may, too. */
  loopback: boolean
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses changes that another site's page asks a browser for. A browser always sends `Origin` with a change and no
 * page can forge it; who brings an access token is judged by that alone and no browser at all. Other kinds of
 * authorization are none of ours: a browser adds those of a proxy by itself.
 */
export function checkOrigin(options: AllowedOrigins, request: FastifyRequest): void {
  if (READS.has(request.method) || bearerOf(request) !== undefined) return
  const { origin, host } = request.headers
  if (origin !== undefined && options.origins.includes(origin)) return
  // On a local deployment the console answers under every name of this machine, and its own port.
  if (options.loopback && origin !== undefined && URL.canParse(origin)) {
    const url = new URL(origin)
    if (LOOPBACK.has(url.hostname) && url.host === host) return
  }
  throw new Refusal(403, 'FOREIGN_ORIGIN', 'This page may not change anything here. Open the console itself.')
}
