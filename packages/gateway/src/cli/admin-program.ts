import { releaseText } from '@dealer-esim/lib/process/release.ts'
import { Command, CommanderError } from 'commander'
import { failureText, isUsageError, UsageError } from './kernel/cli-failure.ts'
import { type AdminContext, adminContext } from './kernel/context.ts'

/** Adds the commands of one noun. */
type Commands = (noun: Command, context: AdminContext) => void

interface Noun {
  name: string
  summary: string
  load(): Promise<Commands>
}

/** The nouns of the operator's command line. Only the noun that is called is loaded, because loading all of them is slow. */
export const NOUNS: readonly Noun[] = [
  {
    name: 'tenant',
    summary: 'dealers: credentials and settings',
    load: async () => (await import('./tenants/tenant.ts')).tenantCommands,
  },
  {
    name: 'key',
    summary: "dealers' restricted keys: create, limit, revoke",
    load: async () => (await import('./tenants/tenant-key.ts')).keyCommands,
  },
  {
    name: 'people',
    summary: 'who may sign in to the console',
    load: async () => (await import('./people.ts')).peopleCommands,
  },
  {
    name: 'brand',
    summary: 'how dealers see the operator, and travellers the dealers',
    load: async () => (await import('./brands.ts')).brandCommands,
  },
  {
    name: 'wallet',
    summary: 'money: top-ups, adjustments, statements',
    load: async () => (await import('./wallet/wallet.ts')).walletCommands,
  },
  {
    name: 'ledger',
    summary: 'verify that the ledger is consistent',
    load: async () => (await import('./wallet/ledger.ts')).ledgerCommands,
  },
  {
    name: 'package',
    summary: 'the catalogue: packages, import and export',
    load: async () => (await import('./catalogue/package.ts')).packageCommands,
  },
  {
    name: 'price',
    summary: 'list prices, plans, groups, own prices and exchange rates',
    load: async () => (await import('./prices/price.ts')).priceCommands,
  },
  {
    name: 'rule',
    summary: 'sale rules: which products of suppliers are sold, and at which price',
    load: async () => (await import('./products/sale-rule.ts')).ruleCommands,
  },
  {
    name: 'webhook',
    summary: "dealers' endpoints, events and their delivery, replays",
    load: async () => (await import('./webhooks/webhook.ts')).webhookCommands,
  },
  {
    name: 'supplier',
    summary: 'suppliers of eSIMs: configure, test, pause, read catalogues, reconcile',
    load: async () => (await import('./suppliers/supplier.ts')).supplierCommands,
  },
  {
    name: 'stock',
    summary: 'activation codes in stock',
    load: async () => (await import('./stock.ts')).stockCommands,
  },
  {
    name: 'order',
    summary: 'show orders, resolve orders under review, cancel',
    load: async () => (await import('./orders.ts')).orderCommands,
  },
  {
    name: 'esim',
    summary: 'cancel, suspend or revoke an eSIM, resolve a pending action',
    load: async () => (await import('./esims.ts')).esimCommands,
  },
  {
    name: 'cells',
    summary: 'several gateways behind one load balancer: list, check, write its configuration',
    load: async () => (await import('./cells.ts')).cellsCommands,
  },
  {
    name: 'master-key',
    summary: 'the key that secrets are encrypted under: show, rotate',
    load: async () => (await import('./operations/master-key.ts')).masterKeyCommands,
  },
  {
    name: 'doctor',
    summary: 'find faults of the configuration and its dependencies',
    load: async () => (await import('./operations/doctor.ts')).doctorCommand,
  },
  {
    name: 'config',
    summary: 'every setting, its value and its source',
    load: async () => (await import('./operations/config-list.ts')).configCommands,
  },
  {
    name: 'setup',
    summary: 'make a new installation: configuration, keys, database, first operator',
    load: async () => (await import('./operations/setup.ts')).setupCommand,
  },
  {
    name: 'completion',
    summary: 'complete commands in bash or zsh',
    load: async () => (await import('./operations/completion.ts')).completionCommand,
  },
  {
    name: 'backup',
    summary: 'write everything in the database to a file',
    load: async () => (await import('./operations/backup.ts')).backupCommand,
  },
  {
    name: 'restore',
    summary: 'restore a backup into an empty database',
    load: async () => (await import('./operations/restore.ts')).restoreCommand,
  },
  {
    name: 'recovery',
    summary: 'what is held after a restore: show, match, release',
    load: async () => (await import('./operations/recovery.ts')).recoveryCommands,
  },
  {
    name: 'migrate',
    summary: 'migrate the database to this release',
    load: async () => (await import('./operations/migrate.ts')).migrateCommand,
  },
]

const USAGE_ERROR = 2

/** Runs one command. @returns the exit code: 0, 1 for a failure, 2 for an invalid command line. */
export async function runAdmin(args: readonly string[]): Promise<number> {
  const program = new Command('admin')
    .description('Operate the gateway. Works with or without a running one, with the same environment variables.')
    .usage('<noun> <command> [options]')
    .version(releaseText(), '--version', 'print the version and its commit')
    .option('--json', 'print exactly one JSON document; amounts are integers in 1/10 000')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeErr: () => {} }) // printed once, below
    .exitOverride()
    .action(() => program.outputHelp())
  const context = adminContext(program)
  const name = args.find((arg) => !arg.startsWith('-'))
  try {
    for (const noun of NOUNS) {
      const command = program
        .command(noun.name)
        .summary(noun.summary)
        .description(`${capital(noun.summary)}.`)
      if (name === noun.name || name === 'completion') (await noun.load())(command.helpCommand(false), context)
    }
    if (name !== undefined && !NOUNS.some((noun) => noun.name === name)) {
      throw new UsageError(`Unknown command “${name}”. Available: ${NOUNS.map((noun) => noun.name).join(', ')}.`)
    }
    await program.parseAsync(args, { from: 'user' })
    return context.exitCode
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0 // --help
    const failure = isIncomplete(error) ? incompleteError(program, args) : error
    process.stderr.write(`${failureText(failure, args.includes('--json'))}\n`)
    return isUsageError(failure) ? USAGE_ERROR : 1
  }
}

/** True if a command is missing after a noun. Commander then prints the help on standard error, without a message. */
function isIncomplete(error: unknown): boolean {
  return error instanceof CommanderError && error.code === 'commander.help'
}

/** The error for a noun without a command, such as `price plan`. */
function incompleteError(program: Command, args: readonly string[]): UsageError {
  const path: Command[] = []
  for (const word of args) {
    const named = (path.at(-1) ?? program).commands.find((command) => command.name() === word)
    if (named) path.push(named)
  }
  const commands = path.at(-1)?.commands.map((command) => command.name()) ?? []
  const noun = path.map((command) => command.name()).join(' ')
  return new UsageError(`“${noun}” needs a command: ${commands.join(', ')}.`)
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1)
}
