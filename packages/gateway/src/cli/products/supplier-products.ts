import { setTimeout as delay } from 'node:timers/promises'
import { formatMoney, PACKAGE_TYPES } from '@dealer-esim/contract'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Command } from 'commander'
import { type ListedProduct, listCosts, searchProducts } from '#products/list-products.ts'
import { acceptCatalogue } from '#products/sync/accept-catalogue.ts'
import { claimSync, runSync, type SyncResult } from '#products/sync/run-sync.ts'
import {
  ensureSync,
  getSync,
  listSyncs,
  requireCatalogue,
  type SyncState,
  setSyncInterval,
} from '#products/sync/sync-state.ts'
import type { Unread } from '#products/sync/unread.ts'
import type { AdminDeps } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { withSuppliers } from '../kernel/cli-outbound.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseDuration, parseNames, parseTime, parseWholeNumber } from '../kernel/parse-options.ts'
import { table, timeText } from '../kernel/text-table.ts'

interface SyncOptions {
  accept?: string
  every?: number | 'never'
}

/** Reads the catalogues of suppliers and shows their products. */
export function supplierProductCommands(supplier: Command, context: AdminContext): void {
  supplier
    .command('sync [name]')
    .description('Read the catalogue of a supplier now. Without a name: when catalogues were read, and how that ended.')
    .option('--every <duration>', 'how often to read it from now on, such as 6h, or never', everyOf)
    .option('--accept <time>', 'accept the catalogue that was held at this time')
    .action((name: string | undefined, options: SyncOptions) =>
      context.withDeps(async (deps) => {
        if (name === undefined) return printStates(deps, context, options)
        if (options.accept !== undefined) return accept(deps, context, name, options.accept)
        if (options.every !== undefined) return setEvery(deps, context, name, options.every)
        return sync(deps, context, name)
      }),
    )
  supplier
    .command('products')
    .description('List the products in the catalogues of suppliers.')
    .option('--supplier <name>')
    .option('--keyword <text>', 'part of the name or code')
    .option('--country <code>', 'that work in this country')
    .option('--type <type>', 'BASE or TOPUP')
    .option('--unlisted', 'those that have left the catalogue')
    .option('--limit <n>', 'how many at most', (value) => parseWholeNumber(value, '--limit'), 50)
    .action((options: ProductOptions) => context.withDeps((deps) => printProducts(deps, context, options)))
  supplier
    .command('costs <name> <product>')
    .description('Show what a product has cost, and since when.')
    .action((name: string, product: string) =>
      context.withDeps(async (deps) => {
        const rows = await listCosts(deps.db, name, product)
        const columns = [
          { title: 'SINCE', value: (row: (typeof rows)[number]) => timeText(row.since) },
          {
            title: 'COST',
            value: (row: (typeof rows)[number]) =>
              row.cost === null ? 'not listed' : `${formatMoney(row.cost)} ${row.currencyCode}`,
          },
        ]
        context.print(table(rows, columns, 'Its costs are older than the stored ones.'), { costList: rows })
      }),
    )
}

/** @returns minutes, or never */
function everyOf(text: string): number | 'never' {
  return text === 'never' ? text : parseDuration(text) / 60_000
}

async function printStates(deps: AdminDeps, context: AdminContext, options: object): Promise<void> {
  if (Object.keys(options).length > 0) throw new UsageError('Specify the supplier: supplier sync NAME.')
  const states = await listSyncs(deps.db)
  const columns = [
    { title: 'SUPPLIER', value: (row: SyncState) => row.supplier },
    { title: 'PRODUCTS', value: (row: SyncState) => String(row.listed), right: true },
    { title: 'UNREADABLE', value: (row: SyncState) => String(row.unreadable), right: true },
    { title: 'ACCEPTED', value: (row: SyncState) => timeText(row.acceptedAt) },
    { title: 'LATEST', value: (row: SyncState) => (row.isRunning ? 'RUNNING' : (row.outcome ?? 'NONE')) },
    { title: 'NEXT', value: (row: SyncState) => timeText(row.dueAt) || 'on demand' },
    { title: 'MESSAGE', value: (row: SyncState) => row.message ?? '' },
  ]
  const empty = 'No catalogue was read yet. To read one: supplier sync NAME'
  context.print(table(states, columns, empty), { syncList: states })
}

async function accept(deps: AdminDeps, context: AdminContext, name: string, time: string): Promise<void> {
  const accepted = await acceptCatalogue(deps, name, parseTime(time, '--accept'), context.by)
  context.print(`Accepted. ${changesText(accepted)}`, { name, ...accepted })
}

async function setEvery(deps: AdminDeps, context: AdminContext, name: string, every: number | 'never'): Promise<void> {
  const minutes = every === 'never' ? null : every
  await withSuppliers(deps, (suppliers) => setSyncInterval({ ...deps, suppliers }, name, minutes, context.by))
  const text = minutes === null ? 'on demand only' : `every ${minutes} minutes`
  context.print(`The catalogue of ${name} is read ${text}.`, { name, everyMinutes: minutes })
}

const FOLLOW_EVERY_MS = 500

