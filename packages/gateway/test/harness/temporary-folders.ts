import { mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { processIdentity } from '@dealer-esim/embedded-postgres/processes.ts'

const MEMORY = '/dev/shm'
/** Several times the space that the shared server, with a log of at most 2 GB, and the gateways of four tests need. */
const REQUIRED_BYTES = 6 * 2 ** 30

/**
 * The folder for the data of gateways and of the shared server: in memory if there is enough, because gateways sync each commit,
 * many disks are slow, and a clone of the template has a thousand files. The run removes the folder.
 */
export const dataFolder = (): string => process.env.TEST_SCRATCH ?? tmpdir()

/** Removes a folder, also one in which a process that is ending still writes. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
}

/** Creates the folder for this run under `parent`, and removes those of killed runs. */
export function createRunFolder(parent: string): string {
  const folder = join(parent, `dealer-esim-tests-${process.getuid!()}`)
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  for (const name of readdirSync(folder)) {
    const [pid, identity] = name.split('-')
    if (processIdentity(Number(pid)) !== identity) rmSync(join(folder, name), { recursive: true, force: true })
  }
  const own = join(folder, `${process.pid}-${processIdentity(process.pid)}`)
  mkdirSync(own, { recursive: true, mode: 0o711 })
  return own
}

/** A folder in memory, or `otherwise` if memory is scarce. */
export function memoryFolder(otherwise: string): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY
    if (Math.min(bavail * bsize, freemem(), limit) >= REQUIRED_BYTES) return createRunFolder(MEMORY)
  } catch {
    // There is no such file system, or we are not allowed to use it.
  }
  return otherwise
}
