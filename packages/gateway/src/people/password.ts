import { createBatcher } from '@dealer-esim/lib/batch.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { hash, verify } from '@node-rs/argon2'

export const PASSWORD_LENGTH_MIN = 12
/** Limits the work of argon2, which would accept megabytes. */
export const PASSWORD_LENGTH_MAX = 200

/** The library's default is argon2id; the costs are OWASP's first choice: 19 MiB, two passes, about 25 ms on one core. */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/**
 * Half of libuv's four threads, because the others resolve host names and read files. Without this limit, 240 concurrent
 * sign-ins, which do not need a valid password, blocked that work for 14 s.
 */
const CONCURRENCY_MAX = 2
/** Fifty waiting hashes take about a second on an idle machine; any more are refused. */
const WAITING_MAX = 50

/** One queue per process, because the threads belong to the process. */
const hashQueue = createHashQueue()

/** @throws Refusal PASSWORDS_BUSY */
export function hashPassword(password: string): Promise<string> {
  return hashQueue(() => hash(password, OPTIONS))
}

/**
 * Costs the same if nobody has the address or the person has no password yet: it then compares with a placeholder hash.
 * @throws Refusal PASSWORDS_BUSY, equally for known and unknown addresses
 */
export async function passwordMatches(passwordHash: string | null, password: string): Promise<boolean> {
  if (password.length > PASSWORD_LENGTH_MAX) return false
  const right = await hashQueue(async () => verify(passwordHash ?? (await getPlaceholderHash()), password))
  return right && passwordHash !== null
}

/** @throws Refusal PASSWORD_WEAK */
export function checkPasswordRules(password: string, person: { email: string }): void {
  const weak = (message: string) => new Refusal(422, 'PASSWORD_WEAK', message)
  if (password.length < PASSWORD_LENGTH_MIN)
    throw weak(`Choose a longer password: at least ${PASSWORD_LENGTH_MIN} characters. Several words are fine.`)
  if (password.length > PASSWORD_LENGTH_MAX)
    throw weak(`Choose a password of at most ${PASSWORD_LENGTH_MAX} characters.`)
  const letters = new Set(password.toLowerCase())
  const local = person.email.split('@')[0] ?? ''
  if (letters.size < 5 || (local.length > 3 && password.toLowerCase().includes(local)))
    throw weak(
      'Choose a password that is harder to guess: do not include the name in your e-mail address, and do not repeat only a few characters.',
    )
}

let placeholderHash: Promise<string> | undefined
function getPlaceholderHash(): Promise<string> {
  placeholderHash ??= hash('nobody has this password', OPTIONS)
  return placeholderHash
}

/** Runs a hash when it reaches the head of the queue. @throws Refusal PASSWORDS_BUSY */
type HashQueue = <Result>(work: () => Promise<Result>) => Promise<Result>

/** Limits how many passwords are hashed concurrently. Exported for its test. */
export function createHashQueue(): HashQueue {
  const batcher = createBatcher<() => Promise<unknown>, unknown>({
    run: (works) => Promise.all(works.map((work) => work())),
    limit: 1,
    concurrency: CONCURRENCY_MAX,
    queueLimit: WAITING_MAX,
    queueFullError: () =>
      new Refusal(503, 'PASSWORDS_BUSY', 'Too many passwords are being checked. Try again in a few seconds.'),
  })
  return <Result>(work: () => Promise<Result>) => batcher.add(work) as Promise<Result>
}
