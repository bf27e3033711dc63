import { execFile, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { signalOnExit } from '@dealer-esim/embedded-postgres/processes.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import { expect } from 'vitest'

interface Surroundings {
  cwd: string
  env: Record<string, string>
  user?: User | undefined
}

type User = { uid: number; gid: number }

/** `nobody`, if the tests run as root; otherwise the user of the tests, who has no rights either. */
export const UNPRIVILEGED: User | undefined = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined

/** An empty folder that the unprivileged user owns. */
export function emptyFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `dealer-esim-${name}-`))
  if (UNPRIVILEGED) chownSync(folder, UNPRIVILEGED.uid, UNPRIVILEGED.gid)
  chmodSync(folder, 0o755)
  return folder
}

/** A gateway that an artifact's own command started. */
export interface Service {
  baseUrl: string
  metricsUrl: string
  /** Memory of the process that the command became. */
  residentBytes(): number
  /** Its output so far. */
  output(): string
  /** Sends a signal to the process and its children, as a terminal or a container engine does, and waits for the end. */
  stop(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Runs a command until it says that the gateway is ready. @throws with its output if it ends before */
export async function startService(command: string[], { cwd, env, user }: Surroundings): Promise<Service> {
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd, env, ...user, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const watchdog = child.pid ? signalOnExit(-child.pid, 'KILL') : undefined
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal }))
  }).finally(() => watchdog?.cancel())
  const ready = new Promise<{ port: number; metricsPort: number }>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      output += `${line}\n`
      if (line.includes('"msg":"ready"')) resolve(JSON.parse(line))
    })
    ended.then((end) => reject(new Error(`${command.join(' ')} ended with ${JSON.stringify(end)}:\n${output}`)), reject)
  })
  const { port, metricsPort } = await ready
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    metricsUrl: `http://127.0.0.1:${metricsPort}`,
    residentBytes() {
      const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))!
      return Number(kilobytes) * 1_024
    },
    output: () => output,
    stop(signal) {
      process.kill(-child.pid!, signal)
      return ended
    },
  }
}

/** Runs a command that must succeed, and resolves with its standard output. */
export function run([program = '', ...args]: string[], { cwd, env, user }: Surroundings): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, env, ...user, maxBuffer: 2 ** 28 }, (error, stdout, stderr) => {
      if (error)
        reject(new Error(`${program} ended with exit code ${error.code}: ${error.message}\n${stdout}${stderr}`))
      else resolve(stdout)
    })
  })
}

interface Credentials {
  baseUrl: string
  appKey: string
  appSecret: string
}

/** Orders one eSIM and waits until it is delivered. A repeated transactionId is not debited again. */
export async function sell(credentials: Credentials, transactionId: string, packageCode = 'JP_1_7') {
  const dealer = new DealerEsim(credentials)
  const order = await dealer.order({ transactionId, packageInfoList: [{ packageCode, count: 1 }] })
  const delivered = async () => (await dealer.query({ orderNo: order.orderNo })).orderStatus
  await expect.poll(delivered, { timeout: 60_000 }).toBe('DELIVERED')
  return order
}
