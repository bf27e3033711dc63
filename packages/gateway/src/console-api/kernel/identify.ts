import type { FastifyRequest } from 'fastify'
import { notFound, Refusal } from '../../lib/refusal.ts'
import { ACCESS_TOKEN_PREFIX, accessTokenOf } from '../../people/access-token.ts'
import { isOperator, personById, requireOwnPassword } from '../../people/person.ts'
import { sessionOf, signedOut } from '../../people/session.ts'
import type { ConsoleDeps } from './deps.ts'
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
