import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type from 'typebox'
import { mailPersonLink } from '#alerts/mail/mail-queue.ts'
import { requestForgottenPassword } from '#people/forgotten-password.ts'
import { languageOf } from '#people/languages/people-language.ts'
import { signInLocally } from '#people/local-sign-in.ts'
import { BROWSER_KNOWN_S } from '#people/lockout.ts'
import { relyingPartyOf } from '#people/passkeys/relying-party.ts'
import { PASSWORD_LENGTH_MAX } from '#people/password.ts'
import { getLink, setPasswordByLink, welcomeLink } from '#people/personal-link.ts'
import { providerName } from '#people/provider/provider-passwords.ts'
import { endView, signOut, viewAsDealer } from '#people/session.ts'
import { type SignInResult, signIn } from '#people/sign-in.ts'
import { OPERATORS, type PublicContext, publicRoute, type Route, route, type SignedIn } from '../kernel/route.ts'
import { CLOSED, line, nullable, tenantParams, typedCode } from '../kernel/route-schemas.ts'
import { describeMe, me } from './me.ts'

const SIGN_INS_PER_MINUTE = 20
const LINKS_PER_MINUTE = 30
const FORGOTTEN_PER_MINUTE = 5
const password = () => Type.String({ minLength: 1, maxLength: PASSWORD_LENGTH_MAX })
const linkToken = () => Type.String({ minLength: 20, maxLength: 100 })

