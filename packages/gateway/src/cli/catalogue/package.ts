import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { readVolume } from '#catalogue/files/csv-cells.ts'
import { exportedForm } from '#catalogue/files/export-packages.ts'
import type { PackageInput } from '#catalogue/packages/merge-packages.ts'
import { isFewBytes } from '#catalogue/packages/package-difference.ts'
import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import {
  findDocuments,
  findLackingMoney,
  listDocumentBatches,
  listUnknownSuppliers,
  type PackageFilter,
} from '#catalogue/packages/read-packages.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseWholeNumber } from '../kernel/parse-options.ts'
import { amount } from '../prices/price-options.ts'
import { type FilterOptions, packageFileCommands, packageFilter, withFilterOptions } from './package-files.ts'
import { packageTable, packageText, unknownSupplierText } from './package-text.ts'

export function packageCommands(noun: Command, context: AdminContext): void {
  list(noun, context)
  set(noun, context)
  onSale(noun, context)
  packageFileCommands(noun, context)
}

const LISTED_DEFAULT = 50

function list(noun: Command, context: AdminContext): void {
  withFilterOptions(noun.command('list'))
    .description('List packages in the order of their codes, whether on sale or not.')
    .option('--limit <n>', 'how many at most', (value) => parseWholeNumber(value, '--limit'), LISTED_DEFAULT)
    .action((options: FilterOptions & { limit: number }) =>
      context.withDeps(async (deps) => {
        const { packages, more } = await firstOf(
          listDocumentBatches(deps.db, packageFilter([], options)),
          options.limit,
        )
        const hint = more ? `\nThere are more: add filters, or raise --limit.` : ''
        const codes = packages.map(({ packageCode }) => packageCode)
        const lacking = await findLackingMoney(deps.db, codes)
        context.print(`${packageTable(packages, lacking)}${hint}`, packages.map(exportedForm))
      }),
    )
  noun
    .command('show <package-code>')
    .description('Show a package with its prices and suppliers.')
    .action((packageCode: string) =>
      context.withDeps(async (deps) => {
        const found = (await findDocuments(deps.db, [packageCode])).get(packageCode)
        if (!found) throw notFound('package', packageCode)
        const lacking = await findLackingMoney(deps.db, [packageCode])
        context.print(packageText(found, lacking.has(packageCode)), exportedForm(found))
      }),
    )
}

async function firstOf<Item>(batches: AsyncIterable<Item[]>, limit: number) {
  const packages: Item[] = []
  for await (const batch of batches) {
    packages.push(...batch)
    if (packages.length > limit) return { packages: packages.slice(0, limit), more: true }
  }
  return { packages, more: false }
}

/** Options of `set` whose text becomes the value of the member unchanged. */
const TEXTS = [
  ...(['slug', 'name', 'description', 'status', 'dataType', 'activationPolicy', 'speed', 'fupPolicy'] as const),
  ...(['packageType', 'productFamily'] as const),
] as const

interface SetOptions extends Partial<Record<(typeof TEXTS)[number], string>> {
  volume?: number
  days?: number
  period?: { min: number | null; max: number | null }
  cancellable?: boolean
  cancelWithin?: number | null
  cancelFee?: number
  unusedValidTime?: number
  sms?: number
  ekyc?: boolean
  allowLoss?: boolean
  locations?: string[]
  price?: bigint
  retailPrice?: bigint
  currency?: string
  supplier?: Record<string, unknown>[]
}

function set(noun: Command, context: AdminContext): void {
  noun
    .command('set <package-code>')
    .description('Add a package, or change the given members of one. “none” clears a text.')
    .option('--name <text>')
    .option('--slug <text>')
    .option('--description <text>')
    .option('--status <status>', 'ON_SALE or OFF_SALE')
    .option('--data-type <type>', 'TOTAL, DAILY or UNLIMITED')
    .option('--volume <size>', 'in bytes, or such as 500MB or 3GB (powers of 1024); per day if DAILY', volume)
    .option('--days <n>', 'how long it lasts from activation', wholeNumber('--days'))
    .option('--unused-valid-time <days>', 'days within which it must first be used', wholeNumber('--unused-valid-time'))
    .option('--activation-policy <policy>', 'ON_INSTALL, ON_FIRST_NETWORK or ON_PURCHASE')
    .option('--locations <codes>', 'countries such as JP,KR; add !RG for a region, !GL for the world', codes)
    .option('--speed <text>')
    .option('--fup-policy <text>')
    .option('--package-type <type>', 'BASE, or TOPUP to add to an eSIM')
    .option('--product-family <name>', 'a top-up fits only packages of the same family')
    .option('--period <min-max>', 'days of a day pass, such as 1-30, or none; needs --days 1', period)
    .option('--cancellable', 'the dealer may cancel an unused eSIM')
    .option('--no-cancellable')
    .option('--cancel-within <days>', 'in which it may be cancelled, or none', cancelWithin)
    .option('--cancel-fee <percent>', 'of the price, not refunded', wholeNumber('--cancel-fee'))
    .option('--sms <status>', '0: none, 1: by phone and API, 2: by API', wholeNumber('--sms'))
    .option('--ekyc', 'the traveller must verify their identity')
    .option('--no-ekyc')
    .option('--allow-loss', 'buy from a supplier even if it costs more than the price')
    .option('--no-allow-loss')
    .option('--price <amount>', 'list price of one eSIM, such as 4.50; needs --currency', amount)
    .option('--retail-price <amount>', 'recommended to the traveller; needs --currency', amount)
    .option('--currency <code>', 'of the prices (ISO 4217)')
    .option('--supplier <name:product[:cost:currency]>', 'replaces all; repeat it for the next to try', supplier)
    .addHelpText('after', SET_EXAMPLE)
    .action((packageCode: string, options: SetOptions) =>
      context.withDeps(async (deps) => {
        await putPackages(deps, [inputOf(packageCode, options)], context.by)
        const now = (await findDocuments(deps.db, [packageCode])).get(packageCode)!
        const lacking = await findLackingMoney(deps.db, [packageCode])
        context.print(packageText(now, lacking.has(packageCode)), exportedForm(now))
        const named = now.suppliers.map(({ supplier: name }) => name)
        for (const name of await listUnknownSuppliers(deps.db, named)) context.progress(unknownSupplierText(name))
      }),
    )
}

