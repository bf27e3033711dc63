import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Binaries } from './binaries.ts'
import { StartError } from './start-error.ts'

/** True if the current user has an id without an entry in /etc/passwd, such as the random one of a container. */
export function isUnnamedUser(): boolean {
  try {
    userInfo()
    return false
  } catch {
    return true
  }
}

/**
 * Writes programs to `folder` that create a cluster for such a user. initdb, and the server while it works for initdb, look
 * up the name of their user: they do nothing with it, but stop without one. These ask for the first entry of /etc/passwd
 * instead of their own. Only they need this: a server that serves clients does not look.
 */
export function binariesForUnnamedUser(binaries: Binaries, folder: string): Binaries {
  const native = dirname(dirname(binaries.initdb))
  mkdirSync(join(folder, 'bin'), { recursive: true, mode: 0o700 })
  for (const name of ['lib', 'share']) symlinkSync(join(native, name), join(folder, name))
  const [initdb, postgres] = [binaries.initdb, binaries.postgres].map((program) => {
    const copy = join(folder, 'bin', basename(program))
    writeFileSync(copy, askForFirstUser(readFileSync(program)), { mode: 0o700 })
    return copy
  })
  return { ...binaries, initdb: initdb!, postgres: postgres! }
}

export const UNNAMED_USER =
  'cannot create its data as a user without an entry in /etc/passwd. Add one, start as another user, or set DATABASE_URL'

/**
 * The names of two functions of the C library in the program's table of functions. They have the same length and the same
 * result.
 */
const OWN_ENTRY = Buffer.from('\0getpwuid\0')
const FIRST_ENTRY = Buffer.from('\0getpwent\0')

function askForFirstUser(program: Buffer): Buffer {
  const at = program.indexOf(OWN_ENTRY)
  if (at < 0 || program.indexOf(OWN_ENTRY, at + 1) >= 0)
    throw new StartError(`The embedded PostgreSQL ${UNNAMED_USER}.`)
  FIRST_ENTRY.copy(program, at)
  return program
}
