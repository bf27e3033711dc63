import { notFound } from '@dealer-esim/lib/refusal.ts'
import type { Command } from 'commander'
import { mailPersonLink } from '#alerts/mail/mail-queue.ts'
import {
  allowPassword,
  changePerson,
  createPersonLink,
  invitePerson,
  type NewPerson,
  removePersonSecondFactor,
} from '#people/manage-people.ts'
import type { Role } from '#people/person.ts'
import { findPersonByEmail, hasSecondFactor, listPeople, type Person, ROLES } from '#people/person.ts'
import { consoleUrlOf, LINK_LIFETIME, welcomeLink } from '#people/personal-link.ts'
import { unlinkProvider } from '#people/provider/provider-account.ts'
import { listRequiredRoles, requireSecondFactor } from '#people/second-factor/required-factor.ts'
import type { By } from '#platform/audit/audit.ts'
import { type Config, localUrl } from '#platform/config/config.ts'
import { readLocalAccess } from '#platform/config/local-access.ts'
import { getTenantId } from '#tenants/tenant-views.ts'
import type { AdminDeps } from './kernel/cli-deps.ts'
import { UsageError } from './kernel/cli-failure.ts'
import type { AdminContext } from './kernel/context.ts'
import { parseWholeNumber } from './kernel/parse-options.ts'
import { table } from './kernel/text-table.ts'

/** Invites a person, and mails the link if there is a mail server. */
export function invite(deps: AdminDeps, input: NewPerson, by: By) {
  return deps.db.tx(async (tx) => {
    const { personId, linkToken } = await invitePerson(tx, deps.ids, input, by)
    const link = linkOf(deps.config, linkToken)
    return { personId, link, mailed: mailPersonLink(tx, deps, input, { kind: 'INVITATION', link }) }
  })
}

interface CreateOptions {
  email: string
  name: string
  role?: string
  tenant?: string
}

/** Console accounts, for when nobody can sign in: the first operator, or an operator who has lost access. */
export function peopleCommands(people: Command, context: AdminContext): void {
  const { by } = context
  people
    .command('create')
    .description(
      `Invite a person. Prints a link for choosing a password. It can be used once and expires after ${LINK_LIFETIME.INVITATION}.`,
    )
    .requiredOption('--email <address>', 'the e-mail address to sign in with')
    .requiredOption('--name <name>', "the person's name")
    .option('--role <role>', `one of ${ROLES.join(', ')} (default: administrator)`)
    .option('--tenant <id>', "the dealer, for dealers' roles")
    .addHelpText(
      'after',
      '\nExample:\n  npm run -s admin -- people create --email ada@example.com --name Ada\n  npm run -s admin -- people create --email bo@acme.example --name Bo --tenant ID',
    )
    .action((options: CreateOptions) =>
      context.withDeps(async (deps) => {
        const role = roleOf(options.role ?? (options.tenant ? 'DEALER_ADMIN' : 'OPERATOR_ADMIN'))
        const input = { ...options, role, tenantId: await tenantIdOf(deps, options) }
        const created = await invite(deps, input, by)
        context.print(linkText(options.email, created), created)
      }),
    )
  people
    .command('link')
    .description('Create a new link for choosing a password. Older links stop working.')
    .argument('<email>')
    .option('--remove-second-factor', 'for a person who lost both phone and recovery codes')
    .action((email: string, options: { removeSecondFactor?: boolean }) =>
      context.withDeps(async (deps) => {
        const { personId } = await getPerson(deps, email)
        const created = await deps.db.tx(async (tx) => {
          if (options.removeSecondFactor) await removePersonSecondFactor(tx, deps.ids, personId, by)
          const { linkToken, kind, person } = await createPersonLink(tx, deps.ids, personId, by)
          const link = linkOf(deps.config, linkToken)
          return { personId, link, mailed: mailPersonLink(tx, deps, person, { kind, link }) }
        })
        context.print(linkText(email, created), created)
      }),
    )
  for (const [name, status] of [
    ['disable', 'DISABLED'],
    ['enable', 'ACTIVE'],
  ] as const) {
    people
      .command(name)
      .description(status === 'DISABLED' ? 'Disable an account immediately.' : 'Enable a disabled account.')
      .argument('<email>')
      .action((email: string) =>
        context.withDeps(async (deps) => {
          const { personId } = await getPerson(deps, email)
          await deps.db.tx((tx) => changePerson(tx, deps.ids, personId, { status }, by))
          context.print(`${email} is ${status.toLowerCase()}.`, { personId, status })
        }),
      )
  }
  accessCommands(people, context)
  people
    .command('list')
    .description("List the operator's people, or a dealer's.")
    .option('--tenant <id>', 'the dealer')
    .action((options: { tenant?: string }) =>
      context.withDeps(async (deps) => {
        const found = (await listPeople(deps.db, await tenantIdOf(deps, options))).map(shown)
        context.print(peopleTable(found), found)
      }),
    )
}

