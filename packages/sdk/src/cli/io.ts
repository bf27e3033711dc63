/** What a command touches of the world, so that tests can run it in their own process. */
export interface Io {
  out(text: string): void
  err(text: string): void
  /** Everything on standard input. */
  stdin(): Promise<Buffer>
  env: Readonly<Record<string, string | undefined>>
  /** Where .data/local.json is looked for. */
  cwd: string
  colour: boolean
  /** Aborted by Ctrl-C. A command that never asks for it simply ends. */
  readonly interrupted: AbortSignal
}

export function processIo(): Io {
  let interrupted: AbortSignal | undefined
  // A reader that has seen enough (`| head`) is no failure.
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
