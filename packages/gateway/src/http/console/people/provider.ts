import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type from 'typebox'
import type { Provider } from '#people/provider/provider.ts'
import {
  finishProviderConfirmation,
  finishProviderSignIn,
  startProviderSignIn,
} from '#people/provider/provider-sign-in.ts'
import { type ConsoleDeps, type PublicContext, publicRoute, type Route, route } from '../kernel/route.ts'
import { CLOSED, REAUTHENTICATIONS_PER_MINUTE } from '../kernel/route-schemas.ts'
import { me } from './me.ts'
import { answerSignedIn, flowOf, sessionCredential } from './sign-in.ts'

const SIGN_INS_PER_MINUTE = 20
const url = Type.Object({ url: Type.String({ description: 'The address at the provider to which the browser goes' }) })
const query = Type.Object(
  {
    query: Type.String({
      maxLength: 6_000,
      description: 'Of the address with which the provider sent the browser back',
    }),
  },
  CLOSED,
)

/**
 * Sign-in through the operator's OpenID Connect provider: authorization code with PKCE. The provider sends the browser to a
 * page of the console, which posts what it received, so the session cookie stays SameSite=Strict and the check of `Origin`
 * still works.
 */
export const providerRoutes: Route[] = [
  publicRoute('POST /provider/request', {
    summary: 'Start to sign in through the provider',
    body: Type.Object({}, CLOSED),
    answer: url,
    ratePerMinute: SIGN_INS_PER_MINUTE,
    async handle(context) {
      const flow = { ...flowFor(context, { start: true }), confirming: undefined }
      return { url: await startProviderSignIn(context.deps, getProvider(context.deps), flow) }
    },
  }),
  publicRoute('POST /provider/session', {
    summary: 'Sign in with what the provider answered. The session is returned as a cookie',
    body: query,
    answer: me,
    ratePerMinute: SIGN_INS_PER_MINUTE,
    async handle(context, { body }) {
      const { deps, request, address } = context
      const flow = { ...flowFor(context, { start: false }), confirming: undefined }
      const input = { query: body.query, address, userAgent: request.headers['user-agent'] ?? '' }
      return answerSignedIn(context, await finishProviderSignIn(deps, getProvider(deps), flow, input))
    },
  }),
  route('POST /account/confirm/provider/request', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary: 'Start to confirm who you are at the provider, in place of the password',
    body: Type.Object({}, CLOSED),
    answer: url,
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    async handle(context) {
      const flow = { ...flowFor(context, { start: true }), confirming: context.person }
      return { url: await startProviderSignIn(context.deps, getProvider(context.deps), flow) }
    },
  }),
  route('POST /account/confirm/provider', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary: 'Confirm who you are with what the provider answered. Returns what replaces the password for five minutes',
    body: query,
    answer: Type.Object({ confirmation: Type.String() }),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    handle(context, { body }) {
      const { sessionId } = sessionCredential(context.signedIn)
      const flow = { ...flowFor(context, { start: false }), confirming: context.person, sessionId }
      return finishProviderConfirmation(context.deps, getProvider(context.deps), flow, body.query)
    },
  }),
]

/** The page of the console to which the provider sends the browser. */
const RETURN_PAGE = '/signed-in'

function flowFor(context: PublicContext, options: { start: boolean }) {
  return { flow: flowOf(context, options), redirectUri: `${context.deps.consoleUrl()}${RETURN_PAGE}` }
}

/** @throws Refusal PROVIDER_OFF */
function getProvider({ provider }: ConsoleDeps): Provider {
  if (provider) return provider
  throw new Refusal(422, 'PROVIDER_OFF', 'This gateway has no sign-in provider. Sign in with your password.')
}
