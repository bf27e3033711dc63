import { parseArgs } from 'node:util'
import ipaddr from 'ipaddr.js'
import { type Deployment, VARIABLES, type Variable } from './config-variables.ts'
import { type CertificateFiles, readCertificate } from './lib/certificate.ts'

export type Role = 'api' | 'worker' | 'all'

type Value<V> = V extends { parse(text: string): infer Parsed }
  ? V extends { default: string }
    ? Parsed
    : Parsed | undefined
  : never

/** What the environment says, checked: nothing inside looks at the environment again. */
export type Config = { readonly [Key in keyof typeof VARIABLES]: Value<(typeof VARIABLES)[Key]> } & {
  readonly role: Role
}

/** Everything that is wrong at once: an operator should not have to start five times to hear five faults. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly faults: readonly string[]) {
    super(faults.join('\n'))
  }
}

/** @throws ConfigError */
export function readConfig(env: NodeJS.ProcessEnv, argv: readonly string[]): Config {
  const faults: string[] = []
  const role = readRole(argv, faults)
  const values = readVariables(env, faults)
  // Rules compare values, so they wait until each is readable by itself.
  if (faults.length === 0) faults.push(...brokenRules(values as Config))
  if (faults.length > 0) throw new ConfigError(faults)
  return { ...values, role } as Config
}

/** The address that a local gateway answers at, where PUBLIC_URL says nothing else. */
export function localUrl(config: Pick<Config, 'host' | 'tlsCertFile'>, port: number): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  return `${config.tlsCertFile ? 'https' : 'http'}://${host}:${port}`
}

function readVariables(env: NodeJS.ProcessEnv, faults: string[]): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [key, variable] of Object.entries<Variable<unknown>>(VARIABLES)) {
    const text = env[variable.name]?.trim() || variable.default
    try {
      values[key] = text === undefined ? undefined : variable.parse(text)
    } catch (error) {
      faults.push(`${variable.name} ${(error as Error).message}.`)
    }
  }
  const deployment = values.deployment as Deployment | undefined
  for (const [key, variable] of Object.entries<Variable<unknown>>(VARIABLES)) {
    const demanded = deployment !== undefined && variable.requiredOn?.includes(deployment)
    if (demanded && !env[variable.name]?.trim() && values[key] === undefined) {
      faults.push(`${variable.name} must be set on a ${deployment} deployment.`)
    }
  }
  return values
}

function brokenRules(config: Config): string[] {
  const { deployment } = config
  const faults: string[] = []
  if ((config.tlsCertFile === undefined) !== (config.tlsKeyFile === undefined)) {
    faults.push('TLS_CERT_FILE and TLS_KEY_FILE go together: set both or neither.')
  }
  if (config.tlsCertFile !== undefined && config.tlsKeyFile !== undefined) {
    faults.push(...certificateFault({ certFile: config.tlsCertFile, keyFile: config.tlsKeyFile }))
  }
  if ((config.smtpUrl === undefined) !== (config.mailFrom === undefined)) {
    faults.push('SMTP_URL and MAIL_FROM go together: set both or neither.')
  }
  if (deployment === 'local') {
    if (!isLoopback(config.host)) {
      faults.push(
        `HOST is ${config.host}, but a local deployment listens on loopback only. Set DEPLOYMENT to test or production to be reached from elsewhere.`,
      )
    }
    if (config.consoleHost !== undefined && !isLoopback(config.consoleHost)) {
      faults.push(`CONSOLE_HOST is ${config.consoleHost}, but a local deployment listens on loopback only.`)
    }
    return faults
  }
  if (config.consoleUrl?.startsWith('http:')) {
    faults.push(`CONSOLE_URL begins with https:// on a ${deployment} deployment; it is “${config.consoleUrl}”.`)
  }
  if (config.publicUrl?.startsWith('http:')) {
    faults.push(`PUBLIC_URL begins with https:// on a ${deployment} deployment; it is “${config.publicUrl}”.`)
  }
  if (config.tlsCertFile === undefined && config.trustedProxies.length === 0) {
    faults.push(
      `A ${deployment} deployment is reached by HTTPS only: set TLS_CERT_FILE and TLS_KEY_FILE, or name the proxies that end TLS in TRUSTED_PROXIES.`,
    )
  }
  return faults
}

function certificateFault(files: CertificateFiles): string[] {
  try {
    readCertificate(files)
    return []
  } catch (error) {
    return [`TLS_CERT_FILE and TLS_KEY_FILE: ${(error as Error).message}`]
  }
}

function isLoopback(host: string): boolean {
  if (host === 'localhost') return true
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback'
}

function readRole(argv: readonly string[], faults: string[]): Role {
  try {
    const { values } = parseArgs({ args: [...argv], options: { role: { type: 'string', default: 'all' } } })
    if (values.role === 'api' || values.role === 'worker' || values.role === 'all') return values.role
    faults.push(`--role is api, worker or all; it is “${values.role}”.`)
  } catch (error) {
    faults.push(`${(error as Error).message}. The only argument is --role api, worker or all.`)
  }
  return 'all'
}
