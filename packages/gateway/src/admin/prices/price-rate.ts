import type { Command } from 'commander'
import { formatRate, listRates, parseRate, setRate } from '../../products/rules/exchange-rates.ts'
import type { AdminContext } from '../context.ts'
import { parseTime } from '../parse.ts'
import { table, timeText } from '../table.ts'
import { currency } from './price-options.ts'

/** Exchange rates, for sale rules whose costs are in another currency than their prices. */
export function priceRateCommands(noun: Command, context: AdminContext): void {
  const rate = noun
    .command('rate')
    .description('Exchange rates for sale rules: from the currency of a cost to that of a price.')
  rate
    .command('list')
    .description('List the rates.')
    .action(() =>
      context.withDeps(async (deps) => {
        const rates = (await listRates(deps.db)).map((row) => ({ ...row, rate: formatRate(row.rate) }))
        const columns = [
          { title: 'COST', value: (row: (typeof rates)[number]) => `1 ${row.costCurrency}` },
          { title: 'PRICE', value: (row: (typeof rates)[number]) => `${row.rate} ${row.saleCurrency}`, right: true },
          { title: 'OF', value: (row: (typeof rates)[number]) => timeText(row.ratedAt) },
          { title: 'ENTERED', value: (row: (typeof rates)[number]) => timeText(row.updatedAt) },
        ]
        context.print(table(rates, columns, 'There are no rates. Enter one with: price rate set EUR USD 1.08'), {
          rateList: rates,
        })
      }),
    )
  rate
    .command('set <cost-currency> <sale-currency> <rate>')
    .description('Enter a rate: one of the first currency is so many of the second. Costs are rounded up.')
    .option('--date <time>', 'of the rate (default: now)')
    .action((cost: string, sale: string, text: string, options: { date?: string }) =>
      context.withDeps(async (deps) => {
        const pair = { costCurrency: currency(cost), saleCurrency: currency(sale) }
        const ratedAt = options.date ? parseTime(options.date, '--date') : new Date(deps.databaseClock.now())
        await setRate(deps, pair, { rate: parseRate(text), ratedAt }, context.by)
        context.print(`1 ${pair.costCurrency} is ${text} ${pair.saleCurrency}.`, { ...pair, rate: text, ratedAt })
      }),
    )
  rate
    .command('remove <cost-currency> <sale-currency>')
    .description('Remove a rate: what costs that currency is not sold in the other any more.')
    .action((cost: string, sale: string) =>
      context.withDeps(async (deps) => {
        const pair = { costCurrency: currency(cost), saleCurrency: currency(sale) }
        await setRate(deps, pair, null, context.by)
        context.print('Removed.', { ...pair, removed: true })
      }),
    )
}
