import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Io } from '#cli/io.ts'
import { run } from '#cli/program.ts'

export interface Outcome {
  code: number
  out: string
  err: string
}

export interface CommandInput {
  env?: Record<string, string | undefined>
  stdin?: string | Buffer
  /** If absent, an empty directory that is removed afterwards. */
  cwd?: string
  /** True to behave as on a terminal. */
  colour?: boolean
  interrupted?: AbortSignal
  /** Receives standard output as it is written. */
  onOut?: (text: string) => unknown
  /** Receives standard error as it is written. */
  onErr?: (text: string) => unknown
}

/** Runs one command in this process, without its environment. */
export async function command(argv: string[], input: CommandInput = {}): Promise<Outcome> {
  const cwd = input.cwd ?? mkdtempSync(join(tmpdir(), 'dealer-esim-cli-'))
  const outcome = { out: '', err: '' }
  const io: Io = {
    out: (text) => {
      outcome.out += text
      input.onOut?.(text)
    },
    err: (text) => {
      outcome.err += text
      input.onErr?.(text)
    },
    stdin: async () => Buffer.from(input.stdin ?? ''),
    env: input.env ?? {},
    cwd,
    colour: input.colour ?? false,
    interrupted: input.interrupted ?? new AbortController().signal,
  }
  try {
    const code = await run(argv, io)
    return { code, ...outcome }
  } finally {
    if (input.cwd === undefined) rmSync(cwd, { recursive: true })
  }
}

export function environment(gateway: { baseUrl: string; appKey: string; appSecret: string }): Record<string, string> {
  return {
    DEALER_ESIM_BASE_URL: gateway.baseUrl,
    DEALER_ESIM_APP_KEY: gateway.appKey,
    DEALER_ESIM_APP_SECRET: gateway.appSecret,
  }
}
