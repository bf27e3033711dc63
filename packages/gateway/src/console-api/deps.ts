import type { Logger } from 'pino'
import type { Clock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import type { Ids } from '../lib/ids.ts'

/** What the console's door needs of the gateway. */
export interface ConsoleDeps {
  db: Db
  ids: Ids
  clock: Clock
  cipher: Cipher
  log: Logger
  config: {
    deployment: 'local' | 'test' | 'production'
    /** Where dealers reach the API; links and the explorer start from it. */
    publicUrl: string
    /** Where the console answers, without a slash at its end: links for people start from it. */
    consoleUrl: string
  }
}
