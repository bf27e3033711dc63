import { lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Creates the folder if it is missing. Under root, the server's account must be able to pass through to its data; every
 * file inside is closed to others.
 * @returns its real path, by which the kernel reports working directories: if ours contained a link, an orphan would not be
 * recognised
 */
export function ensureDataDir(path: string): string {
  const dataDir = resolve(path)
  mkdirSync(dataDir, { recursive: true, mode: process.getuid!() === 0 ? 0o711 : 0o700 })
  return realpathSync(dataDir)
}

/** Explains a file system error concerning DATA_DIR or a file in it. @returns undefined for any other error */
export function explainFileFault(error: unknown, path: string): string | undefined {
  const dataDir = resolve(path)
  const { code, path: file, message } = error as NodeJS.ErrnoException
  if (code === undefined || !isInside(file, dataDir)) return undefined
  const entry = attempt(() => lstatSync(dataDir))
  const target = attempt(() => statSync(dataDir))
  if (entry?.isSymbolicLink() && target === undefined)
    return `DATA_DIR ${dataDir} is a link to ${readlinkSync(dataDir)}, which does not exist. Create that folder, or set another DATA_DIR.`
  if (target?.isDirectory() === false) return `DATA_DIR ${dataDir} is not a folder. Remove it, or set another DATA_DIR.`
  const self = process.getuid!()
  const foreign = self === 0 ? undefined : findForeign(file!, dataDir, self)
  if (foreign !== undefined)
    return `${foreign.path} belongs to user ${foreign.uid}, but this process runs as user ${self}. Start as that user, give this one the folder (chown -R ${self} ${dataDir}), or set another DATA_DIR.`
  return `DATA_DIR ${dataDir} cannot be used: ${message}. Correct this, or set another DATA_DIR.`
}

function isInside(file: string | undefined, dataDir: string): file is string {
  if (file === undefined) return false
  const real = attempt(() => realpathSync(dataDir)) ?? dataDir
  return [dataDir, real].some((folder) => file === folder || file.startsWith(`${folder}/`))
}

/** The file, or the nearest folder around it up to DATA_DIR, if it belongs to another user. */
function findForeign(file: string, dataDir: string, self: number): { path: string; uid: number } | undefined {
  for (let path = file; path.length >= dataDir.length; path = dirname(path)) {
    const uid = attempt(() => statSync(path))?.uid
    if (uid !== undefined && uid !== self) return { path, uid }
  }
  return undefined
}

function attempt<Found>(look: () => Found): Found | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
