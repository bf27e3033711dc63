import { accessSync, constants, statSync } from 'node:fs'

/** A file that somebody named. @returns its size. @throws Error in a sentence, where it cannot be read */
export function requireFile(path: string): number {
  try {
    const found = statSync(path)
    if (found.isDirectory()) throw new Error(`${path} is a folder: name a file.`)
    accessSync(path, constants.R_OK)
    return found.size
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new Error(`There is no file ${path}.`)
    if (code === 'EACCES') throw new Error(`${path} cannot be read: the user who runs this command may not.`)
    throw new Error(`${path} cannot be read: ${message}.`)
  }
}
