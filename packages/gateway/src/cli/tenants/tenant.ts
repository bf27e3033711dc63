import { formatMoney } from '@dealer-esim/contract'
import { type Db, joinTransaction, type Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Command } from 'commander'
import { resetSecret } from '#tenants/app-secret.ts'
import { resumeTenant, suspendTenant } from '#tenants/change-tenant.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { changeSettings, checkSettings } from '#tenants/tenant-settings.ts'
import {
  getTenantId,
  getTenantView,
  listAllTenants,
  type TenantSummary,
  type TenantView,
} from '#tenants/tenant-views.ts'
import { setWebhookHere } from '../kernel/cli-outbound.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseDuration } from '../kernel/parse-options.ts'
import { fields, table, timeText } from '../kernel/text-table.ts'
import { moveCommand } from './tenant-move.ts'
import {
  parseSellsThrough,
  SELLS_OPTION,
  SETTING_OPTIONS,
  type SettingOptions,
  settingsInput,
  webhookChange,
} from './tenant-options.ts'
import { twinCommands } from './tenant-twin.ts'

export function tenantCommands(tenant: Command, context: AdminContext): void {
  create(tenant, context)
  read(tenant, context)
  set(tenant, context)
  status(tenant, context)
  newSecret(tenant, context)
  moveCommand(tenant, context)
  twinCommands(tenant, context)
}

function create(tenant: Command, context: AdminContext): void {
  tenant
    .command('create')
    .description('Create a tenant with its credentials and an empty wallet. The AppSecret is shown only now.')
    .requiredOption('--name <name>', 'the name shown to its people')
    .option('--currency <code>', 'the currency of its wallet (ISO 4217), which can never be changed', 'USD')
    .option(...SELLS_OPTION, 'api')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- tenant create --name "Acme Travel" --currency EUR')
    .action((options: { name: string; currency: string; sellsThrough: string }) => {
      const sellsThrough = parseSellsThrough(options.sellsThrough)
      return context.withDeps(async (deps) => {
        const input = { clientName: options.name, currencyCode: options.currency, sellsThrough }
        const credentials = await createTenant(deps, input, context.by)
        const { tenantId, appKey, appSecret } = credentials
        const currencyCode = options.currency
        const human = fields([
          ['Tenant', tenantId],
          ['Currency', currencyCode],
          ['AppKey', appKey],
          ['AppSecret', appSecret],
        ])
        const advice = 'Store the AppSecret: this command does not show it again.'
        context.print(`${human}\n${advice}`, { ...credentials, currencyCode })
      })
    })
}

function read(tenant: Command, context: AdminContext): void {
  tenant
    .command('list')
    .description('List the tenants, newest first.')
    .option('--name <part>', 'only tenants whose name contains this text')
    .option('--suspended', 'only suspended tenants')
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
    .description('Show a tenant with all its settings. Secrets are not shown.')
    .action((tenantId: string) =>
      context.withDeps(async (deps) => {
        const view = await getTenantView(deps, tenantId)
        context.print(tenantText(view), view)
      }),
    )
}

function set(tenant: Command, context: AdminContext): void {
  const command = tenant
    .command('set <tenant-id>')
    .description(
      'Change settings, all or nothing. Settings that are not given stay unchanged; “none” clears one. A change applies to every request that is admitted after it.',
    )
  for (const [flags, description] of SETTING_OPTIONS) command.option(flags, description)
  command
    .addHelpText(
      'after',
      `
Examples:
  npm run -s admin -- tenant set ID --ip-allowlist 203.0.113.7,2001:db8::/32 --qps-limit 50
  npm run -s admin -- tenant set ID --ip-allowlist 203.0.113.7 --daily-spend-limit 200.00 --unsigned-requests on
  npm run -s admin -- tenant set ID --credit-limit 500.00 --low-balance-threshold none`,
    )
    .action(async (tenantId: string, options: SettingOptions) => {
      const input = settingsInput(options)
      checkSettings(input)
      const webhook = webhookChange(options)
      await context.withDeps(async (deps) => {
        const change = (db: Db) => changeSettings({ ...deps, db }, tenantId, input, context.by)
        if (webhook) {
          const alsoChange = (tx: Tx) => change(joinTransaction(deps.db, tx))
          await setWebhookHere(deps, await getTenantId(deps.db, tenantId), webhook, context.by, { alsoChange })
        } else await change(deps.db)
        const view = await getTenantView(deps, tenantId)
        context.print(tenantText(view), view)
      })
    })
}

