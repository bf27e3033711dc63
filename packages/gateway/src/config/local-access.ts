import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a local deployment keeps in DATA_DIR/local.json (mode 600) for tools on the same machine. */
export interface LocalAccess {
  baseUrl: string
  appKey: string
  appSecret: string
  /** Absent where the console is switched off. */
  consoleUrl?: string
  consoleUser: string
  /** Works until the first sign-in changes it; absent once nobody knows it any more. */
  consolePassword?: string
}

/** As far as it is there: the file is absent before the first start, and anybody's to edit. */
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
