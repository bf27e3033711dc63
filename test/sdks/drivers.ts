import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { signRequest } from '@dealer-esim/contract'
import { DealerEsim, DealerEsimError, fetchWebhook, formatMoney, parseMoney, verifyEvent } from '@dealer-esim/sdk'
import { root } from '../local-gateway.ts'

/** One SDK under test: the same commands for each language. */
export interface Driver {
  /** Runs a command and returns its result, or throws what the SDK threw as a Thrown. */
  // biome-ignore lint/suspicious/noExplicitAny: results are JSON of all operations
  run(name: CommandName, parameters: object): Promise<any>
  stop(): void
}

export type CommandName = 'call' | 'operation' | 'each' | 'wait' | 'sign' | 'verify' | 'receive' | 'format' | 'parse'

/** The error of an SDK, with the members of the TypeScript SDK's error. `kind` is the name of its class. */
export class Thrown extends Error {
  constructor(readonly members: Record<string, unknown> & { code?: string; kind?: string }) {
    super(String(members.message))
  }
}

/** The SDK refuses its arguments, before it sends anything. */
export class InvalidArgument extends Error {}

/** Runs the driver of another language as a process: a command on each line, an answer on each. */
function startDriver(file: string, args: string[], env: Record<string, string> = {}): Driver {
  const child: ChildProcess = spawn(file, args, {
    cwd: join(root, 'test/sdks'),
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting: { resolve(line: string): void; reject(error: Error): void }[] = []
  createInterface({ input: child.stdout! }).on('line', (line) => waiting.shift()?.resolve(line))
  child.on('error', (error) => waiting.splice(0).map((each) => each.reject(error)))
  child.on('exit', (code) => waiting.splice(0).map((each) => each.reject(new Error(`${file} ended with ${code}`))))
  return {
    async run(name, parameters) {
      const line = await new Promise<string>((resolve, reject) => {
        waiting.push({ resolve, reject })
        child.stdin!.write(`${JSON.stringify({ do: name, with: parameters })}\n`)
      })
      const { ok, error, invalid } = JSON.parse(line)
      if (error !== undefined) throw new Thrown(error)
      if (invalid !== undefined) throw new InvalidArgument(invalid)
      return ok
    },
    stop: () => void child.stdin!.end(),
  }
}

interface Language {
  name: string
  /** Programs that must be installed. */
  needs: string[]
  start(): Driver
}

export const LANGUAGES: Language[] = [
  { name: 'TypeScript', needs: [], start: typescriptDriver },
  {
    name: 'Python',
    needs: ['/usr/bin/python3'],
    start: () => startDriver('/usr/bin/python3', ['-B', 'driver.py'], { PYTHONPATH: join(root, 'sdks/python/src') }),
  },
  {
    name: 'PHP',
    needs: phpHasCurl() ? ['php'] : ['php with curl'],
    start: () => startDriver('php', ['driver.php']),
  },
]

function phpHasCurl(): boolean {
  return spawnSync('php', ['-r', 'exit(extension_loaded("curl") ? 0 : 1);']).status === 0
}

interface ClientOptions {
  baseUrl: string
  appKey: string
  appSecret: string
  timeoutMs?: number
  retries?: number
  /** How far the machine's clock is off. */
  clockMs?: number
}

/** The TypeScript SDK, in this process. */
export function typescriptDriver(): Driver {
  return {
    async run(name, parameters) {
      try {
        return await commands[name](parameters as never)
      } catch (error) {
        if (error instanceof DealerEsimError) throw new Thrown({ ...error, message: error.message, kind: error.name })
        if (error instanceof TypeError) throw new InvalidArgument(error.message)
        throw error
      }
    },
    stop: () => undefined,
  }
}

const clientOf = ({ clockMs = 0, ...options }: ClientOptions) =>
  new DealerEsim({ ...options, now: () => Date.now() + clockMs })

interface MethodCall {
  client: ClientOptions
  method: string
  args: unknown[]
}

/** The method that the other languages call by this name: `setTestBalance` is `test.setBalance`. */
export function methodOf(esim: DealerEsim, name: string): ((...args: unknown[]) => Promise<unknown>) | undefined {
  const [, verb = '', noun = ''] = /^([a-z]+)Test([A-Z][a-z]+)$/.exec(name) ?? []
  const [owner, member] = verb === '' ? [esim, name] : [esim.test, verb + noun]
  const method = (owner as unknown as Record<string, unknown>)[member]
  return typeof method === 'function' ? method.bind(owner) : undefined
}

const commands = {
  call: ({ client, method, args }: MethodCall) => {
    return methodOf(clientOf(client), method)!(...args)
  },
  operation: async ({ client, operation, request }: { client: ClientOptions; operation: string; request: object }) =>
    (await clientOf(client).exchange(operation, request)).data,
  each: async ({ client, method, args }: MethodCall) => {
    const esim = clientOf(client)
    const rows: unknown[] = []
    const iterate = methodOf(esim, method) as unknown as (...args: unknown[]) => AsyncIterable<unknown>
    for await (const row of iterate(...args)) rows.push(row)
    return rows
  },
  wait: ({ client, which, waitMs }: { client: ClientOptions; which: object; waitMs: number }) =>
    clientOf(client).waitForOrder(which, { waitMs }),
  sign: ({ appSecret, body, ...parts }: Record<'timestamp' | 'requestId' | 'appKey' | 'appSecret' | 'body', string>) =>
    signRequest(appSecret, parts, body),
  verify: ({ secrets, nowMs, ...event }: { secrets: string[]; headers: Headers; body: string; nowMs: number }) =>
    verifyEvent({ ...event, appSecret: secrets, now: () => nowMs }),
  receive: async ({ secret, method, headers, body, failing }: Received) => {
    const events: unknown[] = []
    const handle = fetchWebhook({
      appSecret: secret,
      onEvent: (event) => {
        events.push(event)
        if (failing) throw new Error('the disk is full')
      },
      onError: () => undefined,
    })
    const init = { method, headers, ...(method === 'POST' && { body }) }
    const { status } = await handle(new Request('http://dealer.example/events', init))
    return { status, events }
  },
  format: async ({ units }: { units: number }) => formatMoney(units),
  parse: async ({ text }: { text: string }) => {
    try {
      return Number(parseMoney(text))
    } catch (error) {
      throw new InvalidArgument(String(error))
    }
  },
}

interface Received {
  secret: string
  method: string
  headers: Record<string, string>
  body: string
  failing: boolean
}
