import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

export type Settings = Readonly<Record<string, string>>

/**
 * Reads a file of lines such as `PORT=8080`, as systemd (EnvironmentFile) and container engines (--env-file) do; {} if the
 * file does not exist.
 */
export function readEnvironmentFile(file: string): Settings {
  if (!existsSync(file)) return {}
  const lines = readFileSync(file, 'utf8').split('\n')
  const pairs = lines.flatMap((line): [string, string][] => {
    const at = line.indexOf('=')
    return /^\s*(#|$)/.test(line) || at < 1 ? [] : [[line.slice(0, at).trim(), unquoted(line.slice(at + 1).trim())]]
  })
  return Object.fromEntries(pairs)
}

function unquoted(text: string): string {
  return /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text
}

/**
 * Replaces the file atomically; only its owner can read it, because it contains the master key.
 * @throws Error if a value cannot be written in a way that every reader of such files understands alike
 */
export function writeEnvironmentFile(file: string, settings: Settings): void {
  for (const [name, value] of Object.entries(settings)) {
    if (/["'\\\r\n]/.test(value)) throw new Error(`${name} must not contain quotation marks, \\ or line breaks`)
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 })
  const draft = `${file}.${process.pid}`
  try {
    writeFileSync(draft, lines.join(''), { mode: 0o600, flag: 'wx' })
    renameSync(draft, file)
  } finally {
    rmSync(draft, { force: true })
  }
}
