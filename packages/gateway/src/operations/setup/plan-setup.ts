import { randomBytes } from 'node:crypto'
import { inspectConfig } from '#platform/config/config.ts'
import { secretFileName } from '#platform/config/variable-text.ts'
import { type NewDatabase, newDatabaseUrl } from './create-database.ts'
import type { Settings } from './environment-file.ts'

/** The operator's decisions; settings by variable, e.g. `{ PUBLIC_URL: 'https://esim.example.com' }`. */
export interface SetupAnswers {
  settings: Settings
  databaseAdminUrl?: string | undefined
  databaseName: string
}

export interface SetupPlan {
  settings: Settings
  /** Created before the first start. */
  database: NewDatabase | undefined
  /** An earlier setup has written the database into the file, and may already have created it. */
  isDatabaseOurs: boolean
  faults: string[]
}

const NAME = /^[a-z_][a-z0-9_]{0,62}$/
const MASTER_KEY_BYTES = 32
const PASSWORD_BYTES = 24

/**
 * Completes the settings: answers override what the file already contains, and secrets are generated. A master key in the
 * file is kept, because the database is encrypted with it.
 */
export function planSetup(
  { settings: answers, databaseAdminUrl, databaseName }: SetupAnswers,
  existing: Settings,
): SetupPlan {
  const given: Record<string, string> = { ...existing, ...answers }
  for (const name of Object.keys(answers)) delete given[counterpart(name)]
  if (!given.MASTER_KEY && !given[secretFileName('MASTER_KEY')]) {
    given.MASTER_KEY = randomBytes(MASTER_KEY_BYTES).toString('base64')
  }
  const faults: string[] = []
  let database: NewDatabase | undefined
  let isDatabaseOurs = false
  if (databaseAdminUrl !== undefined) {
    if (!NAME.test(databaseName))
      faults.push(`--database-name must be up to 63 lower-case letters, digits and _, not “${databaseName}”.`)
    if (!/^postgres(ql)?:\/\//.test(databaseAdminUrl) || !URL.canParse(databaseAdminUrl)) {
      faults.push(
        '--database-admin must be the address of one server, like postgres://postgres:password@host:5432/postgres.',
      )
    } else {
      database = {
        adminUrl: databaseAdminUrl,
        name: databaseName,
        password: randomBytes(PASSWORD_BYTES).toString('base64url'),
      }
      const earlier =
        existing.DATABASE_URL && URL.canParse(existing.DATABASE_URL) ? new URL(existing.DATABASE_URL) : undefined
      isDatabaseOurs = earlier?.username === databaseName && earlier.password !== ''
      if (isDatabaseOurs) database.password = decodeURIComponent(earlier!.password)
      given.DATABASE_URL = newDatabaseUrl(database)
    }
  }
  return { settings: given, database, isDatabaseOurs, faults: [...faults, ...inspectConfig(given, []).faults] }
}

/** MASTER_KEY for MASTER_KEY_FILE, and the reverse: setting both is a fault. */
function counterpart(name: string): string {
  return name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : secretFileName(name)
}
