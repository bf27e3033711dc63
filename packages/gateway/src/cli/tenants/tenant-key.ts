import { formatMoney, parseMoney } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { getTwin } from '#operations/twins/find-twin.ts'
import {
  ALLOWED_OPERATIONS,
  createKey,
  type KeyInput,
  type KeyView,
  listKeys,
  revokeKey,
  setKey,
} from '#tenants/keys/manage-keys.ts'
import { type AdminDeps, withTwins } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseTime } from '../kernel/parse-options.ts'
import { fields, table, timeText } from '../kernel/text-table.ts'

interface KeyOptions {
  label?: string
  operations?: string
  perOrderMax?: string
  perDayMax?: string
  totalMax?: string
  allowlist?: string
  expiresAt?: string
  twin?: boolean
}

/** A dealer's restricted keys: one per program, each with its own narrower rights and limits. */
export function keyCommands(key: Command, context: AdminContext): void {
  withOptions(
    key
      .command('create <tenant-id>')
      .description('Create a restricted key. Its AppSecret is shown only now.')
      .requiredOption('--label <text>', 'which program it is for; 1 to 64 characters, unique within the dealer'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  npm run -s admin -- key create ID --label webshop --operations health,package/list,esim/order,esim/query \\\n    --per-order-max 12.50 --per-day-max 200.00',
    )
    .action((dealerId: string, { label, ...options }: KeyOptions) => {
      const input = { ...keyInput(options), label: label! }
      return withAccount(context, dealerId, options, async (deps, tenantId) => {
        const made = await createKey(deps, tenantId, input, context.by)
        const human = fields([
          ['AppKey', made.appKey],
          ['AppSecret', made.appSecret],
        ])
        context.print(`${human}\nStore the AppSecret: it is never shown again.`, made)
      })
    })
  key
    .command('list <tenant-id>')
    .description('List the restricted keys of a dealer: their limits, what they have spent, and their last use.')
    .option('--twin', TWIN)
    .action((dealerId: string, options: KeyOptions) =>
      withAccount(context, dealerId, options, async (deps, tenantId) => {
        const keys = await listKeys(deps.db, tenantId)
        context.print(keyTable(keys), keys)
      }),
    )
  withOptions(
    key
      .command('set <tenant-id> <app-key>')
      .description(
        'Change a restricted key. What is not given stays; “none” clears it. A change applies to every request that is admitted after it.',
      )
      .option('--label <text>', 'which program it is for'),
  ).action((dealerId: string, appKey: string, { twin = false, ...options }: KeyOptions) => {
    if (Object.keys(options).length === 0) throw new UsageError('Give at least one change: see key set --help.')
    const input = keyInput(options)
    return withAccount(context, dealerId, { twin }, async (deps, tenantId) => {
      await setKey(deps, tenantId, appKey, input, context.by)
      const changed = (await listKeys(deps.db, tenantId)).find((one) => one.appKey === appKey)!
      context.print('Changed. It applies from the key’s next request on.', changed)
    })
  })
  key
    .command('revoke <tenant-id> <app-key>')
    .description('Revoke a restricted key for good: its next request is refused (101004). Its orders stay.')
    .option('--twin', TWIN)
    .action((dealerId: string, appKey: string, options: KeyOptions) =>
      withAccount(context, dealerId, options, async (deps, tenantId) => {
        await revokeKey(deps, tenantId, appKey, context.by)
        context.print('Revoked. Further requests with the key are refused.', { tenantId, appKey })
      }),
    )
}

const TWIN = 'of the dealer’s test twin, instead of its live account'

/** Runs `work` with a dealer's account, or with its test twin, which has a schema and an id of its own. */
function withAccount<Result>(
  context: AdminContext,
  dealerId: string,
  { twin }: Pick<KeyOptions, 'twin'>,
  work: (deps: AdminDeps, tenantId: string) => Promise<Result>,
): Promise<Result> {
  return context.withDeps((live) => {
    if (!twin) return work(live, dealerId)
    return withTwins(live, { create: false }, async (twins) => {
      const { tenantId } = await getTwin(twins, dealerId)
      return work(twins!, tenantId)
    })
  })
}

function withOptions(command: Command): Command {
  return command
    .option('--twin', TWIN)
    .option(
      '--operations <a,b>',
      `what it may call, of ${ALLOWED_OPERATIONS.join(', ')}; none: only what reads packages and the balance`,
    )
    .option('--per-order-max <amount>', 'the most that one order may debit')
    .option('--per-day-max <amount>', 'the most that its orders may debit on a UTC day')
    .option('--total-max <amount>', 'the most that its orders may debit in all')
    .option('--allowlist <list>', 'allowed addresses and CIDR blocks, in addition to those of the dealer; none: any')
    .option('--expires-at <time>', 'when it ends, such as 2027-01-31')
}

const NONE = 'none'

/** @throws UsageError, MalformedMoney */
function keyInput({ label, operations, allowlist, expiresAt, twin: _, ...limits }: KeyOptions): KeyInput {
  const input: KeyInput = {}
  if (label !== undefined) input.label = label
  if (operations !== undefined) input.operations = operations === NONE ? null : listOf(operations)
  for (const limit of ['perOrderMax', 'perDayMax', 'totalMax'] as const) {
    const text = limits[limit]
    if (text !== undefined) input[limit] = text === NONE ? null : parseMoney(text)
  }
  if (allowlist !== undefined) input.ipAllowlist = allowlist === NONE ? [] : listOf(allowlist)
  if (expiresAt !== undefined) input.expiresAt = expiresAt === NONE ? null : parseTime(expiresAt, '--expires-at')
  return input
}

const listOf = (text: string) => text.split(',').map((part) => part.trim())

function keyTable(keys: KeyView[]): string {
  const of = (spent: bigint, limit: bigint | null) =>
    formatMoney(spent) + (limit === null ? '' : ` of ${formatMoney(limit)}`)
  return table(
    keys,
    [
      { title: 'KEY', value: (key) => key.appKey },
      { title: 'LABEL', value: (key) => key.label },
      { title: 'STATE', value: stateOf },
      {
        title: 'PER ORDER',
        value: ({ perOrderMax }) => (perOrderMax === null ? '' : formatMoney(perOrderMax)),
        right: true,
      },
      { title: 'TODAY', value: (key) => of(key.daySpent, key.perDayMax), right: true },
      { title: 'TOTAL', value: (key) => of(key.totalSpent, key.totalMax), right: true },
      { title: 'LAST USED', value: (key) => (key.lastUsedAt === null ? 'never' : timeText(key.lastUsedAt)) },
      { title: 'OPERATIONS', value: (key) => key.operations.join(',') },
    ],
    'This dealer has no restricted keys. Create one: npm run -s admin -- key create ID --label webshop',
  )
}

function stateOf({ revokedAt, expiresAt }: KeyView): string {
  if (revokedAt !== null) return 'revoked'
  if (expiresAt === null) return 'works'
  return `${expiresAt > new Date() ? 'until' : 'expired'} ${timeText(expiresAt)}`
}