const SET_EXAMPLE = `
Example:
  npm run -s admin -- package set JP_1_7 --name "Japan, 1 GB, 7 days" --data-type TOTAL --volume 1GB --days 7 \\
    --locations JP --price 4.50 --currency USD --supplier stock:JP-1GB:2.70:USD`

function inputOf(packageCode: string, options: SetOptions): PackageInput {
  const { volume, days, unusedValidTime, sms, ekyc, allowLoss, locations, supplier: suppliers } = options
  const { price, retailPrice, currency } = options
  const texts = TEXTS.flatMap((member) => {
    const value = options[member]
    return value === undefined ? [] : [[member, value === 'none' ? null : value]]
  })
  const policy = { cancellable: options.cancellable, withinDays: options.cancelWithin, feePercent: options.cancelFee }
  const hasPolicy = Object.values(policy).some((value) => value !== undefined)
  const members = {
    ...{ periodNumMin: options.period?.min, periodNumMax: options.period?.max },
    cancelPolicy: hasPolicy ? policy : undefined,
    ...{ packageCode, volume, duration: days, unusedValidTime, smsStatus: sms, ekycRequired: ekyc, allowLoss },
    ...{ locationCodes: locations, suppliers, currencyCode: currency },
    price: price === undefined ? undefined : Number(price),
    retailPrice: retailPrice === undefined ? undefined : Number(retailPrice),
    ...(options.dataType === 'UNLIMITED' ? { volume: null } : {}),
    ...Object.fromEntries(texts),
  }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

function onSale(noun: Command, context: AdminContext): void {
  for (const [name, status, on] of [
    ['on-sale', 'ON_SALE', true],
    ['off-sale', 'OFF_SALE', false],
  ] as const) {
    withFilterOptions(noun.command(`${name} [package-codes...]`))
      .description(`Put packages ${on ? 'on' : 'off'} sale: the given ones, or all that match the filters.`)
      .option('--all', 'every package')
      .action((packageCodes: string[], options: FilterOptions & { all?: boolean }) =>
        context.withDeps(async (deps) => {
          const filter = packageFilter(packageCodes, options)
          checkFilter(filter, options.all === true)
          if (packageCodes.length > 0) await checkPackagesExist(deps.db, packageCodes)
          const changed = await setOnSale(deps, filter, on, context.by)
          const message = `${changed.length} ${changed.length === 1 ? 'package is' : 'packages are'} now ${status}.`
          context.print(changed.length === 0 ? 'Nothing had to be changed.' : message, {
            status,
            packageCodes: changed,
          })
        }),
      )
  }
}

function checkFilter(filter: PackageFilter, all: boolean): void {
  if (all || Object.values(filter).some((value) => value !== undefined)) return
  throw new UsageError('Specify package codes, filters, or --all.')
}

async function checkPackagesExist(db: Db, packageCodes: readonly string[]): Promise<void> {
  const known = await findDocuments(db, packageCodes)
  const unknown = packageCodes.filter((code) => !known.has(code))
  if (unknown.length > 0) throw notFound('package', unknown[0]!)
}

/** The catalogue checks the range. */
function wholeNumber(option: string): (value: string) => number {
  return (value) => parseWholeNumber(value, option, { min: 0 })
}

function volume(value: string): number {
  const bytes = readVolume(value)
  if (typeof bytes === 'string') throw new InvalidArgumentError(bytes)
  if (isFewBytes(bytes)) throw new InvalidArgumentError(`This means ${bytes} bytes. Use ${bytes}GB or ${bytes}MB.`)
  return bytes
}

function codes(value: string): string[] {
  return value
    .toUpperCase()
    .split(/[\s,]+/)
    .filter(Boolean)
}

function supplier(value: string, before: Record<string, unknown>[] = []): Record<string, unknown>[] {
  const parts = value.split(':')
  if (parts.length !== 2 && parts.length !== 4)
    throw new InvalidArgumentError('Use name:product or name:product:cost:currency.')
  const [name, productCode, cost, costCurrency = null] = parts
  const costPrice = cost === undefined ? null : Number(amount(cost))
  return [...before, { supplier: name, productCode, costPrice, costCurrency }]
}

function period(value: string): { min: number | null; max: number | null } {
  if (value === 'none') return { min: null, max: null }
  const [, min, max] = /^(\d{1,3})-(\d{1,3})$/.exec(value) ?? []
  if (min === undefined)
    throw new InvalidArgumentError('Use the minimum and the maximum number of days, such as 1-30, or none.')
  return { min: Number(min), max: Number(max) }
}

function cancelWithin(value: string): number | null {
  return value === 'none' ? null : wholeNumber('--cancel-within')(value)
}
