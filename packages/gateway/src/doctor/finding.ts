import type { Config } from '../config/config.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Outbound } from '../lib/outbound/outbound.ts'
import type { Db } from '../lib/postgres/db.ts'

/** What one look found. Words are sentences, and those of a fault or a warning end with what to do. */
export interface Finding {
  check: string
  /** FAULT: does not work, or will lose something. WARNING: works, and somebody should know. */
  state: 'OK' | 'WARNING' | 'FAULT'
  words: string
}

/** The findings of one check, in its name. */
export function findings(check: string) {
  const say = (state: Finding['state']) => (words: string) => ({ check, state, words })
  return { ok: say('OK'), warning: say('WARNING'), fault: say('FAULT') }
}

export type Findings = ReturnType<typeof findings>

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
