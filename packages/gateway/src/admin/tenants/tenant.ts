import type { Command } from 'commander'
import { resumeTenant, suspendTenant } from '../../tenants/change.ts'
import { createTenant } from '../../tenants/create.ts'
import { resetSecret } from '../../tenants/secret.ts'
import { changeSettings, checkSettings } from '../../tenants/settings.ts'
import { getTenantId, getTenantView, listAllTenants } from '../../tenants/tenant-views.ts'
import type { AdminContext } from '../context.ts'
import { setWebhookHere } from '../outbound.ts'
import { parseDuration } from '../parse.ts'
import { callbackUrlOf, SETTING_OPTIONS, type SettingOptions, settingsInput } from './tenant-options.ts'
import { tenantTable, tenantText } from './tenant-text.ts'

export function tenantCommands(tenant: Command, context: AdminContext): void {
  create(tenant, context)
  read(tenant, context)
  set(tenant, context)
  status(tenant, context)
  newSecret(tenant, context)
}

function create(tenant: Command, context: AdminContext): void {
  tenant
    .command('create')
    .description('Create a tenant with its credentials and an empty wallet. The AppSecret is shown this once.')
    .requiredOption('--name <name>', 'the name that its people know it by')
    .option('--currency <code>', 'of its wallet, for ever (ISO 4217)', 'USD')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- tenant create --name "Acme Travel" --currency EUR')
    .action((options: { name: string; currency: string }) =>
      context.withDeps(async (deps) => {
        const wish = { clientName: options.name, currencyCode: options.currency }
        const credentials = await createTenant(deps, wish, context.by)
        const { tenantId, appKey, appSecret } = credentials
        const human = `Tenant     ${tenantId}\nAppKey     ${appKey}\nAppSecret  ${appSecret}\nKeep the AppSecret: it is not shown again unasked.`
        context.print(human, credentials)
      }),
    )
}

function read(tenant: Command, context: AdminContext): void {
  tenant
    .command('list')
    .description('List the tenants, newest first.')
    .option('--name <part>', 'only those whose name contains it')
    .option('--suspended', 'only the suspended ones')
    .action((options: { name?: string; suspended?: boolean }) =>
      context.withDeps(async (deps) => {
        const tenants = await listAllTenants(deps.db, {
          ...(options.name === undefined ? {} : { keyword: options.name }),
          ...(options.suspended ? { status: 'SUSPENDED' as const } : {}),
        })
        context.print(tenantTable(tenants), tenants)
      }),
    )
  tenant
    .command('show <tenant-id>')
    .description('Show a tenant with all of its settings. Secrets are not shown.')
    .action((tenantId: string) =>
      context.withDeps(async (deps) => {
        const view = await getTenantView(deps.db, tenantId)
        context.print(tenantText(view), view)
      }),
    )
}

function set(tenant: Command, context: AdminContext): void {
  const command = tenant
    .command('set <tenant-id>')
    .description(
      'Change settings, all or nothing. What is not named stays; “none” clears. A change holds for every request that is admitted after it.',
    )
  for (const [flags, words] of SETTING_OPTIONS) command.option(flags, words)
  command
    .addHelpText(
      'after',
      `
Examples:
  npm run -s admin -- tenant set ID --ip-allowlist 203.0.113.7,2001:db8::/32 --qps-limit 50
  npm run -s admin -- tenant set ID --credit-limit 500.00 --low-balance-threshold none`,
    )
    .action(async (tenantId: string, options: SettingOptions) => {
      const wish = settingsInput(options)
      checkSettings(wish)
      await context.withDeps(async (deps) => {
        // First, because it may be refused after it was asked for its health: then nothing else has changed either.
        const callbackUrl = callbackUrlOf(options)
        if (callbackUrl !== undefined) {
          await setWebhookHere(deps, await getTenantId(deps.db, tenantId), { callbackUrl }, context.by)
        }
        await changeSettings(deps, tenantId, wish, context.by)
        const view = await getTenantView(deps.db, tenantId)
        context.print(tenantText(view), view)
      })
    })
}

function status(tenant: Command, context: AdminContext): void {
  tenant
    .command('suspend <tenant-id>')
    .description('Close the API to a tenant. Paid orders are still delivered or refunded, and their events sent.')
    .action((tenantId: string) =>
      context.withDeps(async (deps) => {
        await suspendTenant(deps, tenantId, context.by)
        context.print('Suspended: the next request is refused.', { tenantId, status: 'SUSPENDED' })
      }),
    )
  tenant
    .command('resume <tenant-id>')
    .description('Open the API to a suspended tenant again.')
    .action((tenantId: string) =>
      context.withDeps(async (deps) => {
        await resumeTenant(deps, tenantId, context.by)
        context.print('Active: the next request is admitted.', { tenantId, status: 'ACTIVE' })
      }),
    )
}

function newSecret(tenant: Command, context: AdminContext): void {
  tenant
    .command('reset-secret <tenant-id>')
    .description(
      'Replace the AppSecret and show the new one. The old one is void at once, so that the dealer is cut off until its ' +
        'programs have the new one; --grace 24h gives it a day to change over. One that was already in its grace ends.',
    )
    .option('--grace <time>', 'how long the old one still verifies, up to 24h, such as 30m or 1h', '0')
    .addHelpText(
      'after',
      '\nExamples:\n  npm run -s admin -- tenant reset-secret ID --grace 24h  the dealer has a day to change over\n  npm run -s admin -- tenant reset-secret ID              the old one is known to others: void at once',
    )
    .action(async (tenantId: string, options: { grace: string }) => {
      const graceMs = parseDuration(options.grace)
      await context.withDeps(async (deps) => {
        const { appSecret, oldValidUntil } = await resetSecret(deps, tenantId, { graceMs }, context.by)
        const old = oldValidUntil
          ? `The old one verifies until ${oldValidUntil.toISOString()}.`
          : 'The old one is void: the dealer is cut off until its programs have this one. Another time --grace 24h gives it a day.'
        context.print(`AppSecret  ${appSecret}\n${old}`, { tenantId, appSecret, oldValidUntil })
      })
    })
}
