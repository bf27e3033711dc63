import { writeSync } from 'node:fs'

/*
 * Named points between the steps of what must survive a crash. Tests stop a gateway at one of them:
 *
 *   PAUSE_AT=fulfilment.after-attempt          the process kills itself there (SIGKILL)
 *   PAUSE_AT=fulfilment.after-attempt:stop     it stops as a whole (SIGSTOP) until somebody continues it
 *   PAUSE_AT=fulfilment.after-attempt:wait     that one flow waits, the rest of the process goes on; SIGUSR2 ends it
 *   PAUSE_AT=fulfilment.after-attempt:kill:3   the third time that it comes by
 *
 * Before it stops it writes the line `paused at NAME` to standard error. Anywhere but on a local deployment, and
 * without PAUSE_AT, a point costs one comparison.
 */

interface PausePoint {
  name: string
  mode: 'kill' | 'stop' | 'wait'
  passesLeft: number
}

let point: PausePoint | null | undefined

/** Does nothing, unless this point was named. */
export async function failpoint(name: string): Promise<void> {
  point ??= readPoint(process.env)
  if (point === null || point.name !== name) return
  point.passesLeft -= 1
  if (point.passesLeft !== 0) return
  writeSync(2, `paused at ${name}\n`)
  switch (point.mode) {
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      return await new Promise(() => {}) // the signal needs a moment to arrive: go no further
    case 'stop':
      process.kill(process.pid, 'SIGSTOP')
      return
    case 'wait':
      return await new Promise((resolve) => process.once('SIGUSR2', () => resolve()))
    default:
      return point.mode satisfies never
  }
}

function readPoint(env: NodeJS.ProcessEnv): PausePoint | null {
  if (!env.PAUSE_AT || (env.DEPLOYMENT ?? 'local') !== 'local') return null
  const [name = '', mode = 'kill', passes = '1'] = env.PAUSE_AT.split(':')
  if (mode !== 'kill' && mode !== 'stop' && mode !== 'wait') throw new Error(`PAUSE_AT has no mode ${mode}`)
  return { name, mode, passesLeft: Number(passes) }
}
