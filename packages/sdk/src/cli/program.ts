import { Argument, Command, CommanderError } from 'commander'
import packageJson from '#package.json' with { type: 'json' }
import { integer, timeoutMs } from './arguments.ts'
import { auditCommand } from './audit/audit.ts'
import { certifyCommand } from './certify/certify.ts'
import { reportFailure } from './command-failure.ts'
import { accountCommands } from './commands/account.ts'
import { actionCommands } from './commands/actions.ts'
import { listenCommand } from './commands/listen.ts'
import { listCommands } from './commands/lists.ts'
import { orderCommands } from './commands/orders.ts'
import { packageCommands } from './commands/packages.ts'
import { profileCommands } from './commands/profiles.ts'
import { quoteCommand } from './commands/quote.ts'
import { signCommand } from './commands/sign.ts'
import { testCommands } from './commands/testing.ts'
import { webhookCommands } from './commands/webhook.ts'
import { COMPLETION_SHELLS, completionScript } from './completion.ts'
import { type Context, context, type GlobalOptions } from './context.ts'
import { AlreadyReported, EXIT, EXIT_HELP } from './exit-codes.ts'
import type { Io } from './io.ts'
import { mcpCommand } from './mcp/mcp.ts'
import { tourCommand } from './tour/tour.ts'
import { helpLanguage, translateHelp } from './translate-help.ts'
import { verifyCommand } from './verify/verify.ts'

/** Runs one command; resolves with the exit code. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  let current: Context = context(io, { json: argv.includes('--json') })
  const program = commandLine(io, () => (current = context(io, program.opts<GlobalOptions>())))
  const language = helpLanguage(io.env)
  if (language) translateHelp(program, language)
  try {
    await program.parseAsync(argv, { from: 'user' })
    return EXIT.DONE
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.DONE : EXIT.USAGE
    return error instanceof AlreadyReported ? error.exitCode : reportFailure(current, error)
  }
}

/** All commands, in English. */
export function commandLine(io: Io, current: () => Context): Command {
  const program = new Command('dealer-esim')
    .description('Buy eSIMs from a Dealer eSIM gateway, and find out why a call fails.')
    .version(releaseText(), '--version', 'print the version and its commit')
    .option('--json', 'print one JSON document')
    .option('--timeout <time>', 'limit for each attempt, 30s by default', timeoutMs)
    .option('--retries <count>', 'attempts after the first, 3 by default', integer(0, 20))
    .showHelpAfterError('Add --help for usage.')
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .addHelpText('after', HELP)
  accountCommands(program, current)
  packageCommands(program, current)
  orderCommands(program, current)
  quoteCommand(program, current)
  profileCommands(program, current)
  actionCommands(program, current)
  listCommands(program, current)
  auditCommand(program, current)
  webhookCommands(program, current)
  testCommands(program, current)
  signCommand(program, current)
  verifyCommand(program, current)
  listenCommand(program, current)
  tourCommand(program, current)
  mcpCommand(program, current)
  certifyCommand(program, current)
  program
    .command('completion')
    .description('Print a script that completes commands and options in bash or zsh.')
    .addArgument(new Argument('<shell>').choices(COMPLETION_SHELLS))
    .action((shell: (typeof COMPLETION_SHELLS)[number]) => io.out(completionScript('dealer-esim', program, shell)))
  return program
}

/** Set by `npm run dist`. */
declare const RELEASE_COMMIT: string | undefined

/** For example `0.1.0 (fe2c68f0)`; a checkout has no commit in its version. */
function releaseText(): string {
  const { version } = packageJson
  return typeof RELEASE_COMMIT === 'string' ? `${version} (${RELEASE_COMMIT})` : version
}

const HELP = `
Settings, from the environment:
  DEALER_ESIM_BASE_URL    address of the gateway, without /open-api/v1
  DEALER_ESIM_APP_KEY     your AppKey
  DEALER_ESIM_APP_SECRET  your AppSecret, or DEALER_ESIM_APP_SECRET_FILE with the path of a file that contains it
If they are not set, the credentials of a local gateway in this directory are used (.data/local.json, or local.json in
DATA_DIR).

Examples:
  $ dealer-esim tour
  $ dealer-esim packages --location JP
  $ dealer-esim order JP_1_7 --transaction-id T-1 --wait
  $ dealer-esim verify < failing-request.txt

${EXIT_HELP}`
