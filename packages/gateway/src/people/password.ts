import { hash, verify } from '@node-rs/argon2'
import { createBatcher } from '../lib/batch.ts'
import { Refusal } from '../lib/refusal.ts'

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

/** Runs what hashes a password, or refuses to. @throws Refusal PASSWORDS_BUSY */
type Hashing = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * Half of the four threads that libuv has for a process: the others look up the names of suppliers and read files. Without
 * a bound, two hundred and forty sign-ins at once, which take no password, held those up for 14 s.
 */
const AT_ONCE_MAX = 2
/** They wait about a second on a quiet machine; who comes after them would rather be told. */
const WAITING_MAX = 50

/** Lets hashes of passwords take turns. */
export function hashing(): Hashing {
  const turns = createBatcher<() => Promise<unknown>, unknown>({
    run: (works) => Promise.all(works.map((work) => work())),
    limit: 1,
    concurrency: AT_ONCE_MAX,
    queueLimit: WAITING_MAX,
    queueFullError: () =>
      new Refusal(503, 'PASSWORDS_BUSY', 'Too many passwords are being checked just now. Try again in a few seconds.'),
  })
  return <Result>(work: () => Promise<Result>) => turns.add(work) as Promise<Result>
}
