import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { processIdentity } from './processes.ts'
import { StartError } from './start-error.ts'

/*
 * One process at a time may use a DATA_DIR, and a killed process must not leave it locked.
 *
 * Each contender creates a claim in DATA_DIR/lock: a file whose *name* identifies it (purpose, pid, start time of the
 * process), so that no reader sees half-written content. Then it reads the other claims:
 *
 *   claim of a process that has ended    removed: its name is unique, so no other process can own it
 *   held claim                           we give up (a gateway's) or wait (a command's)
 *   claim not held yet                   the first by name stays, the others withdraw and try again
 *
 * A process holds the lock only once it has seen no other living claim *after* creating its own, so two can never both
 * hold it. A stale lock is never taken over, which is where lock files usually go wrong.
 */

export type Purpose = 'gateway' | 'command'

export interface Holder {
  purpose: Purpose
  pid: number
}

export interface DataDirLock {
  release(): void
}

export class DataDirInUse extends StartError {
  override readonly name = 'DataDirInUse'
  constructor(
    dataDir: string,
    readonly holder: Holder,
  ) {
    const who = holder.purpose === 'gateway' ? 'another gateway' : 'an admin command'
    super(
      `The data directory ${dataDir} is in use by ${who} (process ${holder.pid}). Stop it, or set a different DATA_DIR for this one.`,
    )
  }
}

/** How long a start waits for a command to finish, or for a rival to withdraw. */
const WAIT_MS = 10_000
const POLL_MS = 15

/** @throws DataDirInUse */
export async function lockDataDir(dataDir: string, purpose: Purpose): Promise<DataDirLock> {
  const folder = join(dataDir, 'lock')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const deadline = Date.now() + WAIT_MS
  for (;;) {
    const mine = createClaim(folder, purpose)
    const rival = await waitForRivals(folder, mine, deadline)
    if (!rival) {
      const held = `${mine}.held`
      renameSync(join(folder, mine), join(folder, held))
      return { release: () => rmSync(join(folder, held), { force: true }) }
    }
    rmSync(join(folder, mine), { force: true })
    if (Date.now() > deadline || (rival.held && rival.purpose === 'gateway')) throw new DataDirInUse(dataDir, rival)
    await delay(POLL_MS + Math.random() * POLL_MS)
  }
}

/** The process that holds the data directory now. A claim that is not held yet does not count. */
export function findHolder(dataDir: string): Holder | undefined {
  const held = livingClaims(join(dataDir, 'lock')).find((candidate) => candidate.held)
  return held && { purpose: held.purpose, pid: held.pid }
}

interface Claim extends Holder {
  file: string
  held: boolean
}

function createClaim(folder: string, purpose: Purpose): string {
  const file = [purpose, process.pid, processIdentity(process.pid), randomBytes(4).toString('hex')].join('-')
  writeFileSync(join(folder, file), '', { flag: 'wx', mode: 0o600 })
  return file
}

/** Waits for weaker rivals to withdraw. Returns the rival that we must give way to, if there is one. */
async function waitForRivals(folder: string, mine: string, deadline: number): Promise<Claim | undefined> {
  for (;;) {
    const rivals = livingClaims(folder).filter((candidate) => candidate.file !== mine)
    const stronger = rivals.find((rival) => rival.held || rival.file < mine)
    if (stronger || rivals.length === 0) return stronger
    if (Date.now() > deadline) return rivals[0]
    await delay(POLL_MS)
  }
}

function livingClaims(folder: string): Claim[] {
  return listFiles(folder).flatMap((file) => {
    const [purpose, pidText, identity] = file.replace(/\.held$/, '').split('-')
    const pid = Number(pidText)
    if (processIdentity(pid) !== identity) {
      rmSync(join(folder, file), { force: true })
      return []
    }
    return [{ file, pid, purpose: purpose as Purpose, held: file.endsWith('.held') }]
  })
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
