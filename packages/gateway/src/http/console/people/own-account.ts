import encodeQR from 'qr'
import Type from 'typebox'
import { listAccessTokens } from '#people/account/access-token.ts'
import { saveLocale } from '#people/account/locale.ts'
import {
  changePassword,
  confirmByPassword,
  confirmOwnSecondFactor,
  createOwnToken,
  deleteOwnToken,
  endOtherSessions,
  endOwnSession,
  muteAlerts,
  removeOwnSecondFactor,
  renameSelf,
} from '#people/account/own-account.ts'
import { setUpSecondFactor } from '#people/second-factor/authenticator.ts'
import { listSessions } from '#people/session.ts'
import { type Route, route } from '../kernel/route.ts'
import {
  CLOSED,
  line,
  nullable,
  password,
  REAUTHENTICATIONS_PER_MINUTE,
  reauthentication,
  time,
  typedCode,
  uuid,
} from '../kernel/route-schemas.ts'
import { confirmedRoute } from './confirmed-route.ts'
import { sessionCredential } from './sign-in.ts'

const TOKEN_LIFETIME_MAX_DAYS = 366
/** BCP 47, with a script or a region: `zh-Hans`. */
const LANGUAGE_TAG = '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$'

const passwordRoutes: Route[] = [
  route('POST /account/confirm/password', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary:
      'Confirm who you are with the password, and a code if a second factor is set. Returns what replaces them for five minutes',
    body: Type.Object({ password: password(), code: Type.Optional(typedCode()) }, CLOSED),
    answer: Type.Object({ confirmation: Type.String() }),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    handle({ deps, person, signedIn, by }, { body }) {
      const { sessionId } = sessionCredential(signedIn)
      return confirmByPassword(deps, person, { ...body, sessionId }, by)
    },
  }),
  route('POST /account/password', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary: 'Change your password. Your other sessions end, and if you say so your access tokens',
    body: Type.Object(
      {
        ...reauthentication,
        newPassword: password(),
        endTokens: Type.Optional(Type.Boolean({ description: 'Deletes your access tokens, such as after a theft' })),
      },
      CLOSED,
    ),
    answer: Type.Object({ endedSessions: Type.Integer(), endedTokens: Type.Integer() }),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    handle({ deps, person, signedIn, address }, { body: { endTokens = false, ...body } }) {
      return changePassword(deps, person, { ...body, endTokens, ...sessionCredential(signedIn), address })
    },
  }),
  route('PUT /account/muted-alerts', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Choose which kinds of alerts are not sent to you by e-mail',
    body: Type.Object({ kinds: Type.Array(line(40), { maxItems: 50 }) }, CLOSED),
    handle: ({ deps, person, by }, { body }) => muteAlerts(deps, person, body.kinds, by),
  }),
  route('PUT /account/locale', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Choose the language and the time zone of the console and of mails to you. null: as the browser says',
    body: Type.Object(
      { language: nullable(Type.String({ pattern: LANGUAGE_TAG })), timeZone: nullable(line(60)) },
      CLOSED,
    ),
    handle: ({ deps, person }, { body }) => saveLocale(deps.db, person.personId, body),
  }),
  route('PATCH /account', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Change your name',
    body: Type.Object({ name: line(100) }, CLOSED),
    handle: ({ deps, person, by }, { body }) => renameSelf(deps, person, body.name, by),
  }),
]

const secondFactorRoutes: Route[] = [
  confirmedRoute('POST /account/second-factor', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary: 'Start to set up an authenticator',
    answer: Type.Object({ secret: Type.String(), uri: Type.String(), qr: Type.String({ description: 'SVG' }) }),
    async handle({ deps, person }) {
      // Not audited: the authenticator takes effect only when it is confirmed.
      const secondFactor = await deps.db.tx((tx) => setUpSecondFactor(tx, deps, person.personId))
      return { ...secondFactor, qr: encodeQR(secondFactor.uri, 'svg') }
    },
  }),
  route('POST /account/second-factor/confirm', {
    access: 'session',
    testMode: 'SAME',
    duringSetUp: true,
    summary: 'Turn the authenticator on with its first code. The recovery codes are returned only here',
    body: Type.Object({ code: typedCode() }, CLOSED),
    answer: Type.Object({ recoveryCodes: Type.Array(Type.String()) }),
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    handle: ({ deps, person, by }, { body }) => confirmOwnSecondFactor(deps, person, body.code, by),
  }),
  confirmedRoute('POST /account/second-factor/remove', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Turn the authenticator off',
    handle: ({ deps, person, by }) => removeOwnSecondFactor(deps, person, by),
  }),
]

const sessionRow = Type.Object({
  sessionId: Type.String(),
  address: nullable(Type.String()),
  userAgent: nullable(Type.String()),
  createdAt: time(),
  seenAt: time(),
  current: Type.Boolean(),
})

const sessionRoutes: Route[] = [
  route('GET /account/sessions', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Your sessions',
    answer: Type.Object({ sessions: Type.Array(sessionRow) }),
    async handle({ deps, person, signedIn }) {
      const { sessionId: current } = sessionCredential(signedIn)
      const rows = await listSessions(deps.db, person.personId)
      return { sessions: rows.map((row) => ({ ...row, current: row.sessionId === current })) }
    },
  }),
  route('DELETE /account/sessions/:sessionId', {
    access: 'session',
    testMode: 'SAME',
    summary: 'End one of your sessions',
    params: Type.Object({ sessionId: uuid() }, CLOSED),
    handle: ({ deps, person, by }, { params }) => endOwnSession(deps, person, params.sessionId, by),
  }),
  route('DELETE /account/sessions', {
    access: 'session',
    testMode: 'SAME',
    summary: 'End all your sessions except this one',
    handle: ({ deps, person, signedIn, by }) =>
      endOtherSessions(deps, person, sessionCredential(signedIn).sessionId, by),
  }),
]

const tokenRow = Type.Object({
  tokenId: Type.String(),
  name: Type.String(),
  scope: Type.Enum(['READ', 'WRITE']),
  hint: Type.String(),
  expiresAt: nullable(time()),
  usedAt: nullable(time()),
  createdAt: time(),
})

const tokenRoutes: Route[] = [
  route('GET /account/tokens', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Your access tokens, without their text',
    answer: Type.Object({ tokens: Type.Array(tokenRow) }),
    async handle({ deps, person }) {
      return { tokens: await listAccessTokens(deps.db, person.personId) }
    },
  }),
  // A token outlives the session: a stolen session must not lead to permanent access.
  confirmedRoute('POST /account/tokens', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Create an access token. Requires the password. The text is returned only here',
    body: Type.Object({
      name: line(100),
      scope: Type.Enum(['READ', 'WRITE']),
      days: nullable(Type.Integer({ minimum: 1, maximum: TOKEN_LIFETIME_MAX_DAYS })),
    }),
    answer: Type.Object({ tokenId: Type.String(), token: Type.String() }),
    handle: ({ deps, person, by }, { body }) => createOwnToken(deps, person, body, by),
  }),
  route('DELETE /account/tokens/:tokenId', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Delete an access token. It stops working immediately',
    params: Type.Object({ tokenId: uuid() }, CLOSED),
    handle: ({ deps, person, by }, { params }) => deleteOwnToken(deps, person, params.tokenId, by),
  }),
]

export const accountRoutes: Route[] = [...passwordRoutes, ...secondFactorRoutes, ...sessionRoutes, ...tokenRoutes]