export const signInRoutes: Route[] = [
  publicRoute('GET /sign-in-options', {
    summary: 'The ways to sign in that this gateway offers',
    answer: Type.Object({
      mail: Type.Boolean({ description: 'A forgotten password can be replaced by a link sent by e-mail' }),
      passkeyHost: nullable(Type.String({ description: 'The host name under which passkeys work' })),
      provider: nullable(Type.String({ description: 'The name of the OpenID Connect provider' })),
    }),
    async handle({ deps }) {
      const { smtpUrl, oidcIssuer } = deps.config
      return {
        mail: smtpUrl !== undefined,
        passkeyHost: relyingPartyOf(deps.consoleUrl())?.id ?? null,
        provider: oidcIssuer === undefined ? null : providerName(deps.config),
      }
    },
  }),
  publicRoute('POST /session', {
    summary: 'Sign in. The session is returned as a cookie',
    body: Type.Object({ email: line(254), password: password(), code: Type.Optional(typedCode()) }, CLOSED),
    answer: me,
    ratePerMinute: SIGN_INS_PER_MINUTE,
    async handle(context, { body }) {
      const { deps, request, address } = context
      const userAgent = request.headers['user-agent'] ?? ''
      const storedToken = request.cookies[browserCookieOf(context)]
      const result = await signIn(deps, { ...body, address, userAgent, browser: storedToken })
      return answerSignedIn(context, result)
    },
  }),
  publicRoute('POST /session/local', {
    summary: 'Sign in by the link that a local gateway printed when it started. The session is returned as a cookie',
    body: Type.Object({ token: linkToken() }, CLOSED),
    answer: me,
    ratePerMinute: SIGN_INS_PER_MINUTE,
    async handle(context, { body }) {
      const { deps, request, address } = context
      const userAgent = request.headers['user-agent'] ?? ''
      return answerSignedIn(context, await signInLocally(deps, { ...body, address, userAgent }))
    },
  }),
  route('DELETE /session', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    duringView: true,
    summary: 'Sign out. Returns the address at which the person signs out of the provider too, if it was used',
    answer: Type.Object({ signOutUrl: nullable(Type.String()) }),
    async handle(context) {
      const { deps, person, signedIn, by } = context
      const { sessionId, signedInBy } = sessionCredential(signedIn)
      await endView(deps, sessionId, by)
      await signOut(
        deps,
        signedIn.viewedTenantId === null ? person : { tenantId: null, personId: person.personId },
        sessionId,
        by,
      )
      context.reply.clearCookie(context.cookieName, cookieOptions)
      if (signedInBy !== 'PROVIDER') return { signOutUrl: null }
      // The session has ended, whether or not the provider answers.
      const signOutUrl = await deps.provider?.signOutUrl(`${deps.consoleUrl()}/`).catch(() => undefined)
      return { signOutUrl: signOutUrl ?? null }
    },
  }),
  route('POST /tenants/:tenantId/view', {
    access: OPERATORS,
    sessionOnly: true,
    summary: 'See the console as an administrator of this dealer, without changing anything. Audited',
    params: tenantParams,
    handle: ({ deps, signedIn, by }, { params }) =>
      viewAsDealer(deps, sessionCredential(signedIn).sessionId, params.tenantId, by),
  }),
  route('DELETE /session/view', {
    access: 'session',
    testMode: 'SAME',
    duringView: true,
    summary: 'End the view as a dealer',
    handle: ({ deps, signedIn, by }) => endView(deps, sessionCredential(signedIn).sessionId, by),
  }),
  publicRoute('POST /forgotten-password', {
    summary:
      'Send a link for choosing a new password to this address, if it belongs to a person. The answer is always the same',
    body: Type.Object({ email: line(254) }, CLOSED),
    ratePerMinute: FORGOTTEN_PER_MINUTE,
    async handle({ deps, address, afterAnswer, request }, { body }) {
      if (deps.config.smtpUrl === undefined)
        throw new Refusal(
          422,
          'MAIL_OFF',
          'This gateway is not set up to send e-mail. Ask an administrator for a password link.',
        )
      const { tag: language } = languageOf(request)
      // Neither the time it takes nor a failure may reveal whether the address belongs to a person.
      afterAnswer(() =>
        requestForgottenPassword(deps, { email: body.email, address }, (tx, person, token) => {
          const link = welcomeLink(deps.consoleUrl(), token)
          mailPersonLink(tx, deps, person, { kind: 'FORGOTTEN_PASSWORD', link, language })
        }),
      )
    },
  }),
  publicRoute('POST /link', {
    summary: 'The person and kind of an invitation or reset link',
    body: Type.Object({ token: linkToken() }, CLOSED),
    answer: Type.Object({ email: Type.String(), name: Type.String(), kind: Type.String() }),
    ratePerMinute: LINKS_PER_MINUTE,
    async handle({ deps }, { body }) {
      const { person, kind } = await getLink(deps.db, body.token)
      return { email: person.email, name: person.name, kind }
    },
  }),
  publicRoute('POST /link/password', {
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

/** Sets the cookies of a new session and describes its person. */
export function answerSignedIn(context: PublicContext, { token, browser, person, signedInBy }: SignInResult) {
  context.reply.setCookie(context.cookieName, token, cookieOptions)
  context.reply.setCookie(browserCookieOf(context), browser, { ...cookieOptions, maxAge: BROWSER_KNOWN_S })
  return describeMe(context.deps, person, { kind: 'session', signedInBy })
}

function browserCookieOf({ cookieName }: PublicContext): string {
  return `${cookieName}-browser`
}

const FLOW_BYTES = 32

/**
 * The token that binds the steps of a sign-in by passkey or provider to one browser. It grants nothing, and one serves all
 * tabs. `start` sets it; in another browser the later step finds none, and then no challenge matches.
 */
export function flowOf({ cookieName, request, reply, deps }: PublicContext, { start }: { start: boolean }): string {
  const name = `${cookieName}-flow`
  const stored = request.cookies[name]
  if (stored !== undefined && /^[\w-]{43}$/.test(stored)) return stored
  const flow = deps.ids.bytes(FLOW_BYTES).toString('base64url')
  if (start) reply.setCookie(name, flow, cookieOptions)
  return flow
}

/** Not readable by scripts and not sent by other sites. Browsers treat loopback as secure, even over http. */
const cookieOptions = { path: '/', httpOnly: true, secure: true, sameSite: 'strict' } as const

/** @throws Refusal SESSION_NEEDED for an access token */
export function sessionCredential(signedIn: SignedIn) {
  if (signedIn.credential.kind !== 'session')
    throw new Refusal(403, 'SESSION_NEEDED', 'Access tokens cannot do this. Sign in to the console.')
  return signedIn.credential
}
