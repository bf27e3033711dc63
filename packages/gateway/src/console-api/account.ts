import encodeQR from 'qr'
import sql from 'sql-template-tag'
import Type from 'typebox'
import { audit } from '../audit/audit.ts'
import { absent, Refusal } from '../lib/refusal.ts'
import { accessTokensOf, deleteAccessToken, makeAccessToken } from '../people/access-token.ts'
import { changePassword } from '../people/change-password.ts'
import { PASSWORD_LENGTH_MAX } from '../people/password.ts'
import { lockProven } from '../people/person.ts'
import { beginSecondFactor, confirmSecondFactor, removeSecondFactor } from '../people/second-factor.ts'
import { endSession, endSessions, sessionsOf } from '../people/session.ts'
import { signInAgain } from '../people/sign-in.ts'
import { signedOut } from './identify.ts'
import { PROOFS_PER_MINUTE, proof } from './proof.ts'
import { type Context, type Route, route } from './route.ts'
import { CLOSED, done, line, nullable, time, uuid } from './schemas.ts'
import { sessionBy } from './sign-in.ts'

const TOKEN_DAYS_MAX = 366

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
    async handle(context, { body }) {
      await change(context, 'person.rename', { after: { name: body.name } }, (tx, personId) =>
        tx.send(sql`update people set name = ${body.name}, updated_at = now() where person_id = ${personId}`),
      )
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
    async handle({ deps, person, address }, { body }) {
      await signInAgain(deps, person, { ...body, address }, { codeToo: false })
      const begun = await deps.db.tx((tx) => beginSecondFactor(tx, deps, person.personId))
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
    handle: (context, { body }) =>
      change(context, 'person.set_second_factor', {}, (tx, personId) =>
        confirmSecondFactor(tx, context.deps, personId, body.code),
      ),
  }),
  route({
    method: 'POST',
    path: '/account/second-factor/remove',
    who: 'session',
    summary: 'Turn the authenticator off',
    body: Type.Object(proof, CLOSED),
    answer: done,
    ratePerMinute: PROOFS_PER_MINUTE,
    async handle(context, { body }) {
      await signInAgain(context.deps, context.person, { ...body, address: context.address })
      await change(context, 'person.remove_second_factor', {}, removeSecondFactor)
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
    async handle(context, { params }) {
      await change(context, 'person.end_session', {}, async (tx, personId) => {
        if (!(await endSession(tx, personId, params.sessionId))) throw absent('session')
      })
      return {}
    },
  }),
  route({
    method: 'DELETE',
    path: '/account/sessions',
    who: 'session',
    summary: 'End all of the own sessions but this one',
    answer: done,
    async handle(context) {
      const { sessionId } = sessionBy(context.signedIn)
      await change(context, 'person.end_sessions', {}, (tx, personId) => endSessions(tx, personId, sessionId))
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
        days: nullable(Type.Integer({ minimum: 1, maximum: TOKEN_DAYS_MAX })),
      },
      CLOSED,
    ),
    answer: Type.Object({ tokenId: Type.String(), token: Type.String() }),
    ratePerMinute: PROOFS_PER_MINUTE,
    async handle(context, { body: { password, code, ...asked } }) {
      const { deps, person, address } = context
      // A token outlives the session: one that was stolen must not become lasting.
      await signInAgain(deps, person, { password, code, address })
      return change(context, 'person.make_token', { after: asked }, (tx, personId) =>
        makeAccessToken(tx, deps.ids, personId, asked),
      )
    },
  }),
  route({
    method: 'DELETE',
    path: '/account/tokens/:tokenId',
    who: 'session',
    summary: 'Delete an access token; it stops working at once',
    params: Type.Object({ tokenId: uuid() }, CLOSED),
    answer: done,
    async handle(context, { params }) {
      await change(context, 'person.delete_token', { before: { tokenId: params.tokenId } }, async (tx, personId) => {
        if ((await deleteAccessToken(tx, personId, params.tokenId)) === undefined) throw absent('token')
      })
      return {}
    },
  }),
]

export const accountRoutes: Route[] = [...passwordRoutes, ...secondFactorRoutes, ...sessionRoutes, ...tokenRoutes]

type Tx = import('../lib/db.ts').Tx

/** A change of the own account, audited with it. */
function change<Result>(
  context: Context,
  action: string,
  said: { before?: unknown; after?: unknown },
  work: (tx: Tx, personId: string) => Result | Promise<Result>,
): Promise<Result> {
  const { deps, person, by } = context
  if (person.passwordChangeRequired)
    throw new Refusal(403, 'PASSWORD_CHANGE_REQUIRED', 'Choose a password of your own first.')
  return deps.db.tx(async (tx) => {
    if (!(await lockProven(tx, person))) throw signedOut()
    const result = await work(tx, person.personId)
    audit(tx, deps.ids, { tenantId: person.tenantId, ...by, action, subject: person.email, ...said })
    return result
  })
}
