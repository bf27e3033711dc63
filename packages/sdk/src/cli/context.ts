import { DealerEsim, type DealerEsimOptions } from '#client.ts'
import { type Credentials, readCredentials } from './credentials.ts'
import { orUsageError } from './exit-codes.ts'
import type { Io } from './io.ts'
import { type Paint, paint } from './output.ts'

/** Passed to every command. */
export interface Context {
  io: Io
  paint: Paint
  json: boolean
  /** Prints the result: text for people, or one JSON document. */
  print(human: string, json: unknown): void
  credentials(): Credentials
  /** The local gateway's file, once credentials have been read from it. */
  credentialsFile(): string | undefined
  client(options?: Partial<DealerEsimOptions>): DealerEsim
}

export interface GlobalOptions {
  json?: boolean
  /** Milliseconds. */
  timeout?: number
  retries?: number
}

export function context(io: Io, options: GlobalOptions): Context {
  let credentials: Credentials | undefined
  const getCredentials = () => (credentials ??= readCredentials(io))
  return {
    io,
    paint: paint(io.colour && !options.json),
    json: options.json === true,
    print: (human, json) => io.out(options.json ? `${JSON.stringify(json, null, 2)}\n` : human),
    credentials: getCredentials,
    credentialsFile: () => credentials?.file,
    client: (more) => {
      const limits = {
        ...(options.timeout === undefined ? {} : { timeoutMs: options.timeout }),
        ...(options.retries === undefined ? {} : { retries: options.retries }),
      }
      const { file: _, agentKey: __, ...given } = getCredentials()
      return orUsageError(() => new DealerEsim({ ...given, ...limits, ...more }))
    },
  }
}
