import type { Config } from '../config/config.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Outbound } from '../lib/outbound/outbound.ts'
import type { Db } from '../lib/postgres/db.ts'

/** What the doctor looks at. It reads, and changes nothing. */
export interface Patient {
  /** As far as it could be read. */
  config: Partial<Config>
  outbound: Outbound
}

/** With a database that answers. */
export interface OpenPatient extends Patient {
  db: Db
  /** undefined: no key is configured, or its file is not there yet. */
  cipher: Cipher | undefined
}
