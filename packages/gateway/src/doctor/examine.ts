import type { Config } from '../config/config.ts'
import { createCipher } from '../lib/crypto.ts'
import { createOutbound } from '../lib/outbound/outbound.ts'
import { createDb } from '../lib/postgres/db.ts'
import { StartRefused } from '../lib/process/lifecycle.ts'
import { checkClock } from './clock.ts'
import { checkDatabase, checkPartitions, checkSchema, whyNoDatabase } from './database.ts'
import { checkDeployment } from './deployment.ts'
import { checkDurability } from './durability.ts'
import type { OpenPatient, Patient } from './finding.ts'
import { type Finding, type Findings, findings } from './finding.ts'
import { checkLedger } from './ledger.ts'
import { checkMail } from './mail.ts'
import { checkAddresses, checkCertificate, checkProxies } from './reach.ts'
import { checkSuppliers } from './suppliers.ts'
import { checkTimesAhead } from './times-ahead.ts'

type Check<Whom> = readonly [name: string, look: (patient: Whom, say: Findings) => Promise<Finding[]> | Finding[]]

const OUTSIDE: readonly Check<Patient>[] = [
  ['addresses', checkAddresses],
  ['proxies', checkProxies],
  ['certificate', checkCertificate],
  ['mail', checkMail],
]

const DATABASE: readonly Check<OpenPatient>[] = [
  ['database', checkDatabase],
  ['durability', checkDurability],
  ['clock', checkClock],
  ['schema', checkSchema],
]

/** Of a database that has this release's tables. */
const CONTENT: readonly Check<OpenPatient>[] = [
  ['deployment', checkDeployment],
  ['partitions', checkPartitions],
  ['times', checkTimesAhead],
  ['ledger', checkLedger],
  ['suppliers', checkSuppliers],
]

export interface Subject {
  config: Partial<Config>
  /** Sentences about variables. */
  configFaults: readonly string[]
  /** undefined: there is none yet, or its address cannot be read. */
  databaseUrl: string | undefined
  masterKeys: readonly [Buffer, ...Buffer[]] | undefined
}

/** Looks at a configuration and at what surrounds it. One check that fails does not keep the others. */
export async function examine({ config, configFaults, databaseUrl, masterKeys }: Subject): Promise<Finding[]> {
  const say = findings('configuration')
  const found = configFaults.length > 0 ? configFaults.map(say.fault) : [say.ok('Every variable can be read.')]
  const outbound = createOutbound()
  try {
    found.push(...(await run(OUTSIDE, { config, outbound })))
    if (databaseUrl !== undefined) {
      const db = createDb({ url: databaseUrl, poolSize: 2, applicationName: 'dealer-esim doctor' })
      try {
        found.push(...(await examineDatabase({ config, outbound, db, cipher: masterKeys && createCipher(masterKeys) })))
      } finally {
        await db.close()
      }
    }
    return found
  } finally {
    await outbound.close()
  }
}

async function examineDatabase(patient: OpenPatient): Promise<Finding[]> {
  const unreachable = await whyNoDatabase(patient.db)
  if (unreachable !== undefined) return [findings('database').fault(unreachable)]
  const found = await run(DATABASE, patient)
  // Tables of another release would only bring forth riddles.
  const isReadable = !found.some(({ check, state }) => check === 'schema' && state !== 'OK')
  return isReadable ? [...found, ...(await run(CONTENT, patient))] : found
}

async function run<Whom extends Patient>(checks: readonly Check<Whom>[], patient: Whom): Promise<Finding[]> {
  const found: Finding[] = []
  for (const [name, look] of checks) {
    const say = findings(name)
    try {
      found.push(...(await look(patient, say)))
    } catch (error) {
      const words = error instanceof StartRefused ? error.message : `This could not be looked at: ${messageOf(error)}.`
      found.push(say.fault(words))
    }
  }
  return found
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
