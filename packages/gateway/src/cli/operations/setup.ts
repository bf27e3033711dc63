import { readFileSync } from 'node:fs'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Command } from 'commander'
import { findWrongRoute } from '#operations/setup/check-public-url.ts'
import { checkExistingDatabase, checkNewDatabase, createDatabase } from '#operations/setup/create-database.ts'
import { readEnvironmentFile, type Settings, writeEnvironmentFile } from '#operations/setup/environment-file.ts'
import { planSetup, type SetupPlan } from '#operations/setup/plan-setup.ts'
import { readConfig } from '#platform/config/config.ts'
import { VARIABLES, type Variable } from '#platform/config/variables.ts'
import { borrowDatabase, prepareDatabase } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import type { AdminContext } from '../kernel/context.ts'
import { fields } from '../kernel/text-table.ts'
import { invite } from '../people.ts'
import { examineInstallation, findingsText } from './doctor.ts'
import { askMissing, type SetupOptions, settingsOf } from './setup-questions.ts'

const FILE = '/etc/dealer-esim/environment'

export function setupCommand(setup: Command, context: AdminContext): void {
  setup
    .description(
      'Make a new installation, or change one: asks on a terminal for what the options leave out, creates the database, generates keys, writes the file of variables, invites the first operator, and runs doctor. A master key in the file is kept.',
    )
    .option('--file <path>', 'the file of variables, readable by its owner only', FILE)
    .option('--dry-run', 'show what would be done, and change nothing')
    .option('--deployment <kind>', 'test or production')
    .option('--public-url <url>', 'URL under which dealers will reach the gateway')
    .option(
      '--database-admin <url>',
      "PostgreSQL administrator's URL, to create role and database; or DATABASE_ADMIN_URL, or a file that DATABASE_ADMIN_URL_FILE names",
    )
    .option('--database-name <name>', 'name of both', 'dealer_esim')
    .option('--database-url <url>', 'a database that exists')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on')
    .option('--proxies <addresses>', 'proxies that terminate TLS')
    .option('--tls-cert <file>', 'certificate chain, if the gateway terminates TLS')
    .option('--tls-key <file>', 'its private key')
    .option('--smtp-url <url>', 'mail server')
    .option('--mail-from <address>', 'sender of e-mail')
    .option('--operator-email <address>', 'invite this person as the first operator')
    .option('--operator-name <name>', 'their name')
    .addHelpText(
      'after',
      '\nExample:\n  npm run -s admin -- setup --public-url https://esim.example.com --proxies 127.0.0.1 \\\n    --database-admin postgres://postgres:…@127.0.0.1/postgres --operator-email ada@example.com --operator-name Ada',
    )
    .action((options: SetupOptions) => setUp(options, context))
}

async function setUp(options: SetupOptions, context: AdminContext): Promise<void> {
  const existing = readEnvironmentFile(options.file)
  const isTerminal = process.stdin.isTTY && process.stderr.isTTY && !context.json
  const answers = isTerminal ? await askMissing(options, existing) : options
  const settings: Settings = { DEPLOYMENT: existing.DEPLOYMENT ?? 'production', ...settingsOf(answers) }
  const databaseAdminUrl = answers.databaseAdmin ?? process.env.DATABASE_ADMIN_URL ?? administratorInFile()
  const plan = planSetup({ settings, databaseAdminUrl, databaseName: answers.databaseName }, existing)
  if (settings.DEPLOYMENT === 'local')
    plan.faults.push('A local gateway does not need setup: start it in an empty folder.')
  if (plan.faults.length > 0) throw new UsageError(`Nothing was changed.\n${plan.faults.join('\n')}`)
  const { databaseUrl } = readConfig({ ...plan.settings }, [])
  if (plan.database) await checkNewDatabase(plan.database, plan.isDatabaseOurs)
  else if (databaseUrl !== undefined) await checkExistingDatabase(databaseUrl)
  const wrongRoute = await checkRoute(plan.settings)
  if (options.dryRun) return printPlan(context, plan, options.file, wrongRoute)

  // Before the database is created: otherwise nobody would know its password after a failure.
  writeEnvironmentFile(options.file, plan.settings)
  context.progress(`Wrote ${options.file}.`)
  if (plan.database) {
    await createDatabase(plan.database)
    context.progress(`Created role and database ${plan.database.name}.`)
  }
  Object.assign(process.env, plan.settings)
  await migrateDatabase()
  context.progress('The database has the tables of this release.')
  const invitation = answers.operatorEmail ? await inviteOperator(context, answers, answers.operatorEmail) : undefined
  await printResult(context, { file: options.file, plan, wrongRoute, invitation })
}

