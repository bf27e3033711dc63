import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import packageJson from '../package.json' with { type: 'json' }

export interface BenchGateway {
  pid: number
  /** Defined with the role `api`. */
  baseUrl: string
  stop(): Promise<void>
}

const MAIN = fileURLToPath(new URL('../packages/gateway/dist/main.js', import.meta.url))
const BUILD = fileURLToPath(new URL('../scripts/build.mjs', import.meta.url))
const START_TIMEOUT_MS = 30_000
/** The options of `npm start` and of the systemd unit. */
const NODE_OPTIONS = packageJson.scripts.start.split(' ').filter((word) => word.startsWith('--'))

/**
 * Starts a gateway as operators do: the bundle, in its own process, with the default log level. It logs to a file, as under
 * a service manager, so that the bench spends no time on reading the log.
 */
export async function startBenchGateway(options: {
  folder: string
  name: string
  role: 'api' | 'worker' | 'all'
  env: Record<string, string>
  /** The folder for a CPU profile, written when it stops. */
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
  const killOnExit = () => child.kill('SIGKILL')
  process.once('exit', killOnExit)
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
          process.off('exit', killOnExit)
        },
      }
    }
    if (child.exitCode !== null || performance.now() > deadline) {
      throw new Error(`the gateway did not start: ${readFileSync(logFile, 'utf8').slice(-2_000)}`)
    }
    await delay(20)
  }
}
