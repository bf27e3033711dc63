import { networkKey } from '@dealer-esim/lib/address-blocks.ts'
import type { DatabaseClock } from '@dealer-esim/lib/clock.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { type AuditEntry, audit, byPerson, SYSTEM } from '#platform/audit/audit.ts'
import { auditCounted } from '#platform/audit/audit-count.ts'
import { isConfirmation } from './confirmation.ts'
import {
  addressKey,
  browserKey,
  clearFailures,
  countFailure,
  createBrowserToken,
  isKnownBrowser,
  isLocked,
  type LockKey,
  personKey,
} from './lockout.ts'
import { passwordMatches } from './password.ts'
import { findPersonByEmail, hasSecondFactor, lockPerson, lockUnchanged, type Person } from './person.ts'
import { checkPasswordAllowed, type PasswordConfig } from './provider/provider-passwords.ts'
import { redeemCode, wrongCode } from './second-factor/authenticator.ts'
import { createSession, type SignInMethod } from './session.ts'

export interface SignInDeps {
  db: Db
  ids: Ids
  databaseClock: Pick<DatabaseClock, 'now'>
  cipher: Cipher
  linkKey: Buffer
  config: PasswordConfig
}

export interface SignIn {
  email: string
  password: string
  /** A code from the authenticator, or a recovery code. */
  code?: string | undefined
  address: string
  userAgent: string
  /** The token that the browser stored after an earlier sign-in. */
  browser?: string | undefined
}

export interface SignInResult {
  /** For the session cookie. */
  token: string
  person: Person
  /** The token for the browser to store (lockout.ts). */
  browser: string
  signedInBy: SignInMethod
}

/**
 * Creates a session. A failure does not reveal whether the address exists: an unknown address, a wrong password and a
 * disabled person get the same answer after the same amount of work, and all addresses are locked alike.
 * @throws Refusal SIGN_IN_FAILED, TOO_MANY_ATTEMPTS, PASSWORDS_BUSY, PASSWORDS_OFF; after the correct password also
 * CODE_REQUIRED, PASSKEY_REQUIRED, CODE_WRONG, CODE_USED
 */
export async function signIn(deps: SignInDeps, input: SignIn): Promise<SignInResult> {
  const { db, linkKey, databaseClock } = deps
  const claimed = await findPersonByEmail(db, input.email)
  checkPasswordAllowed(deps.config, input.email, claimed, databaseClock.now())
  const { browser = '' } = input
  const isKnown = isKnownBrowser(linkKey, browser, claimed, databaseClock.now())
  const key = isKnown ? browserKey(browser) : addressKey(input.email)
  const attempt: Attempt = { ...input, key, origin: isKnown ? { knownBrowser: true } : null }
  const person = await verifyPassword(deps, attempt, claimed)
  if (hasSecondFactor(person)) await verifyCode(deps, person, attempt)
  const result = await db.tx(async (tx) => {
    const locked = await lockUnchanged(tx, person)
    if (!locked || (hasSecondFactor(locked) && !hasSecondFactor(person))) throw signInFailed()
    return openSession(tx, deps, locked, { ...input, signedInBy: 'PASSWORD' })
  })
  await clearFailures(db, key)
  return result
}

/**
 * Creates a session for a person whose identity is verified and whose row is locked, and records it. Every sign-in gets a
 * new token.
 */
export function openSession(
  tx: Tx,
  { ids, linkKey, databaseClock }: Pick<SignInDeps, 'ids' | 'linkKey' | 'databaseClock'>,
  person: Person,
  from: { address: string; userAgent: string; signedInBy: SignInMethod },
): SignInResult {
  const { address, userAgent, signedInBy } = from
  const after = signedInBy === 'PASSWORD' ? {} : { after: { by: signedInBy } }
  audit(tx, ids, { tenantId: person.tenantId, ...byPerson(person, address), action: 'person.sign_in', ...after })
  const token = createSession(tx, ids, person.personId, { address, userAgent, signedInBy })
  const browser = createBrowserToken(linkKey, ids, person, databaseClock.now())
  return { token, person, browser, signedInBy }
}

/**
 * What people must provide again for changes that must not be possible with a stolen session: a password, or a
 * confirmation.
 */
export interface Reauthentication {
  password?: string | undefined
  code?: string | undefined
  /** Obtained with the password, a passkey, or another sign-in at the provider (confirmation.ts). */
  confirmation?: string | undefined
  /** The session that requests the change. */
  sessionId: string
}

/**
 * Verifies the password of a signed-in person again, and the code if a second factor is set, before actions that must not
 * be possible with a stolen session. Failures are counted as for a sign-in, but separately.
 * @throws Refusal PASSWORD_REQUIRED, CONFIRMATION_DEAD, PASSWORD_WRONG, CODE_REQUIRED, CODE_WRONG, CODE_USED,
 * TOO_MANY_ATTEMPTS, PASSWORDS_BUSY
 */
