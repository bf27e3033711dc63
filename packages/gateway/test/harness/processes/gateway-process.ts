import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { signalOnExit } from '@dealer-esim/embedded-postgres/processes.ts'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { inject } from 'vitest'
import { packageRoot } from '#platform/package-root.ts'
import { inspectFrom, logsStatements, TEST_LOG } from '../debugging.ts'
import { dataFolder, removeFolder } from '../temporary-folders.ts'

type LogLine = Record<string, unknown> & { msg?: string }

export interface GatewayOptions {
  /** If absent, the gateway starts an embedded server in its data directory. */
  databaseUrl?: string
  /** If absent, an empty one, removed with the gateway. */
  dataDir?: string
  role?: 'api' | 'worker' | 'all'
  isTrial?: boolean
  /** The time of `--recovery`. */
  recovery?: string
  /** A different bundle, Node or user, for tests of startup itself. */
  main?: string
  node?: string
  user?: { uid: number; gid: number }
  /** Added to PORT=0 and METRICS_PORT=0. Only PATH, HOME and TMPDIR are passed on from the test's environment. */
  env?: Record<string, string>
}

interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** A gateway in a separate process, started as an operator would, and killed when the test's process ends. */
export interface GatewayProcess {
  readonly pid: number
  readonly dataDir: string
  /** @throws if it is not ready yet */
  readonly baseUrl: string
  /** All log lines and standard error output so far. */
  readonly logs: LogLine[]
  readonly stderr: string
  readonly exited: Promise<Exit>
  /** Resolves with the first matching line, past or future; rejects if the process ends without one. */
  waitForLog(matches: (line: LogLine) => boolean): Promise<LogLine>
  waitReady(): Promise<void>
  /** Sends the signal and waits for the process to end. */
  kill(signal?: NodeJS.Signals): Promise<Exit>
}

/** Gateways with a DATABASE_URL share this key; others create a key in their data directory. */
export const SHARED_MASTER_KEY = Buffer.alloc(32, 7).toString('base64')

const running = new Set<GatewayProcess>()
const folders = new Set<string>()
let isBuilt = false
let spawned = 0

/** Starts a gateway and waits until it accepts requests. */
export async function startGateway(options: GatewayOptions = {}): Promise<GatewayProcess> {
  const gateway = spawnGateway(options)
  await gateway.waitReady()
  return gateway
}

/** Starts a gateway on the data of an earlier one's first start, for tests of anything but that: `copyUsedDataDir`. */
export async function startUsedGateway(options: Omit<GatewayOptions, 'dataDir'> = {}): Promise<GatewayProcess> {
  const dataDir = join(temporaryFolder('used'), 'data')
  await copyUsedDataDir(dataDir)
  return startGateway({ ...options, dataDir })
}

/** For `afterAll`: stops all gateways of this test file and removes their temporary folders. */
export async function stopGateways(): Promise<void> {
  await Promise.all([...running].map((gateway) => gateway.kill('SIGTERM')))
  for (const folder of folders) removeFolder(folder)
  folders.clear()
}

/** The variables that make a child record its statements: databases/parameter-types.ts. */
export function recordingEnv(): Record<string, string> {
  const { NODE_OPTIONS = '', STATEMENTS_FOLDER } = process.env
  return STATEMENTS_FOLDER === undefined ? {} : { NODE_OPTIONS, STATEMENTS_FOLDER }
}

