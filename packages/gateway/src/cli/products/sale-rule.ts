import { csvText } from '@dealer-esim/lib/csv.ts'
import type { Command } from 'commander'
import { applyRules } from '#products/rules/apply-rules.ts'
import { deleteRule, getRule, listRules, releasePackages, setRule } from '#products/rules/manage-rules.ts'
import { previewCells, previewRules } from '#products/rules/preview-rules.ts'
import type { SaleRuleInput } from '#products/rules/sale-rule.ts'
import type { AdminDeps } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { readJsonFile, writeOutput } from '../kernel/cli-files.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseWholeNumber } from '../kernel/parse-options.ts'
import { count } from '../kernel/text-table.ts'
import { type RuleOptions, ruleOf, withRuleOptions } from './sale-rule-options.ts'
import { previewText, ruleTable, ruleText } from './sale-rule-text.ts'

/** Sale rules: which supplier products are sold as packages, and at which price. */
export function ruleCommands(noun: Command, context: AdminContext): void {
  noun
    .command('list')
    .description('List the rules, in the order in which they select products.')
    .action(() =>
      context.withDeps(async (deps) => {
        const rules = await listRules(deps.db)
        context.print(ruleTable(rules), { ruleList: rules })
      }),
    )
  noun
    .command('show <rule>')
    .description('Show a rule.')
    .action((ruleName: string) => context.withDeps((deps) => show(deps, context, ruleName)))
  set(noun, context)
  noun
    .command('delete <rule>')
    .description('Delete a rule. Its packages go off sale when the rules are next applied.')
    .option('--keep-packages', 'its packages stay as they are, and no longer belong to a rule')
    .action((ruleName: string, options: { keepPackages?: boolean }) =>
      context.withDeps(async (deps) => {
        const keepPackages = options.keepPackages === true
        await deleteRule(deps, ruleName, { keepPackages }, context.by)
        const next = keepPackages ? '' : ' Preview and apply the rules to take its packages off sale: rule preview'
        context.print(`Deleted ${ruleName}.${next}`, { ruleName, deleted: true })
      }),
    )
  noun
    .command('release <package-codes...>')
    .description('Separate packages from their rules: rules no longer change them.')
    .action((packageCodes: string[]) =>
      context.withDeps(async (deps) => {
        const released = await releasePackages(deps, packageCodes, context.by)
        context.print(`${count(released.length, 'package')} released.`, { packageCodes: released })
      }),
    )
  previewAndApply(noun, context)
}

async function show(deps: AdminDeps, context: AdminContext, ruleName: string): Promise<void> {
  const rule = await getRule(deps.db, ruleName)
  context.print(ruleText(rule), rule)
}

function set(noun: Command, context: AdminContext): void {
  withRuleOptions(noun.command('set <rule>'))
    .description(
      'Add a rule, or change the given members of one. “any” clears a condition. Packages change by rule apply.',
    )
    .option('--file <file>', 'JSON with members of the rule, as rule show --json prints them under rule')
    .addHelpText('after', SET_EXAMPLE)
    .action((ruleName: string, options: RuleOptions & { file?: string }) =>
      context.withDeps(async (deps) => {
        const { file, ...typed } = options
        const input = file === undefined ? ruleOf(typed) : (readJsonFile(file) as SaleRuleInput)
        if (file !== undefined && Object.keys(typed).length > 0)
          throw new UsageError('Use either --file or options, not both.')
        await setRule(deps, ruleName, input, context.by)
        await show(deps, context, ruleName)
      }),
    )
}

const SET_EXAMPLE = `
Example:
  npm run -s admin -- rule set asia --countries JP,KR,TW --data 1GB-10GB --days 1-30 --currency USD \\
    --percent 25 --min-margin 0.30 --round .49/.99 --order cheapest`

const SHOWN_DEFAULT = 50

function previewAndApply(noun: Command, context: AdminContext): void {
  noun
    .command('preview')
    .description(
      'Show what applying the rules would change: prices, margins, what goes on and off sale. Changes nothing.',
    )
    .option('--limit <n>', 'packages shown', (value) => parseWholeNumber(value, '--limit'), SHOWN_DEFAULT)
    .option('--csv <file>', 'write all of them as CSV; “-”: to standard output')
    .action((options: { limit: number; csv?: string }) =>
      context.withDeps(async (deps) => {
        const preview = await previewRules(deps.db)
        if (options.csv === undefined) return context.print(previewText(preview, options.limit), preview)
        await writeOutput(options.csv, (write) => write(csvText(previewCells(preview))))
      }),
    )
  noun
    .command('apply <basis>')
    .description('Apply the rules exactly as previewed: in one transaction, and only if nothing has changed since.')
    .action((basis: string) =>
      context.withDeps(async (deps) => {
        const applied = await applyRules(deps, basis, context.by)
        const { added, changed } = applied
        context.print(`${count(added, 'package')} added, ${changed} changed.`, { basis, ...applied })
      }),
    )
}
