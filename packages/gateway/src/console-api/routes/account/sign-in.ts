import Type from 'typebox'
import { Refusal } from '../../../lib/refusal.ts'
import { getLink, setPasswordByLink } from '../../../people/link.ts'
import { BROWSER_KNOWN_S } from '../../../people/lockout.ts'
import { PASSWORD_LENGTH_MAX } from '../../../people/password.ts'
import { signOut } from '../../../people/session.ts'
import { signIn } from '../../../people/sign-in.ts'
import { publicRoute, type Route, route, type SignedIn } from '../../kernel/route.ts'
import { CLOSED, done, line } from '../../kernel/schemas.ts'
import { describeMe, me } from './me.ts'

const SIGN_INS_PER_MINUTE = 20
const LINKS_PER_MINUTE = 30
const password = () => Type.String({ minLength: 1, maxLength: PASSWORD_LENGTH_MAX })
const code = () => Type.String({ minLength: 6, maxLength: 30 })
const linkToken = () => Type.String({ minLength: 20, maxLength: 100 })

export const signInRoutes: Route[] = [
  publicRoute({
    method: 'POST',
    path: '/session',
    summary: 'Sign in. The session is returned as a cookie',
    body: Type.Object({ email: line(254), password: password(), code: Type.Optional(code()) }, CLOSED),
    answer: me,
    ratePerMinute: SIGN_INS_PER_MINUTE,
    async handle(context, { body }) {
      const { deps, request, address } = context
      const userAgent = request.headers['user-agent'] ?? ''
      const browserCookie = `${context.cookieName}-browser`
      const storedToken = request.cookies[browserCookie]
      const { token, person, browser } = await signIn(deps, { ...body, address, userAgent, browser: storedToken })
      context.reply.setCookie(context.cookieName, token, cookieOptions)
      context.reply.setCookie(browserCookie, browser, { ...cookieOptions, maxAge: BROWSER_KNOWN_S })
      return describeMe(deps, person, 'session')
    },
  }),
  route({
    method: 'DELETE',
    path: '/session',
    access: 'session',
    summary: 'Sign out',
    answer: done,
    async handle(context) {
      const { deps, person, signedIn, by } = context
      await signOut(deps, person, sessionCredential(signedIn).sessionId, by)
      context.reply.clearCookie(context.cookieName, cookieOptions)
      return {}
    },
  }),
  publicRoute({
    method: 'POST',
    path: '/link',
    summary: 'The person and kind of an invitation or reset link',
    body: Type.Object({ token: linkToken() }, CLOSED),
    answer: Type.Object({ email: Type.String(), name: Type.String(), kind: Type.String() }),
    ratePerMinute: LINKS_PER_MINUTE,
    async handle({ deps }, { body }) {
      const { person, kind } = await getLink(deps.db, body.token)
      return { email: person.email, name: person.name, kind }
    },
  }),
  publicRoute({
    method: 'POST',
    path: '/link/password',
    summary: 'Choose a password with an invitation or reset link',
    body: Type.Object({ token: linkToken(), password: password(), name: Type.Optional(line(100)) }, CLOSED),
    answer: Type.Object({ email: Type.String() }),
    ratePerMinute: LINKS_PER_MINUTE,
    async handle({ deps, address }, { body }) {
      const person = await setPasswordByLink(deps, { ...body, address })
      return { email: person.email }
    },
  }),
]

/** Not readable by scripts and not sent by other sites. Browsers treat loopback as secure, also over http. */
const cookieOptions = { path: '/', httpOnly: true, secure: true, sameSite: 'strict' } as const

/** @throws Refusal SESSION_NEEDED for an access token */
export function sessionCredential(signedIn: SignedIn): { sessionId: string } {
  if (signedIn.credential.kind !== 'session')
    throw new Refusal(403, 'SESSION_NEEDED', 'Access tokens cannot do this. Sign in to the console.')
  return signedIn.credential
}