const ALLOWED_HOURS_MAX = 72

/** Commands that restore access for people who are locked out by a second factor or by the provider. */
function accessCommands(people: Command, context: AdminContext): void {
  const { by } = context
  people
    .command('second-factor')
    .description('Require a second factor for a role, or stop requiring it. Prints the roles that require one.')
    .argument('[role]', ROLES.join(', '))
    .option('--required', 'people set it up when they next use the console')
    .option('--optional', 'it is not required; also ends a requirement with which nobody can sign in')
    .action((name: string | undefined, options: { required?: boolean; optional?: boolean }) =>
      context.withDeps(async (deps) => {
        if ((name === undefined) !== (!options.required && !options.optional) || (options.required && options.optional))
          throw new UsageError('Specify a role with either --required or --optional, or use none of the three.')
        if (name !== undefined) {
          const role = roleOf(name, 'The role')
          await deps.db.tx(async (tx) => requireSecondFactor(tx, deps.ids, role, options.required === true, by))
        }
        const required = await listRequiredRoles(deps.db)
        const rule = required.length > 0 ? `required of: ${required.join(', ')}` : 'optional.'
        context.print(`A second factor is ${rule}`, { required })
      }),
    )
  people
    .command('allow-password')
    .description(
      'Let a person sign in with a password although OIDC_PASSWORDS is off, while the provider cannot be reached.',
    )
    .argument('<email>')
    .option('--hours <number>', `for how long, up to ${ALLOWED_HOURS_MAX}`, '4')
    .action((email: string, options: { hours: string }) =>
      context.withDeps(async (deps) => {
        const hours = parseWholeNumber(options.hours, '--hours', { max: ALLOWED_HOURS_MAX })
        const { personId, passwordHash } = await getPerson(deps, email)
        await deps.db.tx((tx) => allowPassword(tx, deps.ids, personId, hours, by))
        const next = passwordHash === null ? ` Create a link for choosing one with: people link ${email}` : ''
        context.print(`${email} may use a password for ${hours} h.${next}`, { personId, hours })
      }),
    )
  people
    .command('unlink-provider')
    .description(
      'Unlink a person from their account at the provider, if the address now belongs to another account there.',
    )
    .argument('<email>')
    .action((email: string) =>
      context.withDeps(async (deps) => {
        const { personId } = await getPerson(deps, email)
        const unlinked = await deps.db.tx((tx) => unlinkProvider(tx, deps.ids, personId, by))
        context.print(`Accounts unlinked: ${unlinked}. The next sign-in links the account of this address.`, {
          unlinked,
        })
      }),
    )
}

/** null: the operator. */
async function tenantIdOf({ db }: AdminDeps, { tenant }: { tenant?: string }): Promise<string | null> {
  return tenant === undefined ? null : getTenantId(db, tenant)
}

function roleOf(text: string, what = '--role'): Role {
  const role = ROLES.find((known) => known === text.toUpperCase().replaceAll('-', '_'))
  if (!role) throw new UsageError(`${what} must be one of ${ROLES.join(', ')}, not “${text}”.`)
  return role
}

async function getPerson(deps: AdminDeps, email: string): Promise<Person> {
  const person = await findPersonByEmail(deps.db, email)
  if (!person) throw notFound('person')
  return person
}

function linkText(email: string, { link, mailed }: { link: string; mailed: boolean }): string {
  return `Link for ${email} to choose a password:\n${link}${mailed ? '\nThe link is also sent to this address.' : ''}`
}

function linkOf(config: Config, token: string): string {
  const { consoleUrl, publicUrl } = config
  const base = consoleUrl ?? publicUrl
  return welcomeLink(base === undefined ? localConsole(config) : consoleUrlOf({ publicUrl: base }), token)
}

/** The console's URL, written by the gateway of this DATA_DIR: only the gateway knows a port that it chose itself. */
function localConsole(config: Config): string {
  const { consoleUrl } = config.deployment === 'local' ? readLocalAccess(config.dataDir) : {}
  return consoleUrl ?? consoleUrlOf({ publicUrl: localUrl(config, config.consolePort ?? config.port) })
}

function shown(person: Person) {
  const { personId, email, name, role, status, tenantId, lastSignInAt } = person
  return { personId, email, name, role, status, tenantId, secondFactor: hasSecondFactor(person), lastSignInAt }
}

function peopleTable(people: readonly ReturnType<typeof shown>[]): string {
  return table(
    people,
    [
      { title: 'E-MAIL', value: (person) => person.email },
      { title: 'NAME', value: (person) => person.name },
      { title: 'ROLE', value: (person) => person.role },
      { title: 'STATUS', value: (person) => person.status },
    ],
    'There are no people yet.',
  )
}
