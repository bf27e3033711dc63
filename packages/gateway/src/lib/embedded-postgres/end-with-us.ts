import { spawn } from 'node:child_process'
import type { Account } from './account.ts'

/**
 * Signals a process when ours has ended, however it ended: one that is killed cannot stop what it started. A small
 * helper waits on a pipe that the kernel closes with us. Without it, a gateway that is killed and whose DATA_DIR is
 * removed would leave a database server running for ever.
 */
export function endWithUs(pid: number, signal: 'INT' | 'KILL', account?: Account): { callOff(): void } {
  const helper = spawn('/bin/sh', ['-c', 'read -r _; kill -"$2" "$1"', 'sh', String(pid), signal], {
    ...account,
    cwd: '/',
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  helper.on('error', () => {}) // without it the next start finds the orphan and stops it
  helper.unref()
  return { callOff: () => void helper.kill('SIGKILL') }
}
