import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataDirInUse, holderOf, lockDataDir } from './data-dir-lock.ts'
import { processIdentity } from './process-identity.ts'

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-lock-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

function claimOf(name: string): void {
  mkdirSync(join(dataDir, 'lock'), { recursive: true })
  writeFileSync(join(dataDir, 'lock', name), '')
}

describe('the lock of a data directory', () => {
  it('is held by one of many gateways that start at once; the others are refused', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDir(dataDir, 'gateway')))
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(DataDirInUse)
    }
  })

  it('is never held by two of many commands, and each gets it', async () => {
    let inside = 0
    let turns = 0
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const lock = await lockDataDir(dataDir, 'command')
        inside += 1
        expect(inside).toBe(1)
        await turn()
        turns += 1
        inside -= 1
        lock.release()
      }),
    )
    expect(turns).toBe(12)
    expect(readdirSync(join(dataDir, 'lock'))).toEqual([])
  })

  it('tells who holds it, and nobody after its release', async () => {
    const lock = await lockDataDir(dataDir, 'gateway')
    expect(holderOf(dataDir)).toEqual({ purpose: 'gateway', pid: process.pid })
    lock.release()
    expect(holderOf(dataDir)).toBeUndefined()
  })

  it('refuses with a sentence that names directory, holder and remedy', async () => {
    const lock = await lockDataDir(dataDir, 'gateway')
    await expect(lockDataDir(dataDir, 'gateway')).rejects.toThrow(
      `The data directory ${dataDir} is in use by another gateway (process ${process.pid}). Stop it, or give this one a DATA_DIR of its own.`,
    )
    lock.release()
  })

  it('waits for a command that holds it', async () => {
    const command = await lockDataDir(dataDir, 'command')
    const gateway = lockDataDir(dataDir, 'gateway')
    command.release()
    await gateway
    expect(holderOf(dataDir)?.purpose).toBe('gateway')
  })

  it('dies with its holder', async () => {
    claimOf('gateway-4194304-0.1-aaaaaaaa.held') // a pid that cannot be
    await lockDataDir(dataDir, 'gateway')
  })

  it('is not kept by a process that was given the pid of a holder that died', async () => {
    const [boot, ticks] = processIdentity(process.pid)!.split('.')
    claimOf(`gateway-${process.pid}-${boot}.${Number(ticks) - 1}-aaaaaaaa.held`)
    claimOf(`gateway-${process.pid}-00000000.${ticks}-bbbbbbbb.held`) // of another boot
    await lockDataDir(dataDir, 'gateway')
  })
})
