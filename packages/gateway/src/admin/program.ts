import { Command, CommanderError } from 'commander'
import { ApiError } from '../lib/api-error.ts'
import { type AdminContext, adminContext, jsonText } from './context.ts'

/** Adds the commands of one noun. */
type Commands = (noun: Command, context: AdminContext) => void

interface Noun {
  name: string
  summary: string
  load(): Promise<Commands>
}

/** Every noun of the operator's command line. Only the one that is called is loaded, so that the answer comes fast. */
const NOUNS: readonly Noun[] = []

const USAGE_ERROR = 2

/** Runs one command. @returns the exit code: 0, 1 for a failure, 2 for a command line that cannot be understood. */
export async function runAdmin(args: readonly string[]): Promise<number> {
  const program = new Command('admin')
    .description('Operate the gateway: works beside a running one and without one.')
    .option('--json', 'print exactly one JSON document')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeErr: () => {} }) // told by `fail`, once
    .exitOverride()
  const context = adminContext(program)
  try {
    for (const noun of NOUNS) {
      const command = program.command(noun.name).summary(noun.summary).description(noun.summary)
      if (args.includes(noun.name)) (await noun.load())(command, context)
    }
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0 // --help
    process.stderr.write(`${context.json || args.includes('--json') ? jsonText(failureOf(error)) : words(error)}\n`)
    return error instanceof CommanderError ? USAGE_ERROR : 1
  }
}

function words(error: unknown): string {
  if (error instanceof ApiError) {
    const details = (error.parts.details ?? []).map((detail) => `  ${detail.field}: ${detail.reason}`)
    return [error.message, ...details].join('\n')
  }
  return error instanceof Error ? error.message : String(error)
}

function failureOf(error: unknown) {
  if (!(error instanceof ApiError)) return { error: { message: words(error) } }
  const { details = [], data } = error.parts
  return { error: { code: error.code, message: error.message, details, ...(data ? { data } : {}) } }
}
