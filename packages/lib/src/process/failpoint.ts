import { writeSync } from 'node:fs'

/*
 * Named points between steps that must survive a crash. Tests stop a gateway at one of them:
 *
 *   PAUSE_AT=NAME          the process kills itself (SIGKILL)
 *   PAUSE_AT=NAME:stop     the process stops (SIGSTOP) until it is continued
 *   PAUSE_AT=NAME:wait     this call waits for SIGUSR2; the rest of the process goes on
 *   PAUSE_AT=NAME:kill:3   as kill, but at the third pass
 *
 * Before it stops, the process writes `paused at NAME` to standard error. Outside local deployments, and without
 * PAUSE_AT, a failpoint costs one comparison.
 */

interface Failpoint {
  name: string
  mode: 'kill' | 'stop' | 'wait'
  passesLeft: number
}

let configured: Failpoint | null | undefined

/** Does nothing unless PAUSE_AT names this point. */
export async function failpoint(name: string): Promise<void> {
  configured ??= readFailpoint(process.env)
  if (configured === null || configured.name !== name) return
  configured.passesLeft -= 1
  if (configured.passesLeft !== 0) return
  writeSync(2, `paused at ${name}\n`)
  switch (configured.mode) {
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      return await new Promise(() => {}) // the signal takes a moment to arrive: do not continue
    case 'stop':
      process.kill(process.pid, 'SIGSTOP')
      return
    case 'wait':
      return await new Promise((resolve) => process.once('SIGUSR2', () => resolve()))
    default:
      return configured.mode satisfies never
  }
}

function readFailpoint(env: NodeJS.ProcessEnv): Failpoint | null {
  if (!env.PAUSE_AT || (env.DEPLOYMENT ?? 'local') !== 'local') return null
  const [name = '', mode = 'kill', passes = '1'] = env.PAUSE_AT.split(':')
  if (mode !== 'kill' && mode !== 'stop' && mode !== 'wait')
    throw new Error(`PAUSE_AT has an unknown mode ${mode}: use kill, stop or wait`)
  return { name, mode, passesLeft: Number(passes) }
}
