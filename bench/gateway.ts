import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import packageJson from '../package.json' with { type: 'json' }

export interface BenchGateway {
  pid: number
  /** Of one that plays the api role. */
  baseUrl: string
  stop(): Promise<void>
}

const MAIN = fileURLToPath(new URL('../packages/gateway/dist/main.js', import.meta.url))
const BUILD = fileURLToPath(new URL('../scripts/build.mjs', import.meta.url))
const START_TIMEOUT_MS = 30_000
/** As `npm start` and the unit have them. */
const NODE_OPTIONS = packageJson.scripts.start.split(' ').filter((word) => word.startsWith('--'))

/**
 * A gateway as operators run it: the bundle, in a process of its own, with its usual log level. Its log goes to a file,
 * as it would under a service manager, so that the bench spends no time on it.
 */
export async function startBenchGateway(options: {
  folder: string
  name: string
  role: 'api' | 'worker' | 'all'
  env: Record<string, string>
  /** Where it leaves a CPU profile when it stops. */
  profileDir?: string | undefined
}): Promise<BenchGateway> {
  execFileSync(process.execPath, [BUILD, 'gateway'])
  const logFile = join(options.folder, `${options.name}.log`)
  const log = openSync(logFile, 'w')
  const profiling = options.profileDir ? ['--cpu-prof', `--cpu-prof-dir=${options.profileDir}`] : []
  const child = spawn(process.execPath, [...NODE_OPTIONS, ...profiling, MAIN, '--role', options.role], {
    env: { PATH: process.env.PATH ?? '', PORT: '0', METRICS_PORT: '0', ...options.env },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const exited = once(child, 'exit')
  const killWithUs = () => child.kill('SIGKILL')
  process.once('exit', killWithUs)
  const deadline = performance.now() + START_TIMEOUT_MS
  for (;;) {
    const ready = readFileSync(logFile, 'utf8')
      .split('\n')
      .find((line) => line.includes('"msg":"ready"'))
    if (ready) {
      return {
        pid: child.pid!,
        baseUrl: (JSON.parse(ready) as { baseUrl: string }).baseUrl,
        async stop() {
          child.kill('SIGTERM')
          await exited
          process.off('exit', killWithUs)
        },
      }
    }
    if (child.exitCode !== null || performance.now() > deadline) {
      throw new Error(`the gateway did not start: ${readFileSync(logFile, 'utf8').slice(-2_000)}`)
    }
    await delay(20)
  }
}
