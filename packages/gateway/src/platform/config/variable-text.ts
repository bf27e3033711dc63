import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Variable } from './variables.ts'

export interface VariableText {
  /** undefined: not set, and without a default. */
  text: string | undefined
  source: 'ENVIRONMENT' | 'FILE' | 'DEFAULT' | 'NOT_SET'
  /** The file that a secret was read from. */
  file?: string
}

/**
 * As long as the longest list of headers, or four master keys; a certificate given by mistake is longer than most of these.
 */
const SECRET_MAX_BYTES = 16_384

/**
 * The text of a variable. Every secret can also be in a file given by NAME_FILE, e.g. MASTER_KEY_FILE=/run/secrets/key:
 * other programs can often read a process's environment, and container engines deliver secrets as files.
 * @throws Error whose message is a sentence without its full stop, and never quotes a secret
 */
export function readVariableText(
  { name, secret, ...variable }: Variable<unknown>,
  env: NodeJS.ProcessEnv,
): VariableText {
  const text = env[name]?.trim()
  const file = secret ? env[secretFileName(name)]?.trim() : undefined
  if (text && file) throw new Error(`${name} and ${secretFileName(name)} are both set: remove one`)
  if (file) return { text: readSecret(name, resolve(file)), source: 'FILE', file: resolve(file) }
  if (text) return { text, source: 'ENVIRONMENT' }
  return variable.default === undefined
    ? { text: undefined, source: 'NOT_SET' }
    : { text: variable.default, source: 'DEFAULT' }
}

export function secretFileName(name: string): string {
  return `${name}_FILE`
}

function readSecret(name: string, file: string): string {
  const variable = secretFileName(name)
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch {
    throw new Error(`${variable} points to ${file}, which cannot be read`)
  }
  if (bytes.length > SECRET_MAX_BYTES)
    throw new Error(`${variable} points to ${file}, which is longer than ${SECRET_MAX_BYTES} bytes`)
  const text = bytes.toString('utf8').trim()
  if (text === '') throw new Error(`${variable} points to ${file}, which is empty`)
  return text
}
