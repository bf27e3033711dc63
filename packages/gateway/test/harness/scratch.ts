import { mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { processIdentity } from '@dealer-esim/embedded-postgres/processes.ts'

const MEMORY = '/dev/shm'
/** Several times what the gateways of two tests have on their disks at once. */
const ROOM_BYTES = 4 * 2 ** 30

/**
 * Where tests keep the data of gateways: in memory where there is plenty, since these sync each commit to a disk that is
 * slow on many machines. Of this run, which removes it; outside of a run as much as any other temporary folder.
 */
export const scratchFolder = (): string => process.env.TEST_SCRATCH ?? tmpdir()

/** A folder of this run's own under `parent`. Runs that were killed leave theirs behind: the next run clears it away. */
export function ownFolder(parent: string): string {
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

/** The folder in memory, or `otherwise` where memory is short. */
export function quickFolder(otherwise: string): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY
    if (Math.min(bavail * bsize, freemem(), limit) >= ROOM_BYTES) return ownFolder(MEMORY)
  } catch {
    // There is none, or it is not for us.
  }
  return otherwise
}
