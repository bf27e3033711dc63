import { fstatSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createSimulator, FORMS, type Form, SIMULATOR_KINDS, type SimulatorKind } from './simulator.ts'

const USAGE = `wholesaler-simulator KIND [--port PORT] [--events-url URL] [--catalogue-size COUNT] [--balance UNITS] [--credentials JSON] [--form FORM]…
KIND: ${SIMULATOR_KINDS.join(', ')}
FORM: ${FORMS.join(', ')}
Prints {"kind", "url", "credentials", "controlUrl"} as one line of JSON when it listens. Runs until SIGINT, SIGTERM, or the end
of its standard input if that is a pipe, so that it ends with the process that started it.
`

/** Runs one simulator from a command line. @returns the exit code, once it has been stopped */
async function run(argv: string[]): Promise<number> {
  const options = parse(argv)
  if (!options) {
    process.stderr.write(USAGE)
    return 2
  }
  const simulator = await createSimulator(options.kind, options)
  const { kind, url, credentials, controlUrl } = simulator
  process.stdout.write(`${JSON.stringify({ kind, url, credentials, controlUrl })}\n`)
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve)
    // Only a pipe ends with the parent process: a terminal does not, and /dev/null is at its end from the start.
    const stdin = fstatSync(0)
    if (stdin.isFIFO() || stdin.isSocket()) process.stdin.resume().once('end', resolve)
  })
  await simulator.close()
  return 0
}

function parse(argv: string[]) {
  const text = { type: 'string' } as const
  try {
    const { positionals, values } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        port: text,
        'events-url': text,
        'catalogue-size': text,
        balance: text,
        credentials: text,
        form: { ...text, multiple: true },
      },
    })
    const [kind, extra] = positionals
    if (extra !== undefined || !SIMULATOR_KINDS.includes(kind as SimulatorKind)) return undefined
    const forms = values.form ?? []
    if (!forms.every((form) => FORMS.includes(form as Form))) return undefined
    if (values['events-url'] !== undefined && !URL.canParse(values['events-url'])) return undefined
    const number = (name: 'port' | 'catalogue-size' | 'balance') => {
      const value = Number(values[name])
      if (!Number.isSafeInteger(value) || value < 0) throw new Error(name)
      return value
    }
    return {
      kind: kind as SimulatorKind,
      ...(values.port !== undefined && { port: number('port') }),
      ...(values['events-url'] !== undefined && { eventsUrl: values['events-url'] }),
      ...(values['catalogue-size'] !== undefined && { catalogueSize: number('catalogue-size') }),
      ...(values.credentials !== undefined && {
        credentials: JSON.parse(values.credentials) as Record<string, string>,
      }),
      forms: forms as Form[],
      ...(values.balance !== undefined && { balance: number('balance') * 10_000 }),
    }
  } catch {
    return undefined
  }
}

process.exitCode = await run(process.argv.slice(2))
