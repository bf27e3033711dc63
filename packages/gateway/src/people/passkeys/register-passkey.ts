import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import type { PublicKeyCredentialCreationOptionsJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { type By, byPerson } from '#platform/audit/audit.ts'
import { changeAccount } from '../account/own-account.ts'
import { createChallenge, deadChallenge, isChallenge, spendChallenge } from '../challenge.ts'
import type { Person } from '../person.ts'
import { deleteRecoveryCodes, ensureRecoveryCodes } from '../second-factor/recovery-codes.ts'
import { checkSecondFactorLeft } from '../second-factor/required-factor.ts'
import type { SignInDeps } from '../sign-in.ts'
import { deletePasskey, insertPasskey, listCredentials, listPasskeys, PASSKEYS_MAX, renamePasskey } from './passkey.ts'
import type { RelyingParty } from './relying-party.ts'
import { challengeBytes, refusedPasskey } from './verify-passkey.ts'

/** A person and one of their sessions: a registration can be finished only in the session that started it. */
interface Registrant {
  person: Person
  sessionId: string
  address: string
}

/** Starts registering a passkey. @throws Refusal TOO_MANY_PASSKEYS */
export async function startRegistration(
  deps: SignInDeps,
  relyingParty: RelyingParty,
  registrant: Registrant,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { person } = registrant
  const existing = await listCredentials(deps.db, person.personId)
  if (existing.length >= PASSKEYS_MAX)
    throw new Refusal(422, 'TOO_MANY_PASSKEYS', `You have ${PASSKEYS_MAX} passkeys, the maximum. Remove one first.`)
  const { generateRegistrationOptions } = await import('@simplewebauthn/server')
  return generateRegistrationOptions({
    rpName: relyingParty.name,
    rpID: relyingParty.id,
    userName: person.email,
    userDisplayName: person.name,
    userID: new Uint8Array(Buffer.from(person.personId)),
    challenge: challengeBytes(createChallenge(deps, purposeFor(registrant))),
    attestationType: 'none',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    excludeCredentials: existing.map(({ credentialId, transports }) => ({
      id: credentialId.toString('base64url'),
      transports,
    })),
  })
}

/**
 * Registers the passkey that the authenticator created, and notifies the person, because a passkey survives a password
 * change. Returns the recovery codes if it is the person's first second factor.
 * @throws Refusal PASSKEY_REFUSED, PASSKEY_KNOWN, CHALLENGE_DEAD
 */
export async function finishRegistration(
  deps: SignInDeps,
  relyingParty: RelyingParty,
  registrant: Registrant,
  input: { name: string; answer: RegistrationResponseJSON },
  notify: (tx: Tx) => void,
): Promise<{ passkeyId: string; recoveryCodes: string[] }> {
  const { person } = registrant
  const { challenge, ...credential } = await verifyRegistration(
    deps,
    relyingParty,
    purposeFor(registrant),
    input.answer,
  )
  const by = byPerson(person, registrant.address)
  const entry = { action: 'person.add_passkey', after: { name: input.name } } as const
  return changeAccount(deps, person, entry, by, async (tx) => {
    await spendChallenge(tx, challenge)
    const passkeyId = deps.ids.uuid()
    await insertPasskey(tx, { passkeyId, personId: person.personId, name: input.name, ...credential })
    notify(tx)
    return { passkeyId, recoveryCodes: await ensureRecoveryCodes(tx, deps.ids, person.personId) }
  })
}

export function renameOwnPasskey(deps: SignInDeps, person: Person, passkeyId: string, name: string, by: By) {
  return changeAccount(deps, person, { action: 'person.rename_passkey', after: { name } }, by, async (tx) => {
    if (!(await renamePasskey(tx, person.personId, passkeyId, name))) throw notFound('passkey')
  })
}

/** Removes a passkey; if it is the last second factor, also the recovery codes. @throws Refusal SECOND_FACTOR_NEEDED */
export function removeOwnPasskey(deps: SignInDeps, person: Person, passkeyId: string, by: By): Promise<void> {
  return changeAccount(deps, person, { action: 'person.remove_passkey' }, by, async (tx, locked) => {
    if (!(await deletePasskey(tx, person.personId, passkeyId))) throw notFound('passkey')
    const { length: passkeys } = await listPasskeys(tx, person.personId)
    checkSecondFactorLeft(locked, { authenticator: locked.totpConfirmed, passkeys })
    if (passkeys === 0 && !locked.totpConfirmed) deleteRecoveryCodes(tx, person.personId)
  })
}

async function verifyRegistration(
  deps: SignInDeps,
  relyingParty: RelyingParty,
  purpose: string,
  answer: RegistrationResponseJSON,
) {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  let challenge: string | undefined
  const checkChallenge = (answered: string) => {
    if (isChallenge(deps, purpose, answered)) challenge = answered
    return challenge !== undefined
  }
  const options = { expectedOrigin: relyingParty.origins, expectedRPID: relyingParty.id }
  const verified = await verifyRegistrationResponse({
    ...{ response: answer, expectedChallenge: checkChallenge, ...options, requireUserVerification: true },
  }).catch(() => undefined)
  if (challenge === undefined) throw deadChallenge()
  if (!verified?.verified) throw refusedPasskey()
  const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential
  return {
    challenge,
    credentialId: Buffer.from(id, 'base64url'),
    publicKey: Buffer.from(publicKey),
    signCount: BigInt(counter),
    transports: transports.slice(0, TRANSPORTS_MAX).filter((transport) => /^[a-z-]{1,20}$/.test(transport)),
  }
}

/** WebAuthn defines six transports. */
const TRANSPORTS_MAX = 10

function purposeFor({ person, sessionId }: Registrant): string {
  return `passkey registration ${person.personId} ${sessionId}`
}
