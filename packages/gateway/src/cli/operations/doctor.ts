import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { borrowPostgres } from '@dealer-esim/embedded-postgres'
import { ensureLocalMasterKey } from '@dealer-esim/lib/local-master-key.ts'
import { StartRefused } from '@dealer-esim/lib/process/start-stop.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import type { Command } from 'commander'
import { examine } from '#operations/doctor/examine.ts'
import type { Finding } from '#operations/doctor/finding.ts'
import { type Config, inspectConfig } from '#platform/config/config.ts'
import { secretFileName } from '#platform/config/variable-text.ts'
import type { AdminContext } from '../kernel/context.ts'
import { count } from '../kernel/text-table.ts'

const MARKS = { OK: 'ok', WARNING: 'warning', FAULT: 'FAULT' } as const

export function doctorCommand(doctor: Command, context: AdminContext): void {
  doctor
    .description(
      'Check the configuration and everything that the gateway depends on, and report faults and how to fix them. Changes nothing. Works with or without a running gateway. Exits with 1 if there are faults.',
    )
    .addHelpText('after', '\nExample:\n  npm run -s admin -- doctor')
    .action(async () => report(context, await examineInstallation()))
}

/** Examines the configuration in this process's environment. */
export async function examineInstallation(): Promise<Finding[]> {
  const { config, faults } = inspectConfig(process.env, [])
  const database = await findDatabase(config)
  try {
    const { masterKeys, findings } = findMasterKeys(config)
    const subject = { config, configFaults: faults, databaseUrl: database.url, masterKeys }
    return [...(await examine(subject)), ...findings, ...database.findings]
  } finally {
    await database.stop()
  }
}

interface FoundDatabase {
  url: string | undefined
  findings: Finding[]
  stop(): Promise<void>
}

/** Starts a local deployment's own server if its database exists; never creates a database. */
async function findDatabase(config: Partial<Config>): Promise<FoundDatabase> {
  const none = (findings: Finding[]) => ({ url: undefined, findings, stop: async () => {} })
  const { databaseUrl, deployment, dataDir } = config
  if (databaseUrl !== undefined) return { ...none([]), url: databaseUrl }
  // In other deployments, a missing DATABASE_URL is reported as a configuration fault.
  if (deployment !== 'local' || dataDir === undefined || isGiven('DATABASE_URL')) return none([])
  const result = (state: Finding['state'], message: string) => none([{ check: 'database', state, message }])
  if (!existsSync(join(dataDir, 'postgres'))) {
    // Not a warning, because every new machine is in this state. On a server, it explains why nothing else was checked.
    const assumed = isGiven('DEPLOYMENT') ? '' : 'DEPLOYMENT is not set, so a local gateway was assumed. '
    const server = assumed && ' On a server, give this command the variables of its gateway (docs/running.md).'
    return result('OK', `${assumed}There is no database in ${dataDir} yet; the first npm start creates it.${server}`)
  }
  try {
    const borrowed = await borrowPostgres({ dataDir, log: silentLog })
    return { url: borrowed.url, findings: [], stop: () => borrowed.stop() }
  } catch (error) {
    return result('FAULT', `The embedded PostgreSQL cannot be used: ${(error as Error).message}`)
  }
}

function isGiven(name: string): boolean {
  return Boolean(process.env[name]?.trim() || process.env[secretFileName(name)]?.trim())
}

interface FoundKeys {
  masterKeys: Config['masterKeys']
  findings: Finding[]
}

/** Never creates a key. */
function findMasterKeys({ masterKeys, deployment, dataDir }: Partial<Config>): FoundKeys {
  const isFileUnused = masterKeys !== undefined || deployment !== 'local' || dataDir === undefined
  if (isFileUnused || !existsSync(join(dataDir, 'master.key'))) return { masterKeys, findings: [] }
  try {
    return { masterKeys: [ensureLocalMasterKey(dataDir)], findings: [] }
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error
    return { masterKeys, findings: [{ check: 'master key', state: 'FAULT', message: error.message }] }
  }
}

function textOf({ message, command }: Pick<Finding, 'message' | 'command'>): string {
  return command === undefined ? message : `${message} Run: ${command}`
}

function report(context: AdminContext, findings: readonly Finding[]): void {
  const { faults, warnings } = countFindings(findings)
  if (faults > 0) context.exitCode = 1
  context.print(findingsText(findings), {
    ok: faults === 0,
    faults,
    warnings,
    findings: findings.map(({ check, state, ...finding }) => ({ check, state, words: textOf(finding) })),
  })
}

function countFindings(findings: readonly Finding[]) {
  const of = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length
  return { faults: of('FAULT'), warnings: of('WARNING') }
}

/** A line for each finding, and the verdict. */
export function findingsText(findings: readonly Finding[]): string {
  const { faults, warnings } = countFindings(findings)
  const widest = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.map(
    ({ check, state, ...finding }) => `${MARKS[state].padEnd(7)}  ${check.padEnd(widest)}  ${textOf(finding)}`,
  )
  const verdict =
    faults + warnings === 0 ? 'No faults were found.' : `${count(faults, 'fault')}, ${count(warnings, 'warning')}.`
  return [...lines, verdict].join('\n')
}
