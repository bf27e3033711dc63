import { type AuditEntry, audit, byPerson, SYSTEM } from '../audit/audit.ts'
import type { DatabaseClock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import { Refusal } from '../lib/refusal.ts'
import {
  addressKey,
  browserKey,
  countFailure,
  forgetFailures,
  isKnownBrowser,
  isLocked,
  type LockKey,
  newKnownBrowser,
  personKey,
} from './lockout.ts'
import { passwordMatches } from './password.ts'
import { lockPerson, lockProven, type Person, personByEmail } from './person.ts'
import { codeWrong, spendCode } from './second-factor.ts'
import { openSession } from './session.ts'

export interface SignInDeps {
  db: Db
  ids: Ids
  databaseClock: Pick<DatabaseClock, 'now'>
  cipher: Cipher
  linkKey: Buffer
}

export interface SignIn {
  email: string
  password: string
  /** Of the authenticator, or a recovery code. */
  code?: string | undefined
  address: string
  userAgent: string
  /** What the browser has kept of a sign-in before. */
  browser?: string | undefined
}

export interface SignedInNow {
  /** Of the session. */
  token: string
  person: Person
  /** For the browser to keep. */
  browser: string
}

/**
 * Opens a session. Whoever fails learns nothing of who exists: unknown address, wrong password and disabled person get
 * one answer at one cost, and addresses lock alike.
 * @throws Refusal SIGN_IN_FAILED, TOO_MANY_ATTEMPTS, PASSWORDS_BUSY; and, to whoever knows the password, CODE_REQUIRED,
 * CODE_WRONG
 */
export async function signIn(deps: SignInDeps, attempt: SignIn): Promise<SignedInNow> {
  const { db, ids, linkKey, databaseClock } = deps
  const asker = await personByEmail(db, attempt.email)
  const { browser = '' } = attempt
  const isKnown = isKnownBrowser(linkKey, browser, asker, databaseClock.now())
  const key = isKnown ? browserKey(browser) : addressKey(attempt.email)
  const asked: Attempt = { ...attempt, key, where: isKnown ? { knownBrowser: true } : null }
  const person = await provePassword(db, ids, asked, asker)
  if (person.totpConfirmed) await proveCode(deps, person, asked)
  const token = await db.tx(async (tx) => {
    const locked = await lockProven(tx, person)
    if (locked?.totpConfirmed !== person.totpConfirmed) throw signInFailed()
    const by = byPerson(person, attempt.address)
    audit(tx, ids, { tenantId: person.tenantId, ...by, action: 'person.sign_in' })
    return openSession(tx, ids, person.personId, attempt)
  })
  await forgetFailures(db, key)
  return { token, person, browser: newKnownBrowser(linkKey, ids, person, databaseClock.now()) }
}

/**
 * Asks a signed-in person again, before something that a stolen session must not reach. Counts failures like a sign-in,
 * but apart from those.
 * @throws Refusal PASSWORD_WRONG, CODE_REQUIRED, CODE_WRONG, TOO_MANY_ATTEMPTS, PASSWORDS_BUSY
 */
export async function signInAgain(
  deps: SignInDeps,
  person: Person,
  proof: { password: string; code?: string | undefined; address: string },
  asked: { codeToo: boolean } = { codeToo: true },
): Promise<void> {
  const attempt: Attempt = { ...proof, key: personKey(person.personId), where: { signedIn: true } }
  try {
    await provePassword(deps.db, deps.ids, attempt, person)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'SIGN_IN_FAILED') throw passwordWrong()
    throw error
  }
  if (person.totpConfirmed && asked.codeToo) await proveCode(deps, person, attempt)
}

/** A password to be proved, and what a wrong one counts under. */
interface Attempt {
  password: string
  code?: string | undefined
  address: string
  key: LockKey
  /** For the audit log, where it is told from a stranger's. */
  where: { signedIn: true } | { knownBrowser: true } | null
}

async function provePassword(db: Db, ids: Ids, attempt: Attempt, person: Person | undefined): Promise<Person> {
  if (await isLocked(db, attempt.key)) throw tooMany()
  const right = await passwordMatches(person?.passwordHash ?? null, attempt.password)
  // Once more: guesses that come all at once are past the first look before the first of them is counted.
  if (await isLocked(db, attempt.key)) throw tooMany()
  if (right && person?.status === 'ACTIVE') return person
  await failed(db, ids, attempt, person)
  throw signInFailed()
}

async function proveCode(deps: SignInDeps, person: Person, attempt: Attempt): Promise<void> {
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

async function failed(db: Db, ids: Ids, attempt: Attempt, person: Person | undefined): Promise<void> {
  const { lockedNow } = await countFailure(db, attempt.key)
  if (!lockedNow || !person) return
  const { tenantId, email: subject } = person
  const entry: AuditEntry = { tenantId, ...SYSTEM, address: attempt.address, action: 'person.lock', subject }
  // Who guesses past a sign-in has somebody's session: that is worth another look than a stranger's try.
  await db.tx(async (tx) => audit(tx, ids, attempt.where ? { ...entry, after: attempt.where } : entry))
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
