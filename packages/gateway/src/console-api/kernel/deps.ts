import type { Config } from '../../config/config.ts'
import type { Deps } from '../../deps.ts'

/** What the console's door needs of the gateway. */
export interface ConsoleDeps
  extends Pick<
    Deps,
    | 'db'
    | 'ids'
    | 'clock'
    | 'databaseClock'
    | 'cipher'
    | 'log'
    | 'wake'
    | 'linkKey'
    | 'catalogue'
    | 'outbound'
    | 'suppliers'
    | 'links'
  > {
  config: Pick<Config, 'deployment' | 'smtpUrl'>
  /** Where people reach the console, without a slash at its end: links for them start from it. */
  consoleUrl(): string
}
