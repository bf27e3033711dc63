import type { DatabaseClock } from '@dealer-esim/lib/clock.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import { Secret, TOTP } from 'otpauth'
import sql from 'sql-template-tag'
import { lockPerson, type Person } from '../person.ts'
import { ensureRecoveryCodes, type Redeemed, redeemRecoveryCode } from './recovery-codes.ts'

const PERIOD_S = 30
/** A phone's clock may be wrong by this many periods in either direction. */
const WINDOW_STEPS = 1
const SECRET_BYTES = 20

export interface SecondFactorDeps {
  cipher: Cipher
  /** Codes depend on the time, and a node's clock may be wrong. */
  databaseClock: Pick<DatabaseClock, 'now'>
  ids: Ids
}

/**
 * Prepares a second factor, which takes effect with `confirmSecondFactor`. Replaces an unconfirmed one, but not one that
 * has since been confirmed in another tab.
 * @throws Refusal NOT_FOUND, SECOND_FACTOR_SET
 */
export async function setUpSecondFactor(
  tx: Tx,
  deps: SecondFactorDeps,
  personId: string,
): Promise<{ secret: string; uri: string }> {
  const person = await lockPerson(tx, personId)
  if (!person) throw notFound('person')
  if (person.totpConfirmed) throw alreadySet()
  const secret = new Secret({ buffer: new Uint8Array(deps.ids.bytes(SECRET_BYTES)).buffer })
  const encrypted = deps.cipher.encrypt(secret.base32, personId)
  tx.send(sql`
    update people set totp_secret = ${encrypted}, totp_last_step = 0, updated_at = now()
    where person_id = ${personId}`)
  return { secret: secret.base32, uri: totpOf(secret.base32, person.email).toString() }
}

/**
 * Turns the authenticator on. Returns the recovery codes, which are never shown again, or none if they were already created
 * with a passkey.
 */
export async function confirmSecondFactor(
  tx: Tx,
  deps: SecondFactorDeps,
  personId: string,
  code: string,
): Promise<{ recoveryCodes: string[] }> {
  const person = await lockPerson(tx, personId)
  if (person?.totpConfirmed) throw alreadySet()
  if (!person?.totpSecret)
    throw new Refusal(
      409,
      'SECOND_FACTOR_MISSING',
      'There is no set-up to confirm. Start setting up the second factor first.',
    )
  const plain = plainCode(code)
  const redeemed = TOTP_CODE.test(plain) ? await redeemTotp(tx, deps, person, plain) : 'wrong'
  if (redeemed !== 'accepted') throw wrongCode(redeemed)
  tx.send(sql`update people set totp_confirmed = true, updated_at = now() where person_id = ${personId}`)
  return { recoveryCodes: await ensureRecoveryCodes(tx, deps.ids, personId) }
}

export function removeAuthenticator(tx: Tx, personId: string): void {
  tx.send(sql`
    update people set totp_secret = null, totp_confirmed = false, totp_last_step = 0, updated_at = now()
    where person_id = ${personId}`)
}

/** Accepts a code from the authenticator or a recovery code, each only once. The caller must have locked the person. */
export async function redeemCode(tx: Tx, deps: SecondFactorDeps, person: Person, code: string): Promise<Redeemed> {
  const plain = plainCode(code)
  // An authenticator that was set up but never confirmed does not count; the person's second factor may be a passkey, for
  // example.
  if (TOTP_CODE.test(plain)) return person.totpConfirmed ? redeemTotp(tx, deps, person, plain) : 'wrong'
  return redeemRecoveryCode(tx, person.personId, plain)
}

const TOTP_CODE = /^\d{6}$/

/** Apps show a code as `123 456`, and some keyboards write full-width digits. */
function plainCode(code: string): string {
  return code.normalize('NFKC').replace(/[\s-]/g, '').toUpperCase()
}

export function wrongCode(redeemed: Exclude<Redeemed, 'accepted'>): Refusal {
  return redeemed === 'used'
    ? new Refusal(422, 'CODE_USED', 'This code has already been used. Wait for the next code and enter that.')
    : new Refusal(422, 'CODE_WRONG', 'The code is wrong. Check it and the clock on your phone, and enter it again.')
}

function alreadySet(): Refusal {
  return new Refusal(409, 'SECOND_FACTOR_SET', 'A second factor is already set up. Remove it first.')
}

async function redeemTotp(tx: Tx, deps: SecondFactorDeps, person: Person, code: string): Promise<Redeemed> {
  if (!person.totpSecret) return 'wrong'
  const base32 = deps.cipher.decrypt(person.totpSecret, person.personId).toString()
  const now = deps.databaseClock.now()
  const delta = totpOf(base32, person.email).validate({ token: code, timestamp: now, window: WINDOW_STEPS })
  if (delta === null) return 'wrong'
  const step = Math.floor(now / 1000 / PERIOD_S) + delta
  // Checks and records the step in one statement, so that a code works in only one of two concurrent sign-ins.
  const rows = await tx.query(sql`
    update people set totp_last_step = ${step} where person_id = ${person.personId} and totp_last_step < ${step}
    returning 1`)
  return rows.length > 0 ? 'accepted' : 'used'
}

function totpOf(base32: string, label: string): TOTP {
  return new TOTP({ issuer: 'Dealer eSIM Gateway', label, secret: Secret.fromBase32(base32), period: PERIOD_S })
}
