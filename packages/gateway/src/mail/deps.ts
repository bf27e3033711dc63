import type { Config } from '../config.ts'
import type { DatabaseClock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import type { Ids } from '../lib/ids.ts'
import type { Log } from '../lib/log.ts'
import type { MailServer } from '../lib/outbound/smtp.ts'

/** What the mail loop works with. */
export interface MailDeps {
  config: Pick<Config, 'operatorEmails' | 'mailFrom'>
  db: Db
  ids: Ids
  cipher: Cipher
  databaseClock: DatabaseClock
  log: Log
  mailServer: MailServer
  /** Where the console is, without a slash at its end. */
  consoleUrl(): string
}
