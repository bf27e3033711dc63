import { accessSync, constants, createReadStream, type ReadStream, readFileSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/* Files that a command reads or writes. An error states the file and the reason. */

/** @returns the size of a readable file in bytes. @throws Error if it cannot be read */
export function getFileSize(path: string): number {
  try {
    const found = statSync(path)
    if (found.isDirectory()) throw new Error(`${path} is a folder. Specify a file.`)
    accessSync(path, constants.R_OK)
    return found.size
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new Error(`There is no file ${path}.`)
    if (code === 'EACCES') throw new Error(`${path} cannot be read: the current user has no permission.`)
    throw new Error(`${path} cannot be read: ${message}.`)
  }
}

/** Opens a file for reading in parts. @throws Error if it cannot be read */
export function openFile(path: string): ReadStream {
  getFileSize(path)
  return createReadStream(path)
}

/** Reads a whole text file. @throws Error if it cannot be read */
export function readTextFile(path: string): string {
  getFileSize(path)
  return readFileSync(path, 'utf8')
}

/** Reads a JSON file. @throws Error if it cannot be read, or is not JSON */
export function readJsonFile(path: string): unknown {
  const text = readTextFile(path)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${path} is not valid JSON: ${(error as Error).message}.`)
  }
}

/**
 * Lets `work` write to a file, or to standard output if no file or “-” is given. Each write resolves when it is done. The
 * first write opens the file, so a command that is refused earlier does not empty an existing file.
 * @param mode the permissions of a new file
 */
export async function writeOutput<Result>(
  file: string | undefined,
  work: (write: (text: string) => Promise<void>) => Promise<Result>,
  { mode = 0o666 } = {},
): Promise<Result> {
  if (file === undefined || file === '-') return work(writeToStdout)
  let target: FileHandle | undefined
  try {
    return await work(async (text) => {
      target ??= await open(file, 'w', mode)
      await target.appendFile(text)
    })
  } finally {
    await target?.close()
  }
}

/** Resolves when the reader of our output has taken the text. */
function writeToStdout(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}
