import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { StartRefused } from '../process/start-refused.ts'
import { processIdentity } from './process-identity.ts'

/*
 * One process at a time may use a DATA_DIR, and a process that was killed must not leave it locked.
 *
 * Each contender puts a claim of its own into DATA_DIR/lock: a file whose *name* says who it is (purpose, pid, start of
 * the process), so that there is no content to read half written. Then it looks at the others:
 *
 *   the claim of a process that is gone    is removed: its name is unique, nobody else can come to own it
 *   a held claim                           refuses us (a short command's is waited for)
 *   a claim still being made               the one first in order stays, the others withdraw and try again
 *
 * We hold the lock only after we saw no living claim but ours *after* ours was there, so two can never both hold it;
 * there is no moment in which a stale lock is taken over, which is where lock files usually go wrong.
 */

export type Purpose = 'gateway' | 'command'

export interface Holder {
  purpose: Purpose
  pid: number
}

export interface DataDirLock {
  release(): void
}

export class DataDirInUse extends StartRefused {
  override readonly name = 'DataDirInUse'
  constructor(
    dataDir: string,
    readonly holder: Holder,
  ) {
    const who = holder.purpose === 'gateway' ? 'another gateway' : 'an admin command'
    super(
      `The data directory ${dataDir} is in use by ${who} (process ${holder.pid}). Stop it, or give this one a DATA_DIR of its own.`,
    )
  }
}

/** How long a start waits for a short command, or for a rival that withdraws. */
const WAIT_MS = 10_000
const POLL_MS = 15

/** @throws DataDirInUse */
export async function lockDataDir(dataDir: string, purpose: Purpose): Promise<DataDirLock> {
  const folder = join(dataDir, 'lock')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const deadline = Date.now() + WAIT_MS
  for (;;) {
    const mine = claim(folder, purpose)
    const rival = await outlive(folder, mine, deadline)
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

/** Who holds the data directory now. A claim that is still being made is nobody's yet. */
export function holderOf(dataDir: string): Holder | undefined {
  const held = livingClaims(join(dataDir, 'lock')).find((candidate) => candidate.held)
  return held && { purpose: held.purpose, pid: held.pid }
}

interface Claim extends Holder {
  file: string
  held: boolean
}

function claim(folder: string, purpose: Purpose): string {
  const file = [purpose, process.pid, processIdentity(process.pid), randomBytes(4).toString('hex')].join('-')
  writeFileSync(join(folder, file), '', { flag: 'wx', mode: 0o600 })
  return file
}

/** Waits while only claims stand beside ours that will withdraw for us. The rival that we must give way to, if any. */
async function outlive(folder: string, mine: string, deadline: number): Promise<Claim | undefined> {
  for (;;) {
    const rivals = livingClaims(folder).filter((candidate) => candidate.file !== mine)
    const stronger = rivals.find((rival) => rival.held || rival.file < mine)
    if (stronger || rivals.length === 0) return stronger
    if (Date.now() > deadline) return rivals[0]
    await delay(POLL_MS)
  }
}

function livingClaims(folder: string): Claim[] {
  return listing(folder).flatMap((file) => {
    const [purpose, pidText, identity] = file.replace(/\.held$/, '').split('-')
    const pid = Number(pidText)
    if (processIdentity(pid) !== identity) {
      rmSync(join(folder, file), { force: true })
      return []
    }
    return [{ file, pid, purpose: purpose as Purpose, held: file.endsWith('.held') }]
  })
}

function listing(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
