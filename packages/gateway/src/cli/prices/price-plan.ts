import { formatTime } from '@dealer-esim/contract'
import { type Command, InvalidArgumentError } from 'commander'
import type { PercentBasis } from '#catalogue/prices/plan-rules.ts'
import { setGroupPlan, setTenantPlan } from '#catalogue/prices/price-assignments.ts'
import {
  createPlan,
  listPlans,
  type PlanDetails,
  type RuleDetails,
  type RuleKey,
  type RuleValue,
  removePlanRule,
  setPlanDisplayName,
  setPlanRule,
} from '#catalogue/prices/price-plans.ts'
import { deletePlan, renamePlan } from '#catalogue/prices/rename-delete.ts'
import { priceText } from '../catalogue/package-text.ts'
import { type AdminDeps, inTransaction } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseTime } from '../kernel/parse-options.ts'
import { fields, table } from '../kernel/text-table.ts'
import { amount, currency, percent } from './price-options.ts'

interface RuleOptions {
  percent?: bigint
  of?: PercentBasis
  round?: string
  price?: bigint
  currency?: string
  package?: string
  location?: string
  supplier?: string
  from?: Date
  until?: Date
}

interface OwnerOptions {
  tenant?: string
  group?: string
}

/** Price plans: rules for the tenants and groups that the plan is assigned to. */
export function pricePlanCommands(noun: Command, context: AdminContext): void {
  const plan = noun.command('plan').description('Price plans: percentages and fixed prices for tenants and groups.')
  rules(plan, context)
  assignments(plan, context)
  renameAndDelete(plan, context)
  plan
    .command('list')
    .description('List the plans.')
    .action(() =>
      context.withDeps(async (deps) => {
        const plans = await listPlans(deps.db)
        context.print(planTable(plans), plans)
      }),
    )
  plan
    .command('show <plan>')
    .description('Show a plan with its rules, tenants and groups.')
    .action((planName: string) => context.withDeps((deps) => show(deps, context, planName)))
}

async function show(deps: AdminDeps, context: AdminContext, planName: string): Promise<void> {
  const [shown] = await listPlans(deps.db, planName)
  context.print(planText(shown!), shown)
}

function rules(plan: Command, context: AdminContext): void {
  withRuleOptions(plan.command('create <plan>'))
    .description('Create a plan, optionally with a first rule.')
    .option('--display-name <text>', 'what the console shows beside the name; may have spaces')
    .action((planName: string, options: RuleOptions & { displayName?: string }) =>
      context.withDeps(async (deps) => {
        const { displayName, ...ruleOptions } = options
        const value = ruleOf(ruleOptions)
        if (!value && Object.keys(ruleOptions).length > 0) throw new UsageError(RULE_NEEDED)
        await inTransaction(deps, async (joined) => {
          await createPlan(joined, planName, context.by, displayName)
          if (value) await setPlanRule(joined, keyOf(planName, ruleOptions), value, context.by)
        })
        await show(deps, context, planName)
      }),
    )
  withRuleOptions(plan.command('set <plan>'))
    .description(
      'Add or replace a rule. Precedence: package, location, supplier, all; then the one that began last; then a price before a percentage.',
    )
    .addHelpText(
      'after',
      `
Examples:
  npm run -s admin -- price plan set GOLD --percent -10
  npm run -s admin -- price plan set GOLD --percent -15 --location JP --from 2026-12-01 --until 2027-01-01
  npm run -s admin -- price plan set GOLD --percent 12 --of cost --round .99
  npm run -s admin -- price plan set GOLD --price 3.90 --currency USD --package JP_1_7`,
    )
    .action((planName: string, options: RuleOptions) =>
      context.withDeps(async (deps) => {
        const value = ruleOf(options)
        if (!value) throw new UsageError(RULE_NEEDED)
        await setPlanRule(deps, keyOf(planName, options), value, context.by)
        await show(deps, context, planName)
      }),
    )
  plan
    .command('display-name <plan> [text]')
    .description('Set the display name that the console shows with a plan, or remove it by giving none.')
    .action((planName: string, text: string | undefined) =>
      context.withDeps(async (deps) => {
        await setPlanDisplayName(deps, planName, text ?? null, context.by)
        await show(deps, context, planName)
      }),
    )
  withScopeOptions(plan.command('remove-rule <plan>'))
    .description('Remove a percentage, or with --currency a fixed price.')
    .option('--currency <code>', 'the fixed price in this currency', currency)
    .action((planName: string, options: RuleOptions) =>
      context.withDeps(async (deps) => {
        await removePlanRule(deps, keyOf(planName, options), options.currency ?? null, context.by)
        await show(deps, context, planName)
      }),
    )
}

const RULE_NEEDED = 'Give --percent, or --price with --currency.'

function withRuleOptions(command: Command): Command {
  return withScopeOptions(command)
    .option('--percent <n>', 'relative to the list price, such as -10 for ten percent less', percent)
    .option('--of <basis>', 'list (default), or cost: the percentage is added to it', basisOf)
    .option(
      '--round <rounding>',
      'round the result to .99, .49/.99, .00 or a step such as 0.05: up with --of cost, otherwise to the nearest',
    )
    .option('--price <amount>', 'a fixed price; needs --currency', amount)
    .option('--currency <code>', 'of the fixed price', currency)
    .option('--until <time>', 'the rule ends then: a time, or a day in UTC', timeOption('--until'))
}

