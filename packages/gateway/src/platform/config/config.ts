import { parseArgs } from 'node:util'
import type { Mode } from '@dealer-esim/contract'
import { parseDateOrTime } from '@dealer-esim/lib/date-or-time.ts'
import { findBrokenRules } from './rules.ts'
import { readVariableText } from './variable-text.ts'
import { type Deployment, VARIABLES, type Values, type Variable } from './variables.ts'

export type Role = 'api' | 'worker' | 'all'

/** The checked configuration. Only config/ reads the environment. */
export type Config = Values & {
  readonly role: Role
  /** Run a simulated wholesaler as a supplier. */
  readonly isTrial: boolean
  /** The database was restored up to this time by other means than the command `restore`: operations/recovery. */
  readonly recoverySince: Date | undefined
  /** TEST: of test twins (docs/decisions/0035), whose rows are in a schema of their own. */
  readonly mode: Mode
}

/** Lists all faults together, so that an operator does not need five starts to find five faults. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly faults: readonly string[]) {
    super(faults.join('\n'))
  }
}

/** @throws ConfigError */
export function readConfig(env: NodeJS.ProcessEnv, argv: readonly string[]): Config {
  const { config, faults } = inspectConfig(env, argv)
  if (faults.length > 0) throw new ConfigError(faults)
  return config as Config
}

/** Reads a configuration that may be faulty: returns the readable part, and a message per fault. */
export function inspectConfig(
  env: NodeJS.ProcessEnv,
  argv: readonly string[],
): { config: Partial<Config>; faults: string[] } {
  const faults: string[] = []
  const { role, isTrial, recoverySince } = readArguments(argv, faults)
  const { values, unreadable } = readVariables(env, faults)
  faults.push(...findBrokenRules(values as Values, unreadable))
  if (isTrial && values.deployment !== undefined && values.deployment !== 'local') {
    faults.push('--trial runs a simulated wholesaler, which only a local deployment may have.')
  }
  return { config: { ...values, role, isTrial, recoverySince, mode: 'LIVE' } as Partial<Config>, faults }
}

/** The URL of a local gateway that has no PUBLIC_URL. */
export function localUrl(config: Pick<Config, 'host' | 'tlsCertFile'>, port: number): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  return `${config.tlsCertFile ? 'https' : 'http'}://${host}:${port}`
}

function readVariables(
  env: NodeJS.ProcessEnv,
  faults: string[],
): { values: Record<string, unknown>; unreadable: Set<string> } {
  const values: Record<string, unknown> = {}
  const unreadable = new Set<string>()
  for (const [key, variable] of Object.entries<Variable<unknown>>(VARIABLES)) {
    try {
      values[key] = parseVariable(variable, env)
    } catch (error) {
      unreadable.add(key)
      faults.push(`${(error as Error).message}.`)
    }
  }
  const deployment = values.deployment as Deployment | undefined
  for (const [key, variable] of Object.entries<Variable<unknown>>(VARIABLES)) {
    const isRequired = deployment !== undefined && variable.requiredOn?.includes(deployment)
    if (isRequired && !unreadable.has(key) && values[key] === undefined) {
      faults.push(`${variable.name} must be set on a ${deployment} deployment.`)
    }
  }
  return { values, unreadable }
}

/** @throws Error whose message is a sentence without its full stop */
function parseVariable(variable: Variable<unknown>, env: NodeJS.ProcessEnv): unknown {
  const { text } = readVariableText(variable, env)
  try {
    return text === undefined ? undefined : variable.parse(text)
  } catch (error) {
    throw new Error(`${variable.name} ${(error as Error).message}`)
  }
}

function readArguments(argv: readonly string[], faults: string[]): Pick<Config, 'role' | 'isTrial' | 'recoverySince'> {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        role: { type: 'string', default: 'all' },
        trial: { type: 'boolean', default: false },
        recovery: { type: 'string' },
      },
    })
    const { role, trial: isTrial, recovery } = values
    const recoverySince = recovery === undefined ? undefined : parseDateOrTime(recovery)
    if (recovery !== undefined && recoverySince === undefined) {
      faults.push(
        `--recovery takes a time like 2026-11-29T14:05:00Z, up to which the database was restored, not “${recovery}”.`,
      )
    }
    if (role === 'api' || role === 'worker' || role === 'all') return { role, isTrial, recoverySince }
    faults.push(`--role must be api, worker or all, not “${role}”.`)
  } catch (error) {
    const known = '--role api, worker or all, --recovery TIME, and --trial'
    faults.push(`${(error as Error).message}. The arguments are ${known}.`)
  }
  return { role: 'all', isTrial: false, recoverySince: undefined }
}
