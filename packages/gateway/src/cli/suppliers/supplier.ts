import { dirname, resolve } from 'node:path'
import { formatMoney } from '@dealer-esim/contract'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Command } from 'commander'
import { NO_CODES } from '#stock/stock.ts'
import { SUPPLIER_TYPES } from '#suppliers/create-supplier.ts'
import { addSupplier, type DailySpend, listSuppliers, pauseSupplier, setSupplier } from '#suppliers/manage-suppliers.ts'
import { testSupplier } from '#suppliers/state/test-supplier.ts'
import type { AdminDeps } from '../kernel/cli-deps.ts'
import { readJsonFile, readTextFile } from '../kernel/cli-files.ts'
import { withSuppliers } from '../kernel/cli-outbound.ts'
import type { AdminContext } from '../kernel/context.ts'
import { table, timeText } from '../kernel/text-table.ts'
import { supplierProductCommands } from '../products/supplier-products.ts'
import { supplierBalanceCommand } from './supplier-balance.ts'
import { supplierExamplesText } from './supplier-examples.ts'
import { supplierRecordCommand } from './supplier-record.ts'
import { supplierReportCommand } from './supplier-report.ts'
import { supplierVerifyCommand } from './supplier-verify.ts'

export function supplierCommands(supplier: Command, context: AdminContext): void {
  supplier
    .command('add <name>')
    .description('Add a supplier, from which packages can be bought, and test it.')
    .requiredOption('--type <type>', SUPPLIER_TYPES.join(', '))
    .option('--config <file>', 'JSON; ca, cert and key are PEM, or names of files in the same folder')
    .addHelpText('after', supplierExamplesText())
    .action(async (name: string, options: { type: string; config?: string }) => {
      const config = readConfigFile(options.config)
      await context.withDeps(async (deps) => {
        await addSupplier(deps, { name, type: options.type, config }, context.by)
        const failure = await test(deps, name)
        const tested = { works: failure === null, words: failure }
        context.print(`Added ${name}. ${resultText(name, failure)}`, { name, type: options.type, ...tested })
      })
    })
  supplier
    .command('set <name>')
    .description('Replace the whole configuration of a supplier, and test it.')
    .requiredOption('--config <file>', 'JSON; ca, cert and key are PEM, or names of files in the same folder')
    .action(async (name: string, options: { config: string }) => {
      const config = readConfigFile(options.config)
      await context.withDeps(async (deps) => {
        await setSupplier(deps, { name, config }, context.by)
        const failure = await test(deps, name)
        context.print(`Changed ${name}. ${resultText(name, failure)}`, {
          name,
          works: failure === null,
          words: failure,
        })
      })
    })
  for (const [verb, paused] of [
    ['pause', true],
    ['resume', false],
  ] as const) {
    supplier
      .command(`${verb} <name>`)
      .description(
        paused
          ? 'Stop buying from a supplier. Its orders go to the next supplier of their package, or wait.'
          : 'Buy from a paused supplier again.',
      )
      .action((name: string) =>
        context.withDeps(async (deps) => {
          await pauseSupplier(deps, { name, paused }, context.by)
          context.print(`${name} is ${paused ? 'paused' : 'in use'}.`, { name, paused })
        }),
      )
  }
  testCommand(supplier, context)
  supplierVerifyCommand(supplier, context)
  supplierRecordCommand(supplier, context)
  supplier
    .command('list')
    .description('List the suppliers.')
    .action(() =>
      context.withDeps(async (deps) => {
        const rows = await listSuppliers(deps.db)
        const human = table(
          rows,
          [
            { title: 'NAME', value: (row) => row.name },
            { title: 'TYPE', value: (row) => row.type },
            { title: 'STATE', value: (row) => (row.paused ? 'paused' : 'in use') },
            { title: 'SEEN', value: ({ seen }) => SEEN_TEXTS[seen.state] },
            { title: 'SPENT TODAY', value: (row) => spendText(row.dailySpend) },
            { title: 'CHANGED', value: (row) => timeText(row.updatedAt) },
          ],
          'There are no suppliers. Add one with: supplier add NAME --type TYPE',
        )
        const pending = rows.filter(({ status }) => status !== null).map(({ name, status }) => `${name}: ${status}.`)
        const failing = rows.flatMap(({ name, seen }) =>
          seen.state === 'FAILING' ? [`${name}: failing since ${timeText(seen.since)}: ${seen.failure}`] : [],
        )
        context.print([human, ...failing, ...pending].join('\n'), { supplierList: rows })
      }),
    )
  supplierBalanceCommand(supplier, context)
  supplierProductCommands(supplier, context)
  supplierReportCommand(supplier, context)
}

const SEEN_TEXTS = { NOT_TESTED: 'not tested', WORKING: 'working', FAILING: 'failing' } as const

function spendText(spend: DailySpend | null): string {
  return spend === null ? '' : `${formatMoney(spend.spent)} of ${formatMoney(spend.limit)} ${spend.currencyCode}`
}

function testCommand(supplier: Command, context: AdminContext): void {
  supplier
    .command('test <name>')
    .description('Call a supplier without buying anything, and report faults.')
    .action((name: string) =>
      context.withDeps(async (deps) => {
        const failure = await test(deps, name)
        if (failure !== null) throw new Refusal(422, 'SUPPLIER_FAULT', `${name}: ${failure}`)
        context.print(`${name} works.`, { name, works: true })
      }),
    )
}

/** @returns why the test failed; null: the supplier works */
function test(deps: AdminDeps, name: string): Promise<string | null> {
  return withSuppliers(deps, (suppliers) => testSupplier({ ...deps, suppliers }, name))
}

export function resultText(name: string, failure: string | null): string {
  if (failure === null) return 'It works.'
  if (failure === NO_CODES)
    return `It has no codes to sell. Import some with: stock import FILE --supplier ${name} --product CODE`
  return `Its test failed: ${failure}. Correct it with: supplier set ${name}`
}

const PEM_MEMBERS = ['ca', 'cert', 'key'] as const

/** Replaces file names in ca, cert and key with the PEM text of those files. */
function readConfigFile(file: string | undefined): Record<string, unknown> {
  if (file === undefined) return {}
  const config = readJsonFile(file)
  if (typeof config !== 'object' || config === null || Array.isArray(config))
    throw new Error(`${file} is not a JSON object.`)
  const members = config as Record<string, unknown>
  for (const member of PEM_MEMBERS) {
    const value = members[member]
    if (typeof value === 'string' && !value.includes('-----BEGIN'))
      members[member] = readTextFile(resolve(dirname(file), value))
  }
  return members
}
