import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { messageOf } from '@dealer-esim/lib/postgres/errors.ts'
import { findPoolerFault } from '@dealer-esim/lib/postgres/session-settings.ts'
import { StartRefused } from '@dealer-esim/lib/process/start-stop.ts'
import type { Config } from '#platform/config/config.ts'
import { checkBrand } from './check-brand.ts'
import { checkClock, checkDatabase, checkDurability, checkSession, findConnectionFault } from './check-database.ts'
import { checkDeployment, checkPublications } from './check-deployment.ts'
import { checkAddresses, checkCertificate, checkMail, checkProxies } from './check-reach.ts'
import { checkBackups, checkLedger, checkPartitions, checkRecovery, checkSchema } from './check-schema.ts'
import { checkSuppliers } from './check-suppliers.ts'
import { checkValues } from './check-values.ts'
import { type CheckInput, createFindings, type DatabaseCheckInput, type Finding, type Findings } from './finding.ts'
import { checkTimesAhead } from './times-ahead.ts'

type Check<Input> = readonly [name: string, run: (input: Input, findings: Findings) => Promise<Finding[]> | Finding[]]

const OUTSIDE: readonly Check<CheckInput>[] = [
  ['addresses', checkAddresses],
  ['proxies', checkProxies],
  ['certificate', checkCertificate],
  ['mail', checkMail],
]

const DATABASE: readonly Check<DatabaseCheckInput>[] = [
  ['database', checkDatabase],
  ['session', checkSession],
  ['durability', checkDurability],
  ['clock', checkClock],
  ['schema', checkSchema],
]

/** Checks that need the tables of this release. */
const CONTENT: readonly Check<DatabaseCheckInput>[] = [
  ['deployment', checkDeployment],
  ['publications', checkPublications],
  ['partitions', checkPartitions],
  ['times', checkTimesAhead],
  ['ledger', checkLedger],
  ['backup', checkBackups],
  ['recovery', checkRecovery],
  ['brand', checkBrand],
  ['suppliers', checkSuppliers],
  ['values', checkValues],
]

export interface ExamineInput {
  config: Partial<Config>
  /** Faults found in the variables. */
  configFaults: readonly string[]
  /** undefined: there is no database yet, or DATABASE_URL is unreadable. */
  databaseUrl: string | undefined
  masterKeys: readonly [Buffer, ...Buffer[]] | undefined
}

/** Checks a configuration and its environment without changing anything. A failing check does not stop the others. */
export async function examine({ config, configFaults, databaseUrl, masterKeys }: ExamineInput): Promise<Finding[]> {
  const { ok, fault } = createFindings('configuration')
  const found = configFaults.length > 0 ? configFaults.map((text) => fault(text)) : [ok('Every variable is valid.')]
  const outbound = createOutbound()
  try {
    found.push(...(await runChecks(OUTSIDE, { config, outbound })))
    if (databaseUrl !== undefined) {
      const cipher = masterKeys && createCipher(masterKeys)
      found.push(...(await examineDatabase(databaseUrl, { config, outbound, cipher })))
    }
    return found
  } finally {
    await outbound.close()
  }
}

/** Checks a running gateway over its own connections. */
export async function examineRunning({ config, outbound, db, cipher }: DatabaseCheckInput): Promise<Finding[]> {
  const input = { config, outbound, db, cipher }
  return [
    ...(await runChecks(OUTSIDE, input)),
    ...(await runChecks(DATABASE, input)),
    ...(await runChecks(CONTENT, input)),
  ]
}

async function examineDatabase(url: string, input: Omit<DatabaseCheckInput, 'db'>): Promise<Finding[]> {
  const { fault } = createFindings('database')
  // A failed connection is reported below.
  const poolerFault = await findPoolerFault(url).catch(() => undefined)
  if (poolerFault !== undefined) return [fault(poolerFault)]
  const db = createDb({ url, schema: input.config.databaseSchema, poolSize: 2, applicationName: 'dealer-esim doctor' })
  try {
    const connectionFault = await findConnectionFault(db)
    if (connectionFault !== undefined) return [fault(connectionFault)]
    const found = await runChecks(DATABASE, { ...input, db })
    // On another release's tables, the other checks would fail with unhelpful errors.
    const hasTables = !found.some(({ check, state }) => check === 'schema' && state !== 'OK')
    return hasTables ? [...found, ...(await runChecks(CONTENT, { ...input, db }))] : found
  } finally {
    await db.close()
  }
}

async function runChecks<Input>(checks: readonly Check<Input>[], input: Input): Promise<Finding[]> {
  const found: Finding[] = []
  for (const [name, run] of checks) {
    const findings = createFindings(name)
    try {
      found.push(...(await run(input, findings)))
    } catch (error) {
      found.push(
        findings.fault(
          error instanceof StartRefused ? error.message : `This could not be checked: ${messageOf(error)}.`,
        ),
      )
    }
  }
  return found
}
