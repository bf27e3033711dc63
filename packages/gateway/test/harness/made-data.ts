import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { inject } from 'vitest'
import { startGateway } from './gateway-process.ts'

/**
 * Makes DATA_DIR as a gateway left it that was started once and stopped, its demo included: a copy of one that is made
 * once in a run. To make one anew costs three seconds of processor time, and more of waiting for the disk. For tests of
 * what comes after the first start.
 */
export async function makeUsedDataDir(dataDir: string): Promise<void> {
  const made = await madeOnce()
  mkdirSync(dirname(dataDir), { recursive: true })
  execFileSync('cp', ['-a', made, dataDir])
}

async function madeOnce(): Promise<string> {
  const { dataDir: made } = inject('testServer')
  if (existsSync(made)) return made
  const draft = `${made}-${process.pid}`
  const gateway = await startGateway({ dataDir: draft })
  const { code } = await gateway.kill('SIGTERM')
  if (code !== 0) throw new Error(`the gateway whose data are copied ended with ${code}: ${gateway.stderr}`)
  try {
    renameSync(draft, made)
  } catch {
    rmSync(draft, { recursive: true, force: true }) // the other worker was quicker
  }
  return made
}