function status(tenant: Command, context: AdminContext): void {
  tenant
    .command('suspend <tenant-id>')
    .description(
      'Refuse a tenant’s requests. Paid orders are still delivered or refunded, and their events are still sent.',
    )
    .option('--reason <text>', 'why, for the audit log, which the dealer reads too')
    .action((tenantId: string, options: { reason?: string }) =>
      context.withDeps(async (deps) => {
        await suspendTenant(deps, tenantId, context.by, options.reason)
        context.print('Suspended. Further requests will be refused.', { tenantId, status: 'SUSPENDED' })
      }),
    )
  tenant
    .command('resume <tenant-id>')
    .description('Accept a suspended tenant’s requests again.')
    .action((tenantId: string) =>
      context.withDeps(async (deps) => {
        await resumeTenant(deps, tenantId, context.by)
        context.print('Active. Requests are accepted again.', { tenantId, status: 'ACTIVE' })
      }),
    )
}

function newSecret(tenant: Command, context: AdminContext): void {
  tenant
    .command('reset-secret <tenant-id>')
    .description(
      'Replace the AppSecret and show the new one. The old one stops working immediately, so the dealer’s requests fail until its ' +
        'programs use the new one; --grace 24h gives the dealer a day to change it. An older secret in its grace period ends.',
    )
    .option('--grace <time>', 'how long the old secret still works, up to 24h, such as 30m or 1h', '0')
    .addHelpText(
      'after',
      '\nExamples:\n  npm run -s admin -- tenant reset-secret ID --grace 24h  the dealer has a day to change it\n  npm run -s admin -- tenant reset-secret ID              the old secret has leaked: it stops working immediately',
    )
    .action(async (tenantId: string, options: { grace: string }) => {
      const graceMs = parseDuration(options.grace)
      await context.withDeps(async (deps) => {
        const { appSecret, oldValidUntil } = await resetSecret(deps, tenantId, { graceMs }, context.by)
        const old = oldValidUntil
          ? `The old secret works until ${oldValidUntil.toISOString()}.`
          : 'The old secret no longer works: the dealer’s requests fail until its programs use the new one. --grace 24h would give the dealer a day.'
        context.print(`AppSecret  ${appSecret}\n${old}`, { tenantId, appSecret, oldValidUntil })
      })
    })
}

function tenantTable(tenants: TenantSummary[]): string {
  return table(
    tenants,
    [
      { title: 'TENANT', value: (tenant) => tenant.tenantId },
      { title: 'NAME', value: (tenant) => tenant.clientName },
      { title: 'STATUS', value: (tenant) => tenant.status },
      { title: 'BALANCE', value: (tenant) => formatMoney(tenant.balance), right: true },
      { title: 'CURRENCY', value: (tenant) => tenant.currencyCode },
      { title: 'CREATED', value: (tenant) => timeText(tenant.createdAt) },
    ],
    'There are no tenants. Create one: npm run -s admin -- tenant create --name "Acme Travel"',
  )
}

function tenantText(tenant: TenantView): string {
  const money = (amount: bigint | null) => (amount === null ? 'none' : `${formatMoney(amount)} ${tenant.currencyCode}`)
  return fields([
    ['Tenant', tenant.tenantId],
    ['Name', tenant.clientName],
    ['Status', tenant.status],
    ['Sells through', tenant.sellsThrough === 'API' ? 'portal and API' : 'portal'],
    ['AppKey', tenant.appKey],
    ...tenant.secrets.map((secret, index) => [index === 0 ? 'AppSecret' : '', secretText(secret)] as const),
    ['Balance', money(tenant.balance)],
    ['Credit limit', money(tenant.creditLimit)],
    ['Daily spend limit', money(tenant.dailySpendLimit)],
    ['Low-balance threshold', money(tenant.lowBalanceThreshold)],
    ['QPS limit', tenant.qpsLimit === null ? 'the default' : String(tenant.qpsLimit)],
    ['IP allowlist', tenant.ipAllowlist.join('\n') || 'any address'],
    ['Unsigned requests', tenant.unsignedRequests ? UNSIGNED_WARNING : 'refused'],
    ['Callback URL', tenant.callbackUrl ?? 'none'],
    ['Event format', tenant.eventFormat === 'RT' ? 'RT family' : 'dealer API'],
    ['Legal name', tenant.legalName ?? 'none'],
    ['Tax ID', tenant.taxId ?? 'none'],
    ['Billing address', tenant.billingAddress ?? 'none'],
    ['Billing e-mail', tenant.billingEmail ?? 'none'],
    ['Created', timeText(tenant.createdAt)],
  ])
}

const UNSIGNED_WARNING =
  'ACCEPTED at the RT API: anyone who knows the AppKey can spend from a listed address, up to the daily limit'

function secretText(secret: TenantView['secrets'][number]): string {
  const proven = secret.provenAt ? 'in use' : 'not used yet'
  const until = secret.validUntil ? `, ends ${timeText(secret.validUntil)}` : ''
  return `set ${timeText(secret.createdAt)}, ${proven}${until}`
}