/** Options that identify a rule of a plan. */
function withScopeOptions(command: Command): Command {
  return command
    .option('--package <code>', 'for this package (default: every package)')
    .option(
      '--location <code>',
      'for packages of this country only, for regional packages (!RG), or for global ones (!GL)',
    )
    .option('--supplier <name>', 'for packages whose first supplier is this one')
    .option('--from <time>', 'when the rule begins: a time, or a day in UTC', timeOption('--from'))
}

function keyOf(planName: string, { package: packageCode, location, supplier, from }: RuleOptions): RuleKey {
  return { planName, packageCode, locationCode: location?.toUpperCase(), supplier, validFrom: from }
}

function timeOption(name: string): (text: string) => Date {
  return (text) => parseTime(text, name)
}

function ruleOf({ percent: change, of: basis, round, price, currency, until }: RuleOptions): RuleValue | undefined {
  const currencyCode = currency
  if (change !== undefined && price === undefined && currencyCode === undefined) {
    return { percent: change, basis, rounding: round, validUntil: until }
  }
  if (change === undefined && price !== undefined && currencyCode !== undefined)
    return { price, currencyCode, validUntil: until }
  if (change === undefined && price === undefined && currencyCode === undefined) return undefined
  throw new UsageError('Use either --percent, or --price with --currency.')
}

function basisOf(text: string): PercentBasis {
  if (text !== 'list' && text !== 'cost') throw new InvalidArgumentError('Use list or cost.')
  return text === 'cost' ? 'COST' : 'LIST'
}

function assignments(plan: Command, context: AdminContext): void {
  const owned = (command: Command) => command.option('--tenant <id>', 'a tenant').option('--group <name>', 'a group')
  owned(plan.command('assign <plan>'))
    .description('Assign a plan to a tenant or a group, replacing its present one.')
    .action((planName: string, options: OwnerOptions) =>
      context.withDeps(async (deps) => {
        await assign(deps, context, planName, options)
        context.print('Assigned. It applies from the next order on.', { planName, ...options })
      }),
    )
  owned(plan.command('unassign'))
    .description('Remove the plan of a tenant or a group.')
    .action((options: OwnerOptions) =>
      context.withDeps(async (deps) => {
        await assign(deps, context, null, options)
        context.print('Removed. It applies from the next order on.', { planName: null, ...options })
      }),
    )
}

async function assign(deps: AdminDeps, { by }: AdminContext, planName: string | null, owner: OwnerOptions) {
  const { tenant, group } = owner
  if ((tenant === undefined) === (group === undefined)) throw new UsageError('Use either --tenant or --group.')
  if (tenant !== undefined) await setTenantPlan(deps, tenant, planName, by)
  else if (group !== undefined) await setGroupPlan(deps, group, planName, by)
}

function renameAndDelete(plan: Command, context: AdminContext): void {
  plan
    .command('rename <plan> <new-name>')
    .description('Rename a plan. Prices do not change.')
    .action((planName: string, newName: string) =>
      context.withDeps(async (deps) => {
        await renamePlan(deps, planName, newName, context.by)
        await show(deps, context, newName)
      }),
    )
  plan
    .command('delete <plan>')
    .description('Delete a plan that is not assigned to any tenant or group.')
    .action((planName: string) =>
      context.withDeps(async (deps) => {
        await deletePlan(deps, planName, context.by)
        context.print(`Deleted. The name ${planName} can be used again.`, { planName, deleted: true })
      }),
    )
}

function planTable(plans: readonly PlanDetails[]): string {
  return table(
    plans,
    [
      { title: 'PLAN', value: (plan) => plan.planName },
      { title: 'RULES', right: true, value: (plan) => String(plan.rules.length) },
      { title: 'TENANTS', right: true, value: (plan) => String(plan.tenantIds.length) },
      { title: 'GROUPS', value: (plan) => plan.groupNames.join(', ') },
    ],
    'There are no price plans. Create one with: price plan create NAME',
  )
}

function planText({ planName, displayName, rules: shown, tenantIds, groupNames }: PlanDetails): string {
  return fields([
    ['Plan', planName],
    ['Display name', displayName ?? 'none'],
    ['Rules', shown.map(planRuleText).join('\n') || 'none, so the list price applies'],
    ['Tenants', tenantIds.join('\n') || 'none'],
    ['Groups', groupNames.join('\n') || 'none'],
  ])
}

/** A rule of a plan in one line, such as `JP: -10 %, from 2026-12-01T00:00:00.000Z`. */
export function planRuleText(rule: RuleDetails): string {
  const { percent, basis, rounding, price, currencyCode, validFrom, validUntil } = rule
  const percentText = `${basis === 'COST' ? 'cost + ' : ''}${percent} %`
  return [
    `${packagesText(rule)}: ${price === null ? percentText : priceText({ price, currencyCode: currencyCode ?? '' })}`,
    ...(rounding === 'none' ? [] : [`rounded to ${rounding}`]),
    ...(validFrom === null ? [] : [`from ${formatTime(validFrom)}`]),
    ...(validUntil === null ? [] : [`until ${formatTime(validUntil)}`]),
  ].join(', ')
}

function packagesText({ packageCode, locationCode, supplier }: RuleDetails): string {
  if (packageCode !== null) return packageCode
  if (locationCode !== null) return `packages of ${locationCode}`
  return supplier === null ? 'every package' : `packages of supplier ${supplier}`
}
