import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import Type from 'typebox'
import { mailNewPasskey } from '#alerts/mail/mail-queue.ts'
import { languageOf } from '#people/languages/people-language.ts'
import { listPasskeys } from '#people/passkeys/passkey.ts'
import {
  confirmByPasskey,
  requestConfirmation,
  requestSignIn,
  signInByPasskey,
} from '#people/passkeys/passkey-sign-in.ts'
import {
  finishRegistration,
  removeOwnPasskey,
  renameOwnPasskey,
  startRegistration,
} from '#people/passkeys/register-passkey.ts'
import { type RelyingParty, relyingPartyOf } from '#people/passkeys/relying-party.ts'
import { type ConsoleDeps, type Context, publicRoute, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, nullable, REAUTHENTICATIONS_PER_MINUTE, time, uuid } from '../kernel/route-schemas.ts'
import { confirmedRoute } from './confirmed-route.ts'
import { me } from './me.ts'
import { answerSignedIn, flowOf, sessionCredential } from './sign-in.ts'

/** The sign-in page requests a challenge whenever it is opened, so this limit is higher. */
const CHALLENGES_PER_MINUTE = 60
const SIGN_INS_PER_MINUTE = 20

/** Options of navigator.credentials as JSON. The browser's own conversion reads them. */
const options = Type.Object({
  options: Type.Any({ description: 'For navigator.credentials, as JSON (WebAuthn Level 3)' }),
})

const encoded = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '^[A-Za-z0-9_-]+$' })
const CREDENTIAL_ID_LENGTH_MAX = 1_400

/** An authenticator's answer (WebAuthn Level 3, §5.1). Members that we do not read are allowed. */
function authenticatorAnswer(response: Parameters<typeof Type.Object>[0]) {
  return Type.Object({
    id: encoded(CREDENTIAL_ID_LENGTH_MAX),
    rawId: encoded(CREDENTIAL_ID_LENGTH_MAX),
    type: Type.Literal('public-key'),
    response: Type.Object(response),
  })
}

const assertion = authenticatorAnswer({
  clientDataJSON: encoded(4_000),
  authenticatorData: encoded(4_000),
  signature: encoded(4_000),
  userHandle: Type.Optional(nullable(Type.String({ maxLength: 100 }))),
})

const attestation = authenticatorAnswer({
  clientDataJSON: encoded(4_000),
  attestationObject: encoded(40_000),
  transports: Type.Optional(Type.Array(Type.String({ maxLength: 20 }), { maxItems: 10 })),
})

const signInRoutes: Route[] = [
  publicRoute('POST /passkey/request', {
    summary: 'Start to sign in with a passkey',
    body: Type.Object({}, CLOSED),
    answer: options,
    ratePerMinute: CHALLENGES_PER_MINUTE,
    async handle(context) {
      const relyingParty = getRelyingParty(context.deps)
      return { options: await requestSignIn(context.deps, relyingParty, flowOf(context, { start: true })) }
    },
  }),
  publicRoute('POST /passkey/session', {
    summary: 'Sign in with a passkey. The session is returned as a cookie',
    body: Type.Object({ answer: assertion }, CLOSED),
    answer: me,
    ratePerMinute: SIGN_INS_PER_MINUTE,
    async handle(context, { body }) {
      const { deps, request, address } = context
      const browser = {
        flow: flowOf(context, { start: false }),
        ...{ address, userAgent: request.headers['user-agent'] ?? '' },
      }
      const answer = body.answer as unknown as AuthenticationResponseJSON
      const result = await signInByPasskey(deps, getRelyingParty(deps), browser, answer)
      return answerSignedIn(context, result)
    },
  }),
]

const confirmationRoutes: Route[] = [
  route('POST /account/confirm/request', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary: 'Start to confirm who you are with a passkey, in place of the password',
    body: Type.Object({}, CLOSED),
    answer: options,
    ratePerMinute: CHALLENGES_PER_MINUTE,
    async handle({ deps, person, signedIn }) {
      const { sessionId } = sessionCredential(signedIn)
      return { options: await requestConfirmation(deps, getRelyingParty(deps), person, sessionId) }
    },
  }),
  route('POST /account/confirm', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary: 'Confirm who you are with a passkey. Returns what replaces the password for five minutes',
    body: Type.Object({ answer: assertion }, CLOSED),
    answer: Type.Object({ confirmation: Type.String() }),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    handle: (context, { body }) =>
      confirmByPasskey(
        context.deps,
        getRelyingParty(context.deps),
        registrantOf(context),
        body.answer as unknown as AuthenticationResponseJSON,
      ),
  }),
]

const passkeyRow = Type.Object({
  passkeyId: Type.String(),
  name: Type.String(),
  createdAt: time(),
  usedAt: nullable(time()),
})
const params = Type.Object({ passkeyId: uuid() }, CLOSED)

const ownRoutes: Route[] = [
  route('GET /account/passkeys', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary: 'Your passkeys',
    answer: Type.Object({ passkeys: Type.Array(passkeyRow) }),
    async handle({ deps, person }) {
      return { passkeys: await listPasskeys(deps.db, person.personId) }
    },
  }),
  // A passkey gives permanent access: a session alone must not be enough to add one.
  confirmedRoute('POST /account/passkeys/request', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary: 'Start to register a passkey. Requires the password',
    answer: options,
    beforeBody: async ({ deps }) => void getRelyingParty(deps),
    async handle(context) {
      const { deps } = context
      return { options: await startRegistration(deps, getRelyingParty(deps), registrantOf(context)) }
    },
  }),
  route('POST /account/passkeys', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary: 'Register a passkey. With the first second factor, the recovery codes are returned, only here',
    body: Type.Object({ name: line(60), answer: attestation }, CLOSED),
    answer: Type.Object({ passkeyId: Type.String(), recoveryCodes: Type.Array(Type.String()) }),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    handle(context, { body }) {
      const { deps, person } = context
      const input = { name: body.name, answer: body.answer as unknown as RegistrationResponseJSON }
      const { tag: language } = languageOf(context.request)
      const about = { name: body.name, accountUrl: `${deps.consoleUrl()}/account`, language }
      return finishRegistration(deps, getRelyingParty(deps), registrantOf(context), input, (tx) =>
        mailNewPasskey(tx, deps, person, about),
      )
    },
  }),
  route('PATCH /account/passkeys/:passkeyId', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Rename a passkey',
    params,
    body: Type.Object({ name: line(60) }, CLOSED),
    handle: ({ deps, person, by }, { params, body }) => renameOwnPasskey(deps, person, params.passkeyId, body.name, by),
  }),
  confirmedRoute('POST /account/passkeys/:passkeyId/remove', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Remove a passkey. Requires the password',
    params,
    handle: ({ deps, person, by }, { params }) => removeOwnPasskey(deps, person, params.passkeyId, by),
  }),
]

export const passkeyRoutes: Route[] = [...signInRoutes, ...confirmationRoutes, ...ownRoutes]

function registrantOf({ person, signedIn, address }: Context) {
  return { person, address, sessionId: sessionCredential(signedIn).sessionId }
}

/** @throws Refusal PASSKEYS_OFF */
function getRelyingParty(deps: ConsoleDeps): RelyingParty {
  const relyingParty = relyingPartyOf(deps.consoleUrl())
  if (relyingParty) return relyingParty
  const message =
    'Passkeys need a host name, but the console is opened by its IP address. Ask the operator to set PUBLIC_URL.'
  throw new Refusal(422, 'PASSKEYS_OFF', message)
}