/** Reads the catalogue in this process. Shows a worker's progress instead if one is already reading it. */
async function sync(deps: AdminDeps, context: AdminContext, name: string): Promise<void> {
  const result = await withSuppliers(deps, async (suppliers): Promise<SyncResult | SyncState> => {
    requireCatalogue(suppliers, name)
    await ensureSync(deps.db, name)
    const progress = (products: number) => context.progress(`${products} products …`)
    const claim = await claimSync(deps.db, [name], true)
    if (claim) return runSync(deps, claim, suppliers.get(name)!.supplier, progress)
    context.progress(`A worker is already reading the catalogue of ${name}.`)
    return waitForWorker(deps, name, progress)
  })
  if (result.outcome === 'FAILED')
    throw new Refusal(422, 'CATALOGUE_UNREADABLE', `${result.message}. Nothing was changed.`)
  if (result.outcome === 'HELD') {
    const { heldAt, message } = result
    const next = `Nothing was changed. If it is right: supplier sync ${name} --accept ${heldAt?.toISOString()}`
    throw new Refusal(422, 'CATALOGUE_HELD', `The catalogue of ${name} is held: ${message}. ${next}`)
  }
  if (result.outcome === 'LOST') return printState(deps, context, name)
  if ('added' in result) {
    return context.print(`${changesText(result)}${unreadLines(result)}`, { name, ...result })
  }
  return printState(deps, context, name)
}

async function waitForWorker(
  deps: AdminDeps,
  name: string,
  onProgress: (products: number) => void,
): Promise<SyncState> {
  for (let read = 0; ; ) {
    const state = await getSync(deps.db, name)
    if (!state.isRunning) return state
    if (state.productsRead > read) onProgress(state.productsRead)
    read = state.productsRead
    await delay(FOLLOW_EVERY_MS)
  }
}

async function printState(deps: AdminDeps, context: AdminContext, name: string): Promise<void> {
  const state = await getSync(deps.db, name)
  context.print(`${name} lists ${state.listed} products.${unreadLines(state)}`, state)
}

/** The entries that could not be read, by name. Empty if all were read. */
function unreadLines(unread: Unread): string {
  if (unread.unreadable === 0) return ''
  const named = unread.unreadableEntries.map(({ entry, reason }) => `\n  ${entry}: ${reason}`)
  return `\n${unread.unreadable} unreadable, left out; ${unread.kept} known products stay as they were:${named.join('')}`
}

function changesText(
  result:
    | Omit<Extract<SyncResult, { outcome: 'DONE' }>, keyof Unread | 'outcome'>
    | Awaited<ReturnType<typeof acceptCatalogue>>,
): string {
  const { listed, added, changed, removed, followed } = result
  const packages = [
    [followed.rerouted, 'got other costs or suppliers'],
    [followed.repriced, 'got another price'],
    [followed.offSale.length, 'went off sale'],
    [followed.onSale.length, 'came back on sale'],
  ] as const
  const changes = packages.flatMap(([count, text]) => (count > 0 ? [`${count} ${text}`] : []))
  const followedText = changes.length > 0 ? `\nPackages: ${changes.join(', ')}.` : ''
  return `${listed} products: ${added} new, ${changed} changed, ${removed} gone.${followedText}`
}

interface ProductOptions {
  supplier?: string
  keyword?: string
  country?: string
  type?: string
  unlisted?: boolean
  limit: number
}

async function printProducts(deps: AdminDeps, context: AdminContext, options: ProductOptions): Promise<void> {
  const { supplier, keyword, country, type, unlisted, limit } = options
  const packageType = type === undefined ? undefined : parseNames(type, PACKAGE_TYPES, '--type')[0]
  const search = { supplier, keyword, country: country?.toUpperCase(), packageType, isListed: unlisted !== true }
  const rows = await searchProducts(deps.db, search, { limit: limit + 1 })
  const shown = rows.slice(0, limit)
  const columns = [
    { title: 'SUPPLIER', value: (row: ListedProduct) => row.supplier },
    { title: 'PRODUCT', value: (row: ListedProduct) => row.productCode },
    { title: 'NAME', value: (row: ListedProduct) => row.name },
    { title: 'COUNTRIES', value: (row: ListedProduct) => countriesText(row.countries) },
    { title: 'DAYS', value: (row: ListedProduct) => String(row.durationDays), right: true },
    { title: 'COST', value: (row: ListedProduct) => `${formatMoney(row.cost)} ${row.currencyCode}`, right: true },
    { title: 'PACKAGES', value: (row: ListedProduct) => row.packageCodes.join(', ') },
  ]
  const empty = 'No product matches. To read a catalogue: supplier sync NAME'
  const more = rows.length > limit ? '\nThere are more: add filters, or raise --limit.' : ''
  context.print(`${table(shown, columns, empty)}${more}`, { productList: shown })
}

const COUNTRIES_SHOWN = 3

function countriesText(countries: readonly string[]): string {
  const more = countries.length - COUNTRIES_SHOWN
  return countries.slice(0, COUNTRIES_SHOWN).join(' ') + (more > 0 ? ` +${more}` : '')
}
