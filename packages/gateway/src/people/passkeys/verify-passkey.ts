import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { AuthenticationResponseJSON, PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server'
import { type ChallengeDeps, createChallenge, deadChallenge, isChallenge } from '../challenge.ts'
import { findCredential, type StoredCredential } from './passkey.ts'
import type { RelyingParty } from './relying-party.ts'

export type PasskeyDeps = ChallengeDeps & { db: Db }

/** Ten minutes, as long as the challenge is valid. */
const TIMEOUT_MS = 10 * 60_000

/**
 * What a browser passes to the authenticator. User verification is required: possession of the device is not enough, which
 * makes a passkey two factors.
 * @param credentials those that may answer; empty: any that the authenticator keeps for this relying party
 */
export async function createRequest(
  deps: PasskeyDeps,
  relyingParty: RelyingParty,
  purpose: string,
  credentials: readonly StoredCredential[] = [],
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
  return generateAuthenticationOptions({
    rpID: relyingParty.id,
    challenge: challengeBytes(createChallenge(deps, purpose)),
    timeout: TIMEOUT_MS,
    userVerification: 'required',
    allowCredentials: credentials.map(({ credentialId, transports }) => ({
      id: credentialId.toString('base64url'),
      transports,
    })),
  })
}

/** A verified answer. The caller must redeem its challenge and record its count in one transaction. */
export interface VerifiedPasskey {
  passkeyId: string
  personId: string
  challenge: string
  signCount: number
}

/**
 * Verifies an authenticator's answer: our challenge for this purpose, from one of our pages, signed with the registered
 * key, with user verification. A count that has not increased means that the passkey was copied.
 * @throws Refusal PASSKEY_UNKNOWN, PASSKEY_REFUSED, CHALLENGE_DEAD
 */
export async function verifyAnswer(
  deps: PasskeyDeps,
  relyingParty: RelyingParty,
  purpose: string,
  answer: AuthenticationResponseJSON,
): Promise<VerifiedPasskey> {
  const credential = await findCredential(deps.db, Buffer.from(answer.id, 'base64url'))
  if (!credential)
    throw new Refusal(422, 'PASSKEY_UNKNOWN', 'This passkey is not registered here. Use a different one.')
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  let challenge: string | undefined
  let isOurs = false
  const checkChallenge = (answered: string) => {
    challenge = answered
    isOurs = isChallenge(deps, purpose, answered)
    return isOurs
  }
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: answer,
      expectedChallenge: checkChallenge,
      expectedOrigin: relyingParty.origins,
      expectedRPID: relyingParty.id,
      requireUserVerification: true,
      credential: {
        id: credential.credentialId.toString('base64url'),
        publicKey: new Uint8Array(credential.publicKey),
        counter: Number(credential.signCount),
      },
    })
    const { passkeyId, personId } = credential
    const isTheirs = readUserHandle(answer) === undefined || readUserHandle(answer) === personId
    if (verified && isTheirs && challenge !== undefined)
      return { passkeyId, personId, challenge, signCount: authenticationInfo.newCounter }
  } catch (error) {
    if (error instanceof Refusal) throw error
    if (challenge !== undefined && !isOurs) throw deadChallenge()
  }
  throw refusedPasskey()
}

export function refusedPasskey(): Refusal {
  return new Refusal(422, 'PASSKEY_REFUSED', 'The passkey could not be verified. Try again, or use a different one.')
}

/** The library encodes text as UTF-8, but the challenge is already base64url. */
export function challengeBytes(challenge: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(challenge, 'base64url'))
}

/** The person that the authenticator has stored with a passkey; undefined if it has stored none. */
function readUserHandle(answer: AuthenticationResponseJSON): string | undefined {
  const { userHandle } = answer.response
  return userHandle ? Buffer.from(userHandle, 'base64url').toString() : undefined
}
