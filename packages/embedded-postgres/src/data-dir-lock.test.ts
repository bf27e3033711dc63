import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataDirInUse, findHolder, lockDataDir } from './data-dir-lock.ts'
import { processIdentity } from './processes.ts'

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-lock-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

function writeClaim(name: string): void {
  mkdirSync(join(dataDir, 'lock'), { recursive: true })
  writeFileSync(join(dataDir, 'lock', name), '')
}

describe('the data directory lock', () => {
  it('is granted to only one of many gateways that start at the same time', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDir(dataDir, 'gateway')))
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(DataDirInUse)
    }
  })

  it('is never held by two commands at the same time, and every command obtains it eventually', async () => {
    let inside = 0
    let turns = 0
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const lock = await lockDataDir(dataDir, 'command')
        inside += 1
        expect(inside).toBe(1)
        await nextTurn()
        turns += 1
        inside -= 1
        lock.release()
      }),
    )
    expect(turns).toBe(12)
    expect(readdirSync(join(dataDir, 'lock'))).toEqual([])
  })

  it('reports its holder until it is released', async () => {
    const lock = await lockDataDir(dataDir, 'gateway')
    expect(findHolder(dataDir)).toEqual({ purpose: 'gateway', pid: process.pid })
    lock.release()
    expect(findHolder(dataDir)).toBeUndefined()
  })

  it('is refused with a message that names the directory, the holder and the remedy', async () => {
    const lock = await lockDataDir(dataDir, 'gateway')
    await expect(lockDataDir(dataDir, 'gateway')).rejects.toThrow(
      `The data directory ${dataDir} is in use by another gateway (process ${process.pid}). Stop it, or set a different DATA_DIR for this one.`,
    )
    lock.release()
  })

  it('makes other commands wait while one command holds it', async () => {
    const command = await lockDataDir(dataDir, 'command')
    const gateway = lockDataDir(dataDir, 'gateway')
    command.release()
    await gateway
    expect(findHolder(dataDir)?.purpose).toBe('gateway')
  })

  it('is released when its holder dies', async () => {
    writeClaim('gateway-4194304-0.1-aaaaaaaa.held') // a pid that cannot exist
    await lockDataDir(dataDir, 'gateway')
  })

  it('ignores a new process that reuses the pid of a dead holder', async () => {
    const [boot, ticks] = processIdentity(process.pid)!.split('.')
    writeClaim(`gateway-${process.pid}-${boot}.${Number(ticks) - 1}-aaaaaaaa.held`)
    writeClaim(`gateway-${process.pid}-00000000.${ticks}-bbbbbbbb.held`) // from another boot
    await lockDataDir(dataDir, 'gateway')
  })
})
