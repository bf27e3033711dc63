import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { compare } from '../compare.ts'
import type { Figure } from '../figure.ts'
import { type Credentials, requireSuccess, sendAll, signedRequest } from '../load.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const EXISTING_MAX_MS = 2_000
const EMPTY_MAX_MS = 5_000
const IDLE_MAX_MB = 150
/** How long after its first answer memory is measured. Node.js collects a start's garbage after eight idle seconds. */
const IDLE_AFTER_MS = 10_000

export const start: Figure = {
  name: 'start',
  summary:
    'npm start until the first signed answer, with existing data and an empty DATA_DIR; memory of the idle gateway',
  async run(bench) {
    const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-start-'))
    const existing = join(folder, 'existing')
    const idleMb: number[] = []
    const existingStart = async (round: number) => {
      const started = await npmStart(existing)
      await delay(IDLE_AFTER_MS)
      idleMb[round] = memoryMb(started.pid)
      await started.stop()
      return started.durationMs
    }
    const emptyStart = async (round: number) => {
      const started = await npmStart(join(folder, `empty-${round}`))
      await started.stop()
      return started.durationMs
    }
    const common = { rounds: bench.rounds, progress: bench.progress, aim: { max: 1 } }
    try {
      await existingStart(0) // creates the data, and builds if necessary
      return [
        await compare({
          ...common,
          name: 'start: existing data',
          what: 'ms from npm start to the first signed answer on existing data, against a limit of 2 s',
          ours: existingStart,
          against: EXISTING_MAX_MS,
        }),
        await compare({
          ...common,
          name: 'start: empty DATA_DIR',
          what: 'ms from npm start to the first signed answer on an empty DATA_DIR, against a limit of 5 s',
          ours: emptyStart,
          against: EMPTY_MAX_MS,
        }),
        await compare({
          ...common,
          name: 'start: idle memory',
          what: `resident MB of the gateway process ${IDLE_AFTER_MS / 1000} s after its first answer, against a limit of 150 MB`,
          ours: async (round) => idleMb[round]!,
          against: IDLE_MAX_MB,
        }),
      ]
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

interface Started {
  pid: number
  durationMs: number
  stop(): Promise<void>
}

/** Starts the gateway as a user does: npm, the check of the build, the gateway, its own PostgreSQL. */
async function npmStart(dataDir: string): Promise<Started> {
  const { PATH = '', HOME = '', TMPDIR = tmpdir() } = process.env
  const env = { PATH, HOME, TMPDIR, DATA_DIR: dataDir, PORT: '0', METRICS_PORT: '0' }
  const startedAt = performance.now()
  const child = spawn('npm', ['start'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const { pid, baseUrl } = await waitReady(child.stdout)
  const access = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8')) as Credentials
  requireSuccess(await sendAll(baseUrl, [signedRequest(access, 'health', '{}')], 1))
  const durationMs = performance.now() - startedAt
  const stop = async () => {
    process.kill(pid, 'SIGTERM')
    await exited
  }
  return { pid, durationMs, stop }
}

/** Waits for the log line that reports the gateway ready. */
async function waitReady(output: NodeJS.ReadableStream): Promise<{ pid: number; baseUrl: string }> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: output })
    lines.on('line', (line) => {
      if (line.includes('"msg":"ready"')) resolve(JSON.parse(line))
    })
    lines.on('close', () => reject(new Error('npm start ended before the gateway was ready')))
  })
}

function memoryMb(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024
}