/** The administrator's URL contains a password, which a process list or a shell's history would show. */
function administratorInFile(): string | undefined {
  const file = process.env.DATABASE_ADMIN_URL_FILE
  if (!file) return undefined
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    throw new UsageError(`DATABASE_ADMIN_URL_FILE points to ${file}, which cannot be read.`)
  }
}

async function checkRoute(settings: Settings): Promise<string | undefined> {
  const outbound = createOutbound()
  try {
    return await findWrongRoute(readConfig({ ...settings }, []), outbound)
  } finally {
    await outbound.close()
  }
}

async function migrateDatabase(): Promise<void> {
  const database = await borrowDatabase()
  const { url, config } = database
  const db = createDb({ url, schema: config.databaseSchema, poolSize: 1, applicationName: 'dealer-esim admin' })
  try {
    await prepareDatabase(db, database)
  } finally {
    await db.close()
    await database.stop()
  }
}

/** @returns the link; undefined if the person was invited by an earlier setup */
async function inviteOperator(context: AdminContext, { operatorName }: SetupOptions, email: string) {
  const person = { email, name: operatorName ?? email, role: 'OPERATOR_ADMIN', tenantId: null } as const
  try {
    return await context.withDeps((deps) => invite(deps, person, context.by))
  } catch (error) {
    if (error instanceof Refusal && error.code === 'EMAIL_TAKEN') return undefined
    throw error
  }
}

interface Result {
  file: string
  plan: SetupPlan
  wrongRoute: string | undefined
  invitation: { link: string } | undefined
}

async function printResult(context: AdminContext, { file, plan, wrongRoute, invitation }: Result): Promise<void> {
  const findings = await examineInstallation()
  if (findings.some(({ state }) => state === 'FAULT')) context.exitCode = 1
  const left = [
    ...(wrongRoute ? [wrongRoute] : []),
    `Keep a copy of the master key apart from the backups of the database: without the key in ${file}, a backup is useless.`,
    // A shell cannot read the file: MAIL_FROM=eSIM <esim@example.com>
    `Start the gateway with the variables of ${file}: systemctl enable --now dealer-esim, or node --env-file=${file} "$(command -v dealer-esim-gateway)"`,
    ...(invitation
      ? [`Open this link to choose a password: ${invitation.link}`]
      : ['Invite the first operator: people create --help']),
    'Then connect a supplier and create a dealer on the console, or: supplier add --help, tenant create --help',
  ]
  const text = [
    findingsText(findings),
    '',
    'What is left to do:',
    ...left.map((line, at) => `${at + 1}. ${line}`),
  ].join('\n')
  context.print(text, {
    file,
    settings: Object.keys(plan.settings),
    link: invitation?.link ?? null,
    left,
    ready: context.exitCode === 0,
  })
}

function printPlan(context: AdminContext, { settings, database }: SetupPlan, file: string, wrongRoute?: string): void {
  const secrets = new Set(
    Object.values<Variable<unknown>>(VARIABLES).flatMap(({ name, secret }) => (secret ? [name] : [])),
  )
  const shown = Object.entries(settings).map(([name, value]) => [name, secrets.has(name) ? '********' : value] as const)
  const lines = [
    ...(wrongRoute ? [wrongRoute] : [`PUBLIC_URL ${settings.PUBLIC_URL} leads here.`]),
    ...(database ? [`Role and database ${database.name} would be created.`] : []),
    `${file} would contain:`,
    fields(shown),
    'Nothing was changed.',
  ]
  context.print(lines.join('\n'), {
    file,
    settings: Object.fromEntries(shown),
    database: database?.name ?? null,
    wrongRoute: wrongRoute ?? null,
  })
}
