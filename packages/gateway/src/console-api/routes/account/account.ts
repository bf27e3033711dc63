import encodeQR from 'qr'
import Type from 'typebox'
import { accessTokensOf } from '../../../people/access-token.ts'
import {
  beginOwnSecondFactor,
  changePassword,
  confirmOwnSecondFactor,
  deleteOwnToken,
  endOtherSessions,
  endOwnSession,
  makeOwnToken,
  removeOwnSecondFactor,
  renameOneself,
} from '../../../people/own-account.ts'
import { PASSWORD_LENGTH_MAX } from '../../../people/password.ts'
import { sessionsOf } from '../../../people/session.ts'
import { type Route, route } from '../../kernel/route.ts'
import { CLOSED, done, line, nullable, PROOFS_PER_MINUTE, proof, time, uuid } from '../../kernel/schemas.ts'
import { sessionBy } from './sign-in.ts'

const TOKEN_MAX_DAYS = 366

const passwordRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/account/password',
    who: 'session',
    summary: 'Change the own password; other sessions end',
    body: Type.Object({ ...proof, newPassword: Type.String({ minLength: 1, maxLength: PASSWORD_LENGTH_MAX }) }, CLOSED),
    answer: done,
    ratePerMinute: PROOFS_PER_MINUTE,
    async handle({ deps, person, signedIn, address }, { body }) {
      await changePassword(deps, person, { ...body, ...sessionBy(signedIn), address })
      return {}
    },
  }),
  route({
    method: 'PATCH',
    path: '/account',
    who: 'session',
    summary: 'Change the own name',
    body: Type.Object({ name: line(100) }, CLOSED),
    answer: done,
    async handle({ deps, person, by }, { body }) {
      await renameOneself(deps, person, body.name, by)
      return {}
    },
  }),
]

const secondFactorRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/account/second-factor',
    who: 'session',
    summary: 'Begin to set up an authenticator',
    body: Type.Object({ password: proof.password }, CLOSED),
    answer: Type.Object({ secret: Type.String(), uri: Type.String(), qr: Type.String({ description: 'SVG' }) }),
    ratePerMinute: PROOFS_PER_MINUTE,
    async handle({ deps, person, by }, { body }) {
      const begun = await beginOwnSecondFactor(deps, person, body, by)
      return { ...begun, qr: encodeQR(begun.uri, 'svg') }
    },
  }),
  route({
    method: 'POST',
    path: '/account/second-factor/confirm',
    who: 'session',
    summary: 'Turn the authenticator on with its first code; answers the recovery codes, this once',
    body: Type.Object({ code: Type.String({ minLength: 6, maxLength: 10 }) }, CLOSED),
    answer: Type.Object({ recoveryCodes: Type.Array(Type.String()) }),
    ratePerMinute: PROOFS_PER_MINUTE,
    handle: ({ deps, person, by }, { body }) => confirmOwnSecondFactor(deps, person, body.code, by),
  }),
  route({
    method: 'POST',
    path: '/account/second-factor/remove',
    who: 'session',
    summary: 'Turn the authenticator off',
    body: Type.Object(proof, CLOSED),
    answer: done,
    ratePerMinute: PROOFS_PER_MINUTE,
    async handle({ deps, person, by }, { body }) {
      await removeOwnSecondFactor(deps, person, body, by)
      return {}
    },
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
  route({
    method: 'GET',
    path: '/account/sessions',
    who: 'session',
    summary: 'The own sessions',
    answer: Type.Object({ sessions: Type.Array(sessionRow) }),
    async handle({ deps, person, signedIn }) {
      const { sessionId: current } = sessionBy(signedIn)
      const rows = await sessionsOf(deps.db, person.personId)
      const sessions = rows.map((row) => ({
        ...row,
        current: row.sessionId === current,
      }))
      return { sessions }
    },
  }),
  route({
    method: 'DELETE',
    path: '/account/sessions/:sessionId',
    who: 'session',
    summary: 'End one of the own sessions',
    params: Type.Object({ sessionId: uuid() }, CLOSED),
    answer: done,
    async handle({ deps, person, by }, { params }) {
      await endOwnSession(deps, person, params.sessionId, by)
      return {}
    },
  }),
  route({
    method: 'DELETE',
    path: '/account/sessions',
    who: 'session',
    summary: 'End all of the own sessions but this one',
    answer: done,
    async handle({ deps, person, signedIn, by }) {
      await endOtherSessions(deps, person, sessionBy(signedIn).sessionId, by)
      return {}
    },
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
  route({
    method: 'GET',
    path: '/account/tokens',
    who: 'session',
    summary: 'The own access tokens, without their text',
    answer: Type.Object({ tokens: Type.Array(tokenRow) }),
    async handle({ deps, person }) {
      const rows = await accessTokensOf(deps.db, person.personId)
      return { tokens: rows }
    },
  }),
  route({
    method: 'POST',
    path: '/account/tokens',
    who: 'session',
    summary: 'Make an access token, after the password; answers its text, this once',
    body: Type.Object(
      {
        ...proof,
        name: line(100),
        scope: Type.Enum(['READ', 'WRITE']),
        days: nullable(Type.Integer({ minimum: 1, maximum: TOKEN_MAX_DAYS })),
      },
      CLOSED,
    ),
    answer: Type.Object({ tokenId: Type.String(), token: Type.String() }),
    ratePerMinute: PROOFS_PER_MINUTE,
    handle: ({ deps, person, by }, { body }) => makeOwnToken(deps, person, body, by),
  }),
  route({
    method: 'DELETE',
    path: '/account/tokens/:tokenId',
    who: 'session',
    summary: 'Delete an access token; it stops working at once',
    params: Type.Object({ tokenId: uuid() }, CLOSED),
    answer: done,
    async handle({ deps, person, by }, { params }) {
      await deleteOwnToken(deps, person, params.tokenId, by)
      return {}
    },
  }),
]

export const accountRoutes: Route[] = [...passwordRoutes, ...secondFactorRoutes, ...sessionRoutes, ...tokenRoutes]
