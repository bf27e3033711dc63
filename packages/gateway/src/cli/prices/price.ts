import { formatMoney } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { type Buyer, createCatalogue, getBuyer, type QuotedPackage } from '#catalogue/catalogue.ts'
import { getPackagePrices, type PackagePrices, setListPrices, setOwnPrice } from '#catalogue/prices/prices.ts'
import { formatRate, listRates, parseRate, setRate } from '#products/rules/exchange-rates.ts'
import { priceText } from '../catalogue/package-text.ts'
import type { AdminDeps } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseTime } from '../kernel/parse-options.ts'
import { fields, table, timeText } from '../kernel/text-table.ts'
import { priceGroupCommands } from './price-group.ts'
import { amount, currency } from './price-options.ts'
import { planRuleText, pricePlanCommands } from './price-plan.ts'

export function priceCommands(noun: Command, context: AdminContext): void {
  list(noun, context)
  set(noun, context)
  remove(noun, context)
  pricePlanCommands(noun, context)
  priceGroupCommands(noun, context)
  priceRateCommands(noun, context)
}

function list(noun: Command, context: AdminContext): void {
  noun
    .command('list [package-code]')
    .description('Show all prices of a package, or the prices that a tenant pays and where they come from.')
    .option('--tenant <id>', 'what this tenant pays')
    .action((packageCode: string | undefined, options: { tenant?: string }) =>
      context.withDeps(async (deps) => {
        if (options.tenant !== undefined) {
          const buyer = await getBuyer(deps.db, options.tenant)
          const snapshot = await createCatalogue(deps).latest()
          const quotes = [...snapshot.quotes(buyer)].filter(
            ({ item }) => packageCode === undefined || item.packageCode === packageCode,
          )
          context.print(
            quoteTable(quotes, buyer),
            quotes.map((quoted) => quoteJson(quoted, buyer)),
          )
        } else if (packageCode !== undefined) {
          const prices = await getPackagePrices(deps.db, packageCode)
          context.print(pricesText(prices), prices)
        } else throw new UsageError('Give a package code, or --tenant.')
      }),
    )
}

const SOURCES = { OWN: 'own price', PLAN: 'its plan', GROUP: "its group's plan", LIST: 'list price' } as const

function quoteTable(quotes: readonly QuotedPackage[], { currencyCode }: Buyer): string {
  return table(
    quotes,
    [
      { title: 'CODE', value: ({ item }) => item.packageCode },
      { title: `PRICE ${currencyCode}`, right: true, value: ({ quote }) => formatMoney(quote.price) },
      { title: 'SOURCE', value: ({ quote }) => (quote.source ? SOURCES[quote.source] : '') },
      { title: 'STATUS', value: ({ item }) => (item.onSale ? 'ON_SALE' : 'OFF_SALE') },
    ],
    'No package has a price in the tenant’s currency.',
  )
}

function quoteJson({ item, quote }: QuotedPackage, { currencyCode }: Buyer) {
  const { price, retailPrice, source } = quote
  const { packageCode, onSale } = item
  return { packageCode, price, retailPrice, currencyCode, source, status: onSale ? 'ON_SALE' : 'OFF_SALE' }
}

function pricesText({ list, rules, own }: PackagePrices): string {
  return fields([
    ['List', list.map(priceText).join('\n') || 'none'],
    ['Plans', rules.map((rule) => `${rule.planName}: ${planRuleText(rule)}`).join('\n') || 'none'],
    ['Tenants', own.map((one) => `${one.tenantId} ${one.clientName}: ${priceText(one)}`).join('\n') || 'none'],
  ])
}

interface PriceOptions {
  currency?: string
  tenant?: string
  retail?: bigint
}

function set(noun: Command, context: AdminContext): void {
  noun
    .command('set <package-code> <amount>')
    .description("Set a package's list price in a currency, or a tenant's own price.")
    .option('--currency <code>', 'of a list price', currency)
    .option('--retail <amount>', 'recommended to the traveller, with a list price', amount)
    .option('--tenant <id>', "this tenant's own price, in its currency")
    .addHelpText('after', '\nExample:\n  npm run -s admin -- price set JP_1_7 4.50 --currency USD')
    .action((packageCode: string, value: string, options: PriceOptions) =>
      context.withDeps(async (deps) => {
        const price = amount(value)
        await change(deps, context, packageCode, price, options)
        context.print('Set. It applies from the next order on.', { packageCode, price, ...options })
      }),
    )
}

function remove(noun: Command, context: AdminContext): void {
  noun
    .command('remove <package-code>')
    .description("Remove a package's list price in a currency, or a tenant's own price.")
    .option('--currency <code>', 'of the list price', currency)
    .option('--tenant <id>', 'whose own price')
    .action((packageCode: string, options: PriceOptions) =>
      context.withDeps(async (deps) => {
        await change(deps, context, packageCode, null, options)
        context.print('Removed. It applies from the next order on.', { packageCode, price: null, ...options })
      }),
    )
}

async function change(
  deps: AdminDeps,
  { by }: AdminContext,
  packageCode: string,
  price: bigint | null,
  options: PriceOptions,
): Promise<void> {
  const { tenant, currency: currencyCode, retail } = options
  if ((tenant === undefined) === (currencyCode === undefined)) {
    throw new UsageError('Use --currency for a list price, or --tenant for the price of one tenant.')
  }
  if (tenant !== undefined && retail !== undefined) {
    throw new UsageError('--retail belongs to a list price: use it with --currency, not with --tenant.')
  }
  if (tenant !== undefined) await setOwnPrice(deps, { tenantId: tenant, packageCode, price }, by)
  else if (currencyCode !== undefined) {
    const retailPrice = retail === undefined ? {} : { retailPrice: retail }
    await setListPrices(deps, [{ packageCode, currencyCode, price, ...retailPrice }], by)
  }
}

/** Exchange rates, for sale rules whose costs are in a different currency from their prices. */
function priceRateCommands(noun: Command, context: AdminContext): void {
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
    .description('Enter a rate: how much of the second currency is 1 of the first. Costs are rounded up.')
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
    .description('Remove a rate: products with costs in the first currency are no longer sold in the second.')
    .action((cost: string, sale: string) =>
      context.withDeps(async (deps) => {
        const pair = { costCurrency: currency(cost), saleCurrency: currency(sale) }
        await setRate(deps, pair, null, context.by)
        context.print('Removed.', { ...pair, removed: true })
      }),
    )
}
