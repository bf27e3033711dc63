import { Secret, TOTP } from 'otpauth'
import sql from 'sql-template-tag'
import type { DatabaseClock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { Tx } from '../lib/postgres/db.ts'
import { notFound, Refusal } from '../lib/refusal.ts'
import { lockPerson, type Person } from './person.ts'
import { hashToken } from './token.ts'

const PERIOD_S = 30
/** A phone's clock may be off by this many periods, either way. */
const WINDOW_STEPS = 1
const SECRET_BYTES = 20
const RECOVERY_CODES = 10
const RECOVERY_CODE_BYTES = 8

export interface SecondFactorDeps {
  cipher: Cipher
  /** Codes depend on the time, and a node's own clock may be wrong. */
  databaseClock: Pick<DatabaseClock, 'now'>
  ids: Ids
}

/**
 * Prepares a second factor, which takes effect with `confirmSecondFactor`. Replaces an unconfirmed one, but not one that
 * was confirmed meanwhile in another tab.
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

/** Turns the second factor on. Returns the recovery codes, which are never shown again. */
export async function confirmSecondFactor(
  tx: Tx,
  deps: SecondFactorDeps,
  personId: string,
  code: string,
): Promise<{ recoveryCodes: string[] }> {
  const person = await lockPerson(tx, personId)
  if (person?.totpConfirmed) throw alreadySet()
  if (!person?.totpSecret)
    throw new Refusal(409, 'SECOND_FACTOR_MISSING', 'No second factor was set up. Start the set-up first.')
  if (!(await redeemTotp(tx, deps, person, code))) throw wrongCode()
  tx.send(sql`update people set totp_confirmed = true, updated_at = now() where person_id = ${personId}`)
  return { recoveryCodes: renewRecoveryCodes(tx, deps.ids, personId) }
}

export function removeSecondFactor(tx: Tx, personId: string): void {
  tx.send(sql`delete from recovery_codes where person_id = ${personId}`)
  tx.send(sql`
    update people set totp_secret = null, totp_confirmed = false, totp_last_step = 0, updated_at = now()
    where person_id = ${personId}`)
}

/** Accepts a code of the authenticator or a recovery code, each once. The caller must have locked the person. */
export async function redeemCode(tx: Tx, deps: SecondFactorDeps, person: Person, code: string): Promise<boolean> {
  const plain = code.replaceAll(/[\s-]/g, '').toUpperCase()
  if (/^\d{6}$/.test(plain)) return redeemTotp(tx, deps, person, plain)
  const rows = await tx.query(sql`
    update recovery_codes set used_at = now()
    where person_id = ${person.personId} and code_hash = ${hashToken(plain)} and used_at is null returning 1`)
  return rows.length > 0
}

export function wrongCode(): Refusal {
  return new Refusal(422, 'CODE_WRONG', 'The code is wrong or was used before. Wait for the next code and enter that.')
}

function alreadySet(): Refusal {
  return new Refusal(409, 'SECOND_FACTOR_SET', 'A second factor is already set up. Remove it first.')
}

async function redeemTotp(tx: Tx, deps: SecondFactorDeps, person: Person, code: string): Promise<boolean> {
  if (!person.totpSecret) return false
  const base32 = deps.cipher.decrypt(person.totpSecret, person.personId).toString()
  const now = deps.databaseClock.now()
  const delta = totpOf(base32, person.email).validate({ token: code, timestamp: now, window: WINDOW_STEPS })
  if (delta === null) return false
  const step = Math.floor(now / 1000 / PERIOD_S) + delta
  // Checks and records the step in one statement, so that a code works for only one of two concurrent sign-ins.
  const rows = await tx.query(sql`
    update people set totp_last_step = ${step} where person_id = ${person.personId} and totp_last_step < ${step}
    returning 1`)
  return rows.length > 0
}

function renewRecoveryCodes(tx: Tx, ids: Ids, personId: string): string[] {
  tx.send(sql`delete from recovery_codes where person_id = ${personId}`)
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    ids.bytes(RECOVERY_CODE_BYTES).toString('hex').toUpperCase(),
  )
  const hashes = codes.map((code) => hashToken(code))
  tx.send(sql`insert into recovery_codes (person_id, code_hash) select ${personId}, unnest(${hashes}::bytea[])`)
  return codes.map((code) => code.match(/.{4}/g)?.join('-') ?? code)
}

function totpOf(base32: string, label: string): TOTP {
  return new TOTP({ issuer: 'Dealer eSIM Gateway', label, secret: Secret.fromBase32(base32), period: PERIOD_S })
}
