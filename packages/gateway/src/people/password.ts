import { hash, verify } from '@node-rs/argon2'
import { Refusal } from '../lib/refusal.ts'
import { hashing } from './hashing.ts'

export const PASSWORD_LENGTH_MIN = 12
/** argon2 would take megabytes; nobody types them. */
export const PASSWORD_LENGTH_MAX = 200

/** argon2id is the library's default; OWASP's first choice of costs: 19 MiB, two passes, about 25 ms on one core. */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** One for the process, as the threads are. */
const inTurn = hashing()

/** @throws Refusal PASSWORDS_BUSY */
export function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(password, OPTIONS))
}

/**
 * Costs the same when nobody has the address, or has not set a password: then it compares with a hash of nothing.
 * @throws Refusal PASSWORDS_BUSY, alike for everybody
 */
export async function passwordMatches(passwordHash: string | null, password: string): Promise<boolean> {
  if (password.length > PASSWORD_LENGTH_MAX) return false
  const right = await inTurn(async () => verify(passwordHash ?? (await nobody()), password))
  return right && passwordHash !== null
}

/** @throws Refusal PASSWORD_WEAK */
export function checkPasswordRules(password: string, person: { email: string }): void {
  const weak = (reason: string) => new Refusal(422, 'PASSWORD_WEAK', reason)
  if (password.length < PASSWORD_LENGTH_MIN)
    throw weak(`Choose a longer password: at least ${PASSWORD_LENGTH_MIN} characters. Several words are fine.`)
  if (password.length > PASSWORD_LENGTH_MAX)
    throw weak(`Choose a password of at most ${PASSWORD_LENGTH_MAX} characters.`)
  const letters = new Set(password.toLowerCase())
  const local = person.email.split('@')[0] ?? ''
  if (letters.size < 5 || (local.length > 3 && password.toLowerCase().includes(local)))
    throw weak('Choose a password that is harder to guess: not your address, not a few characters repeated.')
}

let hashOfNothing: Promise<string> | undefined
function nobody(): Promise<string> {
  hashOfNothing ??= hash('nobody has this password', OPTIONS)
  return hashOfNothing
}
