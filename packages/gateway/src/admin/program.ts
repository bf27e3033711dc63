import { MalformedMoney } from '@dealer-esim/contract'
import { Command, CommanderError } from 'commander'
import { type AdminContext, adminContext } from './context.ts'
import { failureText, UsageError } from './failure.ts'

/** Adds the commands of one noun. */
type Commands = (noun: Command, context: AdminContext) => void

interface Noun {
  name: string
  summary: string
  load(): Promise<Commands>
}

/** Every noun of the operator's command line. Only the one that is called is loaded, so that the answer comes fast. */
export const NOUNS: readonly Noun[] = [
  {
    name: 'tenant',
    summary: 'dealers: credentials and settings',
    load: async () => (await import('./tenants/tenant.ts')).tenantCommands,
  },
  {
    name: 'people',
    summary: 'who may sign in to the console',
    load: async () => (await import('./tenants/people.ts')).peopleCommands,
  },
  {
    name: 'wallet',
    summary: 'money: top-ups, adjustments, statements',
    load: async () => (await import('./wallet/wallet.ts')).walletCommands,
  },
  {
    name: 'ledger',
    summary: 'check that the books are right',
    load: async () => (await import('./wallet/ledger.ts')).ledgerCommands,
  },
  {
    name: 'package',
    summary: 'the catalogue: packages, import and export',
    load: async () => (await import('./catalogue/package.ts')).packageCommands,
  },
  {
    name: 'price',
    summary: 'list prices, plans, groups and own prices',
    load: async () => (await import('./prices/price.ts')).priceCommands,
  },
  {
    name: 'webhook',
    summary: "dealers' endpoints, events and their delivery, replays",
    load: async () => (await import('./webhooks/webhook.ts')).webhookCommands,
  },
  {
    name: 'supplier',
    summary: 'where eSIMs come from: configure, test, pause, reconcile',
    load: async () => (await import('./fulfilment/supplier.ts')).supplierCommands,
  },
  {
    name: 'stock',
    summary: 'activation codes in stock',
    load: async () => (await import('./fulfilment/stock.ts')).stockCommands,
  },
  {
    name: 'order',
    summary: 'look at orders, settle what is under review, cancel',
    load: async () => (await import('./fulfilment/order.ts')).orderCommands,
  },
  {
    name: 'esim',
    summary: 'cancel an eSIM that was not used, settle a cancel in question',
    load: async () => (await import('./fulfilment/esim.ts')).esimCommands,
  },
  {
    name: 'master-key',
    summary: 'the key that secrets are encrypted under: show, rotate',
    load: async () => (await import('./installation/master-key.ts')).masterKeyCommands,
  },
  {
    name: 'doctor',
    summary: 'what is wrong with the configuration and its surroundings',
    load: async () => (await import('./installation/doctor.ts')).doctorCommand,
  },
  {
    name: 'migrate',
    summary: 'bring the database to this release',
    load: async () => (await import('./installation/migrate.ts')).migrateCommand,
  },
]

const USAGE_ERROR = 2

/** Runs one command. @returns the exit code: 0, 1 for a failure, 2 for a command line that cannot be understood. */
export async function runAdmin(args: readonly string[]): Promise<number> {
  const program = new Command('admin')
    .description(
      'Operate the gateway: works beside a running one and without one, with the same environment variables.',
    )
    .usage('<what> <command> [options]')
    .option('--json', 'print exactly one JSON document; amounts are integers in 1/10 000')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeErr: () => {} }) // told below, once
    .exitOverride()
    .action(() => program.outputHelp())
  const context = adminContext(program)
  const asked = args.find((arg) => !arg.startsWith('-'))
  try {
    for (const noun of NOUNS) {
      const command = program
        .command(noun.name)
        .summary(noun.summary)
        .description(`${capital(noun.summary)}.`)
      if (asked === noun.name) (await noun.load())(command.helpCommand(false), context)
    }
    if (asked !== undefined && !NOUNS.some((noun) => noun.name === asked)) {
      throw new UsageError(
        `There is no “${asked}”. Say one of ${NOUNS.map((noun) => noun.name).join(', ')}, or --help.`,
      )
    }
    await program.parseAsync(args, { from: 'user' })
    return context.exitCode
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0 // --help
    const isUsage = error instanceof CommanderError || error instanceof UsageError || error instanceof MalformedMoney
    process.stderr.write(`${failureText(error, args.includes('--json'))}\n`)
    return isUsage ? USAGE_ERROR : 1
  }
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1)
}
