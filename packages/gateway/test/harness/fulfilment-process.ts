import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { packageRoot } from '../../src/lib/process/package-root.ts'

/** Starts one node's fulfilment as a child, killed with this process. `bundle`: of harness/fulfilment-node.ts. */
export function spawnFulfilment(
  bundle: string,
  databaseUrl: string,
  pauseAt?: string,
): ChildProcess & { ended: Promise<unknown> } {
  const child = spawn(process.execPath, [bundle, databaseUrl], {
    cwd: packageRoot(),
    env: { ...process.env, DEPLOYMENT: 'local', ...(pauseAt ? { PAUSE_AT: pauseAt } : {}) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return Object.assign(child, { ended: once(child, 'close') })
}
