import type { Command } from 'commander'
import { type Config, localUrl } from '../../config/config.ts'
import { readLocalAccess } from '../../config/local-access.ts'
import { notFound } from '../../lib/refusal.ts'
import { mailPersonLink } from '../../mail/queue.ts'
import { consoleUrlOf, welcomeLink } from '../../people/link.ts'
import { changePerson, createPersonLink, invitePerson, removePersonSecondFactor } from '../../people/manage.ts'
import type { Role } from '../../people/person.ts'
import { findPersonByEmail, listPeople, type Person, ROLES } from '../../people/person.ts'
import { requireTenant } from '../../tenants/read.ts'
import type { AdminContext } from '../context.ts'
import { UsageError } from '../failure.ts'
import type { AdminDeps } from '../open.ts'

interface Created {
  email: string
  name: string
  role?: string
  tenant?: string
}

/** People of the console, for whoever cannot sign in to it yet: the first operator of a deployment, or a lost one. */
export function peopleCommands(people: Command, context: AdminContext): void {
  const { by } = context
  people
    .command('create')
    .description('Invite a person. Prints the link by which they choose a password; it works once, for seven days.')
    .requiredOption('--email <address>', 'whom')
    .requiredOption('--name <name>', 'how they are called')
    .option('--role <role>', `one of ${ROLES.join(', ')}; without it an administrator`)
    .option('--tenant <id>', "the dealer, for dealers' roles")
    .addHelpText(
      'after',
      '\nExample:\n  npm run -s admin -- people create --email ada@example.com --name Ada\n  npm run -s admin -- people create --email bo@acme.example --name Bo --tenant ID',
    )
    .action((options: Created) =>
      context.withDeps(async (deps) => {
        const role = roleOf(options.role ?? (options.tenant ? 'DEALER_ADMIN' : 'OPERATOR_ADMIN'))
        const asked = { ...options, role, tenantId: await organisationOf(deps, options) }
        const made = await deps.db.tx(async (tx) => {
          const { personId, linkToken } = await invitePerson(tx, deps.ids, asked, by)
          const link = linkOf(deps.config, linkToken)
          return { personId, link, mailed: mailPersonLink(tx, deps, asked, { kind: 'INVITATION', link }) }
        })
        context.print(told(options.email, made), made)
      }),
    )
  people
    .command('link')
    .description('A new link by which a person chooses a password. Older ones stop working.')
    .argument('<email>')
    .option('--remove-second-factor', 'for a person who lost phone and recovery codes')
    .action((email: string, options: { removeSecondFactor?: boolean }) =>
      context.withDeps(async (deps) => {
        const { personId } = await find(deps, email)
        const made = await deps.db.tx(async (tx) => {
          if (options.removeSecondFactor) await removePersonSecondFactor(tx, deps.ids, personId, by)
          const { linkToken, kind, person } = await createPersonLink(tx, deps.ids, personId, by)
          const link = linkOf(deps.config, linkToken)
          return { personId, link, mailed: mailPersonLink(tx, deps, person, { kind, link }) }
        })
        context.print(told(email, made), made)
      }),
    )
  for (const [name, status] of [
    ['disable', 'DISABLED'],
    ['enable', 'ACTIVE'],
  ] as const) {
    people
      .command(name)
      .description(status === 'DISABLED' ? 'Keep a person out, at once.' : 'Let a person in again.')
      .argument('<email>')
      .action((email: string) =>
        context.withDeps(async (deps) => {
          const { personId } = await find(deps, email)
          await deps.db.tx((tx) => changePerson(tx, deps.ids, personId, { status }, by))
          context.print(`${email} is ${status.toLowerCase()}.`, { personId, status })
        }),
      )
  }
  people
    .command('list')
    .description("The operator's people, or those of a dealer.")
    .option('--tenant <id>', 'the dealer')
    .action((options: { tenant?: string }) =>
      context.withDeps(async (deps) => {
        const found = (await listPeople(deps.db, await organisationOf(deps, options))).map(shown)
        const lines = found.map((one) => `${one.email}\t${one.name}\t${one.role}\t${one.status}`)
        context.print(lines.join('\n') || 'Nobody yet.', found)
      }),
    )
}

/** null: the operator's own. */
async function organisationOf({ db }: AdminDeps, { tenant }: { tenant?: string }): Promise<string | null> {
  return tenant === undefined ? null : requireTenant(db, tenant)
}

function roleOf(text: string): Role {
  const role = ROLES.find((known) => known === text.toUpperCase().replaceAll('-', '_'))
  if (!role) throw new UsageError(`--role is one of ${ROLES.join(', ')}; it is “${text}”.`)
  return role
}

async function find(deps: AdminDeps, email: string): Promise<Person> {
  const person = await findPersonByEmail(deps.db, email)
  if (!person) throw notFound('person')
  return person
}

function told(email: string, { link, mailed }: { link: string; mailed: boolean }): string {
  return `${email} chooses a password at\n${link}${mailed ? '\nThe link is also sent to this address.' : ''}`
}

function linkOf(config: Config, token: string): string {
  const { consoleUrl, publicUrl } = config
  const base = consoleUrl ?? publicUrl
  return welcomeLink(base === undefined ? localConsole(config) : consoleUrlOf({ publicUrl: base }), token)
}

/** Where the gateway of this DATA_DIR says that it listens: a free port is known to it only. */
function localConsole(config: Config): string {
  const { consoleUrl } = config.deployment === 'local' ? readLocalAccess(config.dataDir) : {}
  return consoleUrl ?? consoleUrlOf({ publicUrl: localUrl(config, config.consolePort ?? config.port) })
}

function shown({ personId, email, name, role, status, tenantId, totpConfirmed, lastSignInAt }: Person) {
  return { personId, email, name, role, status, tenantId, secondFactor: totpConfirmed, lastSignInAt }
}
