/** The process as commands see it, so that tests can run commands in their own process. */
export interface Io {
  out(text: string): void
  err(text: string): void
  /** Reads all of standard input. */
  stdin(): Promise<Buffer>
  env: Readonly<Record<string, string | undefined>>
  /** The directory in which .data/local.json is expected. */
  cwd: string
  colour: boolean
  /** Aborted by Ctrl-C. If a command never reads it, Ctrl-C ends the process. */
  readonly interrupted: AbortSignal
}

export function processIo(): Io {
  let interrupted: AbortSignal | undefined
  // A closed pipe, as in `| head`, is not a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    stdin: async () => {
      const chunks: Buffer[] = []
      for await (const chunk of process.stdin) chunks.push(chunk)
      return Buffer.concat(chunks)
    },
    env: process.env,
    cwd: process.cwd(),
    colour: process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
    get interrupted() {
      interrupted ??= onInterrupt()
      return interrupted
    },
  }
}

function onInterrupt(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort())
  return controller.signal
}
