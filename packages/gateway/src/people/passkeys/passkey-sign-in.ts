import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { audit, byPerson } from '#platform/audit/audit.ts'
import { deadChallenge, spendChallenge } from '../challenge.ts'
import { createConfirmation } from '../confirmation.ts'
import { lockPerson, type Person } from '../person.ts'
import { auditFailedSignIn, openSession, type SignInDeps, type SignInResult } from '../sign-in.ts'
import { listCredentials, recordUse } from './passkey.ts'
import type { RelyingParty } from './relying-party.ts'
import { createRequest, refusedPasskey, verifyAnswer } from './verify-passkey.ts'

interface Browser {
  /** The token that binds the two steps of a sign-in to one browser. */
  flow: string
  address: string
  userAgent: string
}

export function requestSignIn(deps: SignInDeps, relyingParty: RelyingParty, flow: string) {
  return createRequest(deps, relyingParty, signInPurpose(flow))
}

/**
 * Signs in with only a passkey. The authenticator has verified its user, so no code is requested.
 * @throws Refusal PASSKEY_UNKNOWN, PASSKEY_REFUSED, CHALLENGE_DEAD, PERSON_DISABLED
 */
export async function signInByPasskey(
  deps: SignInDeps,
  relyingParty: RelyingParty,
  browser: Browser,
  answer: AuthenticationResponseJSON,
): Promise<SignInResult> {
  try {
    const passkey = await verifyAnswer(deps, relyingParty, signInPurpose(browser.flow), answer)
    return await deps.db.tx(async (tx) => {
      const person = await lockPerson(tx, passkey.personId)
      await spendChallenge(tx, passkey.challenge)
      if (!(await recordUse(tx, passkey.passkeyId, passkey.signCount))) throw refusedPasskey()
      if (person?.status !== 'ACTIVE')
        throw new Refusal(403, 'PERSON_DISABLED', 'This account is disabled. Ask an administrator.')
      return openSession(tx, deps, person, { ...browser, signedInBy: 'PASSKEY' })
    })
  } catch (error) {
    if (error instanceof Refusal) await auditFailedSignIn(deps, { ...browser, reason: 'PASSKEY' })
    throw error
  }
}

export async function requestConfirmation(
  deps: SignInDeps,
  relyingParty: RelyingParty,
  person: Person,
  sessionId: string,
) {
  const credentials = await listCredentials(deps.db, person.personId)
  return createRequest(deps, relyingParty, confirmationPurpose(person, sessionId), credentials)
}

/**
 * Confirms a signed-in person with one of their own passkeys, in place of the password and the code.
 * @throws Refusal PASSKEY_UNKNOWN, PASSKEY_REFUSED, CHALLENGE_DEAD
 */
export async function confirmByPasskey(
  deps: SignInDeps,
  relyingParty: RelyingParty,
  { person, sessionId, address }: { person: Person; sessionId: string; address: string },
  answer: AuthenticationResponseJSON,
): Promise<{ confirmation: string }> {
  const passkey = await verifyAnswer(deps, relyingParty, confirmationPurpose(person, sessionId), answer)
  if (passkey.personId !== person.personId) throw refusedPasskey()
  await deps.db.tx(async (tx) => {
    if ((await lockPerson(tx, person.personId))?.status !== 'ACTIVE') throw deadChallenge()
    await spendChallenge(tx, passkey.challenge)
    if (!(await recordUse(tx, passkey.passkeyId, passkey.signCount))) throw refusedPasskey()
    const by = byPerson(person, address)
    audit(tx, deps.ids, { tenantId: person.tenantId, ...by, action: 'person.confirm', subject: person.email })
  })
  return { confirmation: createConfirmation(deps, person, sessionId) }
}

function signInPurpose(flow: string): string {
  return `passkey sign-in ${flow}`
}

function confirmationPurpose({ personId }: Person, sessionId: string): string {
  return `passkey confirmation ${personId} ${sessionId}`
}