/** Starts a gateway without waiting for it, for tests of startup itself. */
export function spawnGateway(options: GatewayOptions = {}): GatewayProcess {
  buildGateway()
  const dataDir = options.dataDir ?? temporaryFolder('gateway')
  const { PATH = '', HOME = '', TMPDIR = tmpdir() } = process.env
  const child = spawn(
    options.node ?? process.execPath,
    // No source maps, which would take a tenth of the start time. Stack traces point into the bundle.
    [
      ...(inspectFrom === undefined ? [] : [`--inspect=127.0.0.1:${inspectFrom + spawned++}`]),
      options.main ?? join(packageRoot(), 'dist/main.js'),
      ...(options.role ? ['--role', options.role] : []),
      ...(options.isTrial ? ['--trial'] : []),
      ...(options.recovery ? ['--recovery', options.recovery] : []),
    ],
    {
      env: {
        ...{ PATH, HOME, TMPDIR, DATA_DIR: dataDir, PORT: '0', METRICS_PORT: '0' },
        ...(options.databaseUrl
          ? { DATABASE_URL: options.databaseUrl, DATABASE_SCHEMA: DEFAULT_SCHEMA, MASTER_KEY: SHARED_MASTER_KEY }
          : {}),
        ...(options.node === undefined && options.user === undefined && recordingEnv()),
        ...(TEST_LOG !== undefined && { LOG_LEVEL: logsStatements ? 'debug' : TEST_LOG }),
        ...options.env,
      },
      ...options.user,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const lines = createLineLog()
  let stderr = ''
  child.once('error', ({ message }) => (stderr += message))
  const watchdog = child.pid ? signalOnExit(child.pid, 'KILL') : undefined
  createInterface({ input: child.stdout }).on('line', (text) => {
    lines.add(text)
    if (TEST_LOG !== undefined) process.stderr.write(`${text}\n`)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = new Promise<Exit>((resolve) => child.once('close', (code, signal) => resolve({ code, signal })))
  const gateway: GatewayProcess = {
    pid: child.pid!,
    dataDir,
    get baseUrl() {
      const ready = lines.all.find(isReady)
      if (!ready) throw new Error('the gateway is not ready yet')
      return String(ready.baseUrl)
    },
    logs: lines.all,
    get stderr() {
      return stderr
    },
    exited,
    waitForLog: (matches) => lines.wait(matches),
    waitReady: async () => void (await lines.wait(isReady)),
    kill(signal = 'SIGTERM') {
      child.kill(signal)
      return exited
    },
  }
  running.add(gateway)
  void exited.then(({ code, signal }) => {
    watchdog?.cancel()
    running.delete(gateway)
    lines.end(
      `the gateway ended (${signal ?? code}): ${stderr}${lines.all.slice(-5).map((line) => `\n${JSON.stringify(line)}`)}`,
    )
  })
  return gateway
}

function isReady(line: LogLine): boolean {
  return line.msg === 'ready'
}

/** Builds the bundle that `npm start` runs, if its sources have changed. */
export function buildGateway(): void {
  if (isBuilt) return
  execFileSync(process.execPath, [join(packageRoot(), '../../scripts/build.mjs'), 'gateway'], { stdio: 'pipe' })
  isBuilt = true
}

/** A folder that will be removed by `stopGateways`. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(dataFolder(), `dealer-esim-${name}-`))
  folders.add(folder)
  return folder
}

function createLineLog() {
  const all: LogLine[] = []
  const waiting = new Set<{
    matches(line: LogLine): boolean
    resolve(line: LogLine): void
    reject(error: Error): void
  }>()
  let ended: Error | undefined
  return {
    all,
    add(text: string) {
      const line = parse(text)
      all.push(line)
      for (const waiter of waiting) {
        if (!waiter.matches(line)) continue
        waiting.delete(waiter)
        waiter.resolve(line)
      }
    },
    wait(matches: (line: LogLine) => boolean): Promise<LogLine> {
      const past = all.find(matches)
      if (past) return Promise.resolve(past)
      if (ended) return Promise.reject(ended)
      return new Promise((resolve, reject) => waiting.add({ matches, resolve, reject }))
    },
    end(reason: string) {
      ended = new Error(reason)
      for (const waiter of waiting) waiter.reject(ended)
      waiting.clear()
    },
  }
}

function parse(text: string): LogLine {
  try {
    return JSON.parse(text) as LogLine
  } catch {
    return { text }
  }
}

/**
 * Fills DATA_DIR with the data of a gateway's first start, including the demo, for tests of what happens later. Copies a
 * folder that is created once per run, because creating it takes three seconds of CPU.
 */
export async function copyUsedDataDir(dataDir: string): Promise<void> {
  const { dataDir: original } = inject('testServer')
  if (!existsSync(original)) {
    creating ??= createUsedDataDir(original).finally(() => {
      creating = undefined
    })
    await creating
  }
  mkdirSync(dirname(dataDir), { recursive: true })
  execFileSync('cp', ['-a', original, dataDir])
}

/** By this worker. */
let creating: Promise<void> | undefined

async function createUsedDataDir(original: string): Promise<void> {
  const draft = `${original}-${process.pid}`
  const gateway = await startGateway({ dataDir: draft })
  const { code } = await gateway.kill('SIGTERM')
  if (code !== 0) throw new Error(`the gateway of the copied data directory ended with ${code}: ${gateway.stderr}`)
  try {
    renameSync(draft, original)
  } catch {
    removeFolder(draft) // the other worker was faster
  }
}
