import { audit } from '../audit/audit.ts'
import type { Clock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import type { Ids } from '../lib/ids.ts'
import { Refusal } from '../lib/refusal.ts'
import { countFailure, forgetFailures, isLocked } from './lockout.ts'
import { passwordMatches } from './password.ts'
import { lockPerson, lockProven, type Person, personByEmail } from './person.ts'
import { codeWrong, spendCode } from './second-factor.ts'
import { openSession } from './session.ts'

export interface SignInDeps {
  db: Db
  ids: Ids
  clock: Clock
  cipher: Cipher
}

export interface SignIn {
  email: string
  password: string
  /** Of the authenticator, or a recovery code. */
  code?: string | undefined
  address: string
  userAgent: string
}

/**
 * Opens a session. Whoever fails learns nothing of who exists: unknown address, wrong password and disabled person get
 * one answer at one cost, and addresses lock alike.
 * @throws Refusal SIGN_IN_FAILED, TOO_MANY_ATTEMPTS, PASSWORDS_BUSY; and, to whoever knows the password, CODE_REQUIRED,
 * CODE_WRONG
 */
export async function signIn(deps: SignInDeps, attempt: SignIn): Promise<{ token: string; person: Person }> {
  const { db, ids } = deps
  const person = await provePassword(db, ids, attempt, await personByEmail(db, attempt.email))
  if (person.totpConfirmed) await proveCode(deps, person, attempt)
  const token = await db.tx(async (tx) => {
    const locked = await lockProven(tx, person)
    if (locked?.totpConfirmed !== person.totpConfirmed) throw signInFailed()
    const actor = `person:${person.personId}` as const
    audit(tx, ids, { tenantId: person.tenantId, actor, action: 'person.sign_in', address: attempt.address })
    return openSession(tx, ids, person.personId, attempt)
  })
  await forgetFailures(db, attempt.email)
  return { token, person }
}

/**
 * Asks a signed-in person again, before something that a stolen session must not reach. Counts failures like a sign-in.
 * @throws Refusal PASSWORD_WRONG, CODE_REQUIRED, CODE_WRONG, TOO_MANY_ATTEMPTS, PASSWORDS_BUSY
 */
export async function signInAgain(
  deps: SignInDeps,
  person: Person,
  proof: { password: string; code?: string | undefined; address: string },
  asked: { codeToo: boolean } = { codeToo: true },
): Promise<void> {
  const attempt = { ...proof, email: person.email }
  try {
    await provePassword(deps.db, deps.ids, attempt, person)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'SIGN_IN_FAILED') throw passwordWrong()
    throw error
  }
  if (person.totpConfirmed && asked.codeToo) await proveCode(deps, person, attempt)
}

async function provePassword(
  db: Db,
  ids: Ids,
  attempt: { email: string; password: string; address: string },
  person: Person | undefined,
): Promise<Person> {
  if (await isLocked(db, attempt.email)) throw tooMany()
  const right = await passwordMatches(person?.passwordHash ?? null, attempt.password)
  // Once more: guesses that come all at once are past the first look before the first of them is counted.
  if (await isLocked(db, attempt.email)) throw tooMany()
  if (right && person?.status === 'ACTIVE') return person
  await failed(db, ids, attempt, person)
  throw signInFailed()
}

async function proveCode(
  deps: SignInDeps,
  person: Person,
  attempt: { email: string; code?: string | undefined; address: string },
): Promise<void> {
  const code = attempt.code
  if (!code)
    throw new Refusal(401, 'CODE_REQUIRED', 'Enter the code that your authenticator shows, or a recovery code.')
  const spent = await deps.db.tx(async (tx) => {
    const locked = await lockPerson(tx, person.personId)
    return locked !== undefined && spendCode(tx, deps, locked, code)
  })
  if (spent) return
  await failed(deps.db, deps.ids, attempt, person)
  throw codeWrong()
}

async function failed(
  db: Db,
  ids: Ids,
  attempt: { email: string; address: string },
  person: Person | undefined,
): Promise<void> {
  const { lockedNow } = await countFailure(db, attempt.email)
  if (!lockedNow || !person) return
  const entry = { tenantId: person.tenantId, actor: 'system' as const, subject: person.email, address: attempt.address }
  await db.tx(async (tx) => audit(tx, ids, { ...entry, action: 'person.lock' }))
}

function signInFailed(): Refusal {
  return new Refusal(401, 'SIGN_IN_FAILED', 'E-mail address or password is wrong. Check both and try again.')
}

export function passwordWrong(): Refusal {
  return new Refusal(422, 'PASSWORD_WRONG', 'The password is wrong. Nothing was shown or changed.')
}

function tooMany(): Refusal {
  return new Refusal(429, 'TOO_MANY_ATTEMPTS', 'Too many failed attempts. Wait a quarter of an hour and try again.')
}
