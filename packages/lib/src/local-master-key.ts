import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartRefused } from './process/start-stop.ts'

const KEY_BYTES = 32

/** The key of a local deployment in DATA_DIR/master.key (mode 600), created if it does not exist. */
export function ensureLocalMasterKey(dataDir: string): Buffer {
  const file = join(dataDir, 'master.key')
  mkdirSync(dataDir, { recursive: true, mode: process.getuid!() === 0 ? 0o711 : 0o700 })
  const existing = readKey(file)
  if (existing) return existing
  // Written to a draft and linked: if two processes start simultaneously, one creates the key and both use it.
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600 })
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readKey(file)!
}

function readKey(file: string): Buffer | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StartRefused(`Cannot read the master key: ${(error as Error).message}.`)
  }
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length !== KEY_BYTES)
    throw new StartRefused(`${file} does not contain a 32-byte key in base64. Restore the file from a backup.`)
  return key
}
