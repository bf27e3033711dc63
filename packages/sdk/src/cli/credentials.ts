import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { checkText } from '#options.ts'
import { CommandFailed, EXIT, orUsageError } from './exit-codes.ts'
import type { Io } from './io.ts'

export interface Credentials {
  baseUrl: string
  appKey: string
  appSecret: string
  /** The file of a local gateway that they were read from, as shown to people. */
  file?: string
  /** A restricted key of the same dealer for `dealer-esim mcp`, from that file. */
  agentKey?: { appKey: string; appSecret: string }
}

const VARIABLES = {
  baseUrl: 'DEALER_ESIM_BASE_URL',
  appKey: 'DEALER_ESIM_APP_KEY',
  appSecret: 'DEALER_ESIM_APP_SECRET',
} as const

/**
 * Reads the credentials from the environment or, if all three variables are unset, from the file that a local gateway
 * writes to its data directory, which is reported on standard error. Rejects a partly set environment: mixing two sources
 * would sign for one gateway and send to another.
 */
export function readCredentials(io: Io): Credentials {
  const given = {
    baseUrl: inEnvironment(io, 'baseUrl'),
    appKey: inEnvironment(io, 'appKey'),
    appSecret: inEnvironment(io, 'appSecret'),
  }
  const missing = (Object.keys(VARIABLES) as (keyof typeof VARIABLES)[]).filter((key) => !given[key])
  if (missing.length === 0) return given as Credentials
  if (missing.length < 3) {
    const names = missing.map((key) => VARIABLES[key]).join(' and ')
    throw new CommandFailed(`Set ${names} too.`, EXIT.USAGE)
  }
  return localCredentials(io)
}

/** Reads the secret alone, for commands that do not call the gateway. */
export function readSecret(io: Io): Pick<Credentials, 'appSecret'> & Partial<Credentials> {
  const appSecret = inEnvironment(io, 'appSecret')
  if (!appSecret) return readCredentials(io)
  const appKey = inEnvironment(io, 'appKey')
  return appKey ? { appSecret, appKey } : { appSecret }
}

function inEnvironment(io: Io, name: keyof typeof VARIABLES): string | undefined {
  const value = io.env[VARIABLES[name]] || (name === 'appSecret' ? secretInFile(io) : undefined)
  return value && orUsageError(() => checkText(VARIABLES[name], value))
}

/** The first line of the file that DEALER_ESIM_APP_SECRET_FILE names, as container platforms provide secrets. */
function secretInFile(io: Io): string | undefined {
  const file = io.env[`${VARIABLES.appSecret}_FILE`]
  if (!file) return undefined
  try {
    return readFileSync(resolve(io.cwd, file), 'utf8').trim()
  } catch {
    throw new CommandFailed(`${VARIABLES.appSecret}_FILE points to ${file}, which cannot be read.`, EXIT.USAGE)
  }
}

function localCredentials(io: Io): Credentials {
  const path = resolve(io.cwd, io.env.DATA_DIR || '.data', 'local.json')
  const shown = relative(io.cwd, path)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw new CommandFailed(
      `No credentials. Set ${Object.values(VARIABLES).join(', ')}, or run this in the directory of a local gateway (there is no ${shown} here; if the gateway was started with DATA_DIR, set DATA_DIR here too).`,
      EXIT.USAGE,
    )
  }
  const { baseUrl, appKey, appSecret, agentKey } = parse(text, shown)
  if (typeof baseUrl !== 'string' || typeof appKey !== 'string' || typeof appSecret !== 'string') {
    throw new CommandFailed(
      `${shown} does not contain baseUrl, appKey and appSecret. Start the local gateway again to rewrite it.`,
      EXIT.USAGE,
    )
  }
  io.err(`Using the local gateway ${baseUrl} (credentials from ${shown}).\n`)
  return { baseUrl, appKey, appSecret, file: shown, ...(isKey(agentKey) && { agentKey }) }
}

function isKey(value: unknown): value is NonNullable<Credentials['agentKey']> {
  const { appKey, appSecret } = (value ?? {}) as Record<string, unknown>
  return typeof appKey === 'string' && typeof appSecret === 'string'
}

function parse(text: string, shown: string): Partial<Record<keyof Credentials, unknown>> {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    throw new CommandFailed(`${shown} is not JSON. Start the local gateway again to rewrite it.`, EXIT.USAGE)
  }
}