export async function reauthenticate(
  deps: SignInDeps,
  person: Person,
  { confirmation, password, sessionId, ...input }: Reauthentication & { address: string },
): Promise<void> {
  if (confirmation !== undefined) {
    if (isConfirmation(deps, person, sessionId, confirmation)) return
    throw new Refusal(422, 'CONFIRMATION_DEAD', 'Your confirmation has expired. Confirm your identity again.')
  }
  if (password === undefined)
    throw new Refusal(422, 'PASSWORD_REQUIRED', 'This also requires your password or a passkey. Send one of them.')
  const attempt: Attempt = { ...input, password, key: personKey(person.personId), origin: { signedIn: true } }
  try {
    await verifyPassword(deps, attempt, person)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'SIGN_IN_FAILED') throw wrongPassword()
    throw error
  }
  if (hasSecondFactor(person)) await verifyCode(deps, person, attempt)
}

/** A password to verify, and the key under which a failure will be counted. */
interface Attempt {
  password: string
  code?: string | undefined
  address: string
  key: LockKey
  /** Distinguishes the attempt from a stranger's (null) in the audit log. */
  origin: { signedIn: true } | { knownBrowser: true } | null
}

async function verifyPassword(deps: SignInDeps, attempt: Attempt, person: Person | undefined): Promise<Person> {
  const { db } = deps
  if (await isLocked(db, attempt.key)) throw tooMany()
  const right = await passwordMatches(person?.passwordHash ?? null, attempt.password)
  // Checked again: concurrent guesses all pass the first check before the first of them is counted.
  if (await isLocked(db, attempt.key)) throw tooMany()
  if (right && person?.status === 'ACTIVE') return person
  await recordFailure(deps, attempt, person, right ? 'DISABLED' : 'PASSWORD')
  throw signInFailed()
}

async function verifyCode(deps: SignInDeps, person: Person, attempt: Attempt): Promise<void> {
  const code = attempt.code
  if (!code && !person.totpConfirmed)
    throw new Refusal(401, 'PASSKEY_REQUIRED', 'Use your passkey, or enter one of your recovery codes.')
  if (!code) throw new Refusal(401, 'CODE_REQUIRED', 'Enter the code from your authenticator, or a recovery code.')
  const redeemed = await deps.db.tx(async (tx) => {
    const locked = await lockPerson(tx, person.personId)
    return locked === undefined ? 'wrong' : redeemCode(tx, deps, locked, code)
  })
  if (redeemed === 'accepted') return
  await recordFailure(deps, attempt, person, 'CODE')
  throw wrongCode(redeemed)
}

async function recordFailure(
  deps: SignInDeps,
  attempt: Attempt,
  person: Person | undefined,
  reason: 'PASSWORD' | 'CODE' | 'DISABLED',
): Promise<void> {
  const { db, ids } = deps
  const { lockedNow } = await countFailure(db, attempt.key)
  await auditFailedSignIn(deps, { ...attempt, person, reason: person ? reason : 'ADDRESS' })
  if (!lockedNow || !person) return
  const { tenantId, email: subject } = person
  const entry: AuditEntry = { tenantId, ...SYSTEM, address: attempt.address, action: 'person.lock', subject }
  await db.tx(async (tx) => audit(tx, ids, attempt.origin ? { ...entry, after: attempt.origin } : entry))
}

/** Why a sign-in failed. ADDRESS: nobody has the address. */
type FailureReason = 'PASSWORD' | 'CODE' | 'DISABLED' | 'ADDRESS' | 'PASSKEY' | 'PROVIDER'

/**
 * Records a failed sign-in in the audit log, counted per minute: a person's failures for their organisation, all others per
 * network for the operator. The input is not recorded, not even an unknown address, because it may be a password.
 */
export async function auditFailedSignIn(
  { db, databaseClock }: Pick<SignInDeps, 'db' | 'databaseClock'>,
  failure: { person?: Person | undefined; address: string; reason: FailureReason; origin?: Attempt['origin'] },
): Promise<void> {
  const { person, address, reason, origin = null } = failure
  const isSignedIn = origin !== null && 'signedIn' in origin
  await auditCounted(
    db,
    databaseClock.now(),
    `${person?.personId ?? networkKey(address)} ${reason} ${JSON.stringify(origin)}`,
    {
      ...(person && isSignedIn ? byPerson(person, address) : { actor: 'visitor', address }),
      tenantId: person?.tenantId ?? null,
      action: 'person.fail_sign_in',
      ...(person && { subject: person.email }),
      after: { reason, ...origin },
    },
  )
}

function signInFailed(): Refusal {
  return new Refusal(401, 'SIGN_IN_FAILED', 'The e-mail address or password is wrong. Check both and try again.')
}

export function wrongPassword(): Refusal {
  return new Refusal(422, 'PASSWORD_WRONG', 'The password is wrong. Nothing was shown or changed.')
}

function tooMany(): Refusal {
  return new Refusal(429, 'TOO_MANY_ATTEMPTS', 'Too many failed attempts. Wait 15 minutes and try again.')
}
