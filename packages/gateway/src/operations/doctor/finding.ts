import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Config } from '#platform/config/config.ts'

/** One result of a check. A warning's or fault's message ends with the remedy. */
export interface Finding {
  check: string
  /** FAULT: does not work, or will lose something. WARNING: works, but an operator should know. */
  state: 'OK' | 'WARNING' | 'FAULT'
  message: string
  /** The command to run on the server instead. The console does not show it. */
  command?: string
}

/** Makes the findings of one check. */
export function createFindings(check: string) {
  const make = (state: Finding['state']) => (message: string, command?: string) => ({
    ...{ check, state, message },
    ...(command !== undefined && { command }),
  })
  return { ok: make('OK'), warning: make('WARNING'), fault: make('FAULT') }
}

export type Findings = ReturnType<typeof createFindings>

/** Input of a check that needs no database. Checks only read. */
export interface CheckInput {
  /** Variables that could be read. */
  config: Partial<Config>
  outbound: Outbound
}

/** Input of a check that needs a responding database. */
export interface DatabaseCheckInput extends CheckInput {
  db: Db
  /** undefined: no key is configured, or its file does not exist yet. */
  cipher: Cipher | undefined
}
