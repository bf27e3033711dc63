import { timingSafeEqual } from 'node:crypto'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { FIRST_OPERATOR } from './manage-people.ts'
import { findPersonByEmail, hasSecondFactor, lockPerson } from './person.ts'
import { createRandomToken, hashToken } from './secret-token.ts'
import { openSession, type SignInDeps, type SignInResult } from './sign-in.ts'

/**
 * Sign-in without a password, on the machine on which a local gateway runs: `npm start` prints a link, as notebook servers
 * do. Each start issues one token, which is kept in memory and works once.
 */
export interface LocalSignIn {
  issue(ids: Ids): string
  /** @returns true for the issued token, the first time */
  redeem(token: string): boolean
}

export function createLocalSignIn(): LocalSignIn {
  let issued: Buffer | undefined
  return {
    issue(ids) {
      const { token, hash } = createRandomToken(ids)
      issued = hash
      return token
    },
    redeem(token) {
      const isIssued = issued !== undefined && timingSafeEqual(issued, hashToken(token))
      if (isIssued) issued = undefined
      return isIssued
    },
  }
}

/**
 * Opens a session for the first operator, whose printed password stays valid. An operator with a second factor has to sign
 * in normally.
 * @throws Refusal LINK_DEAD
 */
export async function signInLocally(
  deps: SignInDeps & { localSignIn: LocalSignIn },
  { token, ...from }: { token: string; address: string; userAgent: string },
): Promise<SignInResult> {
  if (!deps.localSignIn.redeem(token)) throw linkDead()
  const person = await findPersonByEmail(deps.db, FIRST_OPERATOR)
  return deps.db.tx(async (tx) => {
    const locked = person && (await lockPerson(tx, person.personId))
    if (locked?.status !== 'ACTIVE' || hasSecondFactor(locked)) throw linkDead()
    tx.send(sql`update people set password_change_required = false where person_id = ${locked.personId}`)
    return openSession(tx, deps, { ...locked, passwordChangeRequired: false }, { ...from, signedInBy: 'PASSWORD' })
  })
}

function linkDead(): Refusal {
  const message =
    'This link has been used, or the gateway has been restarted. Use the latest link that it printed, or your password.'
  return new Refusal(422, 'LINK_DEAD', message)
}
