import { type Command, InvalidArgumentError } from 'commander'
import { setGroupPlan, setTenantPlan } from '../../catalogue/pricing/assignments.ts'
import {
  createPlan,
  listPlans,
  type PlanDetails,
  type RuleValue,
  removePlanRule,
  setPlanRule,
} from '../../catalogue/pricing/plans.ts'
import type { PercentBasis } from '../../catalogue/pricing/quote.ts'
import { deletePlan, renamePlan } from '../../catalogue/pricing/rename-delete.ts'
import { priceText } from '../catalogue/package-text.ts'
import type { AdminContext } from '../context.ts'
import type { AdminDeps } from '../deps.ts'
import { UsageError } from '../failure.ts'
import { fields, table } from '../table.ts'
import { amount, currency, percent } from './price-options.ts'

interface RuleOptions {
  percent?: bigint
  of?: PercentBasis
  round?: string
  price?: bigint
  currency?: string
  package?: string
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
    .action((planName: string, options: RuleOptions) =>
      context.withDeps(async (deps) => {
        const value = ruleOf(options)
        await createPlan(deps, planName, context.by)
        if (value) await setPlanRule(deps, { planName, packageCode: options.package ?? null }, value, context.by)
        await show(deps, context, planName)
      }),
    )
  withRuleOptions(plan.command('set <plan>'))
    .description(
      'Add or replace a rule. A rule for one package precedes one for all, and a price precedes a percentage.',
    )
    .addHelpText(
      'after',
      `
Examples:
  npm run -s admin -- price plan set GOLD --percent -10
  npm run -s admin -- price plan set GOLD --percent 12 --of cost --round .99
  npm run -s admin -- price plan set GOLD --price 3.90 --currency USD --package JP_1_7`,
    )
    .action((planName: string, options: RuleOptions) =>
      context.withDeps(async (deps) => {
        const value = ruleOf(options)
        if (!value) throw new UsageError('Give --percent, or --price with --currency.')
        const scope = { planName, packageCode: options.package ?? null }
        await setPlanRule(deps, scope, value, context.by)
        await show(deps, context, planName)
      }),
    )
  plan
    .command('remove-rule <plan>')
    .description('Remove a percentage, or with --currency a fixed price.')
    .option('--package <code>', 'the rule of this package (default: of every package)')
    .option('--currency <code>', 'the fixed price in this currency', currency)
    .action((planName: string, options: RuleOptions) =>
      context.withDeps(async (deps) => {
        const scope = { planName, packageCode: options.package ?? null }
        await removePlanRule(deps, scope, options.currency ?? null, context.by)
        await show(deps, context, planName)
      }),
    )
}

function withRuleOptions(command: Command): Command {
  return command
    .option('--percent <n>', 'relative to the list price, such as -10 for ten percent less', percent)
    .option('--of <basis>', 'list (default), or cost: the percentage is added to it', basisOf)
    .option(
      '--round <rounding>',
      'a percentage to .99, .49/.99, .00, a step such as 0.05: a cost up, a price to the nearest',
    )
    .option('--price <amount>', 'a fixed price; needs --currency', amount)
    .option('--currency <code>', 'of the fixed price', currency)
    .option('--package <code>', 'for this package (default: every package)')
}

function ruleOf({
  percent: change,
  of: basis,
  round,
  price,
  currency: currencyCode,
}: RuleOptions): RuleValue | undefined {
  if (change !== undefined && price === undefined && currencyCode === undefined) {
    return { percent: change, basis, rounding: round }
  }
  if (change === undefined && price !== undefined && currencyCode !== undefined) return { price, currencyCode }
  if (change === undefined && price === undefined && currencyCode === undefined) return undefined
  throw new UsageError('Give either --percent, or --price with --currency.')
}

function basisOf(text: string): PercentBasis {
  if (text !== 'list' && text !== 'cost') throw new InvalidArgumentError('Give list or cost.')
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
  if ((tenant === undefined) === (group === undefined)) throw new UsageError('Give either --tenant or --group.')
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

function planText({ planName, rules: shown, tenantIds, groupNames }: PlanDetails): string {
  const ruleText = (rule: PlanDetails['rules'][number]) => {
    const { packageCode, percent: change, basis, rounding, price, currencyCode } = rule
    const rounded = rounding === 'none' ? '' : `, rounded to ${rounding}`
    const percentText = `${basis === 'COST' ? 'cost + ' : ''}${change} %${rounded}`
    const value = price === null ? percentText : priceText({ price, currencyCode: currencyCode ?? '' })
    return `${packageCode ?? 'every package'}: ${value}`
  }
  return fields([
    ['Plan', planName],
    ['Rules', shown.map(ruleText).join('\n') || 'none, so the list price applies'],
    ['Tenants', tenantIds.join('\n') || 'none'],
    ['Groups', groupNames.join('\n') || 'none'],
  ])
}
