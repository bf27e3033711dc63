import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Credentials of a local deployment in DATA_DIR/local.json (mode 600), for tools on the same machine. */
export interface LocalAccess {
  baseUrl: string
  appKey: string
  appSecret: string
  /** A restricted key of the same dealer, for agents: `dealer-esim mcp`. Absent while a gateway of a release without keys runs. */
  agentKey?: { appKey: string; appSecret: string }
  /** Absent if the console is off. */
  consoleUrl?: string
  /** Opens the console already signed in; works once. Absent if the console is off. */
  signInUrl?: string
  consoleUser: string
  /** Valid until it is changed at the first sign-in; absent if unknown. */
  consolePassword?: string
}

/** Partial, because the file is absent before the first start and users may edit it. */
export function readLocalAccess(dataDir: string): Partial<LocalAccess> {
  try {
    return JSON.parse(readFileSync(localAccessFile(dataDir), 'utf8')) ?? {}
  } catch {
    return {}
  }
}

export function writeLocalAccess(dataDir: string, access: LocalAccess): void {
  const file = localAccessFile(dataDir)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  writeFileSync(`${file}.new`, `${JSON.stringify(access, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

export function localAccessFile(dataDir: string): string {
  return join(dataDir, 'local.json')
}
