import { createBatcher } from '../lib/batch.ts'
import { Refusal } from '../lib/refusal.ts'

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
