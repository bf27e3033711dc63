import type { Config } from '../config/config.ts'
import type { DatabaseClock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { MailServer } from '../lib/outbound/smtp.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Log } from '../lib/telemetry/log.ts'

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
