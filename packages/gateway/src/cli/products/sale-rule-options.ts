import { type Command, InvalidArgumentError } from 'commander'
import type { ProductFilter, SaleRuleInput } from '#products/rules/sale-rule.ts'
import { parseWholeNumber } from '../kernel/parse-options.ts'
import { amount, currency } from '../prices/price-options.ts'

type Filter = Partial<ProductFilter>

/** Parsed options: the value of each option consists of the corresponding rule members. */
export type RuleOptions = Record<string, SaleRuleInput>

/** Options of `rule set`. Each is parsed into the corresponding rule members. */
export function withRuleOptions(command: Command): Command {
  return command
    .option(
      '--position <n>',
      'if several rules select a product, the one with the lowest position applies',
      (value) => ({
        position: parseWholeNumber(value, '--position'),
      }),
    )
    .option('--suppliers <names>', 'only of these, such as a,b; with --order fixed in this order', (value) => ({
      suppliers: value === ANY ? null : names(value),
    }))
    .option('--countries <codes>', 'that work in one of these, such as JP,KR', filtering(countries))
    .option(
      '--countries-max <n>',
      'that cover at most this many countries; 1: single countries',
      filtering(countriesMax),
    )
    .option(
      '--data <range>',
      'such as 1GB-10GB, 500MB-any or unlimited; a size counts in powers of 1000 and 1024',
      filtering(data),
    )
    .option('--days <range>', 'such as 1-30', filtering(days))
    .option('--type <type>', 'BASE or TOPUP', filtering(packageType))
    .option('--day-passes <which>', 'only, none or any', filtering(dayPass))
    .option(
      '--name <text>',
      'part of the name or code',
      filtering((value) => ({ name: value === ANY ? null : value })),
    )
    .option('--currency <code>', 'of the prices', (value) => ({ currencyCode: currency(value) }))
    .option('--percent <n>', 'added to the cost, such as 25', (value) => ({ percent: value.replace(/%$/, '') }))
    .option('--fixed <amount>', 'added after the percentage', (value) => ({ fixed: Number(amount(value)) }))
    .option('--min-margin <amount>', 'the smallest margin of a price over the cost', (value) => ({
      minMargin: Number(amount(value)),
    }))
    .option('--round <rounding>', 'up to .99, .49/.99, .00, a step such as 0.05, or none', (value) => ({
      rounding: value,
    }))
    .option('--name-template <text>', 'such as "{place} {data} {days}"', (value) => ({ nameTemplate: value }))
    .option('--code-template <text>', 'such as {area}_{data}_{days}{topup}', (value) => ({ codeTemplate: value }))
    .option('--order <order>', 'of the suppliers of a package: cheapest or fixed', (value) => ({
      supplierOrder: oneOf(value, ORDERS, 'cheapest or fixed'),
    }))
    .option(
      '--when-costs-change <what>',
      'reprice, or off-sale: keep the price, and go off sale without the margin',
      (value) => ({
        whenCostsChange: oneOf(value, COST_CHANGES, 'reprice or off-sale'),
      }),
    )
    .option('--day-pass-days <n>', 'the most days of a day pass in one order', (value) => ({
      dayPassDaysMax: parseWholeNumber(value, '--day-pass-days'),
    }))
}

/** All members that the options give. */
export function ruleOf(options: RuleOptions): SaleRuleInput {
  const inputs = Object.values(options)
  const filter = Object.assign({}, ...inputs.map((input) => input.filter)) as Filter
  return { ...Object.assign({}, ...inputs), ...(Object.keys(filter).length > 0 ? { filter } : {}) } as SaleRuleInput
}

const ANY = 'any'
const ORDERS = { cheapest: 'CHEAPEST', fixed: 'FIXED' } as const
const COST_CHANGES = { reprice: 'REPRICE', 'off-sale': 'OFF_SALE' } as const

function filtering(parse: (value: string) => Filter): (value: string) => SaleRuleInput {
  return (value) => ({ filter: parse(value) })
}

function oneOf<Value>(text: string, known: Readonly<Record<string, Value>>, advice: string): Value {
  if (!Object.hasOwn(known, text)) throw new InvalidArgumentError(`Give ${advice}.`)
  return known[text]!
}

function names(value: string): string[] {
  return value.split(',').map((name) => name.trim())
}

function countries(value: string): Filter {
  return { countries: value === ANY ? null : names(value.toUpperCase()) }
}

function countriesMax(value: string): Filter {
  return { countriesMax: value === ANY ? null : parseWholeNumber(value, '--countries-max') }
}

/** Suppliers count a gigabyte as 10^9 or 2^30 bytes, so the range includes both. */
function data(value: string): Filter {
  if (value === ANY) return { volumeMin: null, volumeMax: null, unlimited: null }
  if (value === 'unlimited') return { volumeMin: null, volumeMax: null, unlimited: true }
  const hyphen = value.indexOf('-', 1)
  const [from, to] = [value.slice(0, hyphen), value.slice(hyphen + 1)]
  if (hyphen < 0 || to === '' || /\s/.test(value))
    throw new InvalidArgumentError('Use a range such as 1GB-10GB, or unlimited.')
  return {
    volumeMin: from === ANY ? null : bytesOf(from, 1000),
    volumeMax: to === ANY ? null : bytesOf(to, 1024),
    unlimited: to === ANY ? null : false,
  }
}

const POWERS: Readonly<Record<string, number>> = { KB: 1, MB: 2, GB: 3, TB: 4 }

function bytesOf(text: string, base: number): number {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)([KMGT]B)$/i.exec(text) ?? []
  const bytes = Number(digits) * base ** (POWERS[unit.toUpperCase()] ?? Number.NaN)
  if (!Number.isSafeInteger(bytes)) throw new InvalidArgumentError('Use sizes such as 500MB or 3GB.')
  return bytes
}

function days(value: string): Filter {
  if (value === ANY) return { daysMin: null, daysMax: null }
  const [, min, max] = /^(\d{1,4})-(\d{1,4}|any)$/.exec(value) ?? []
  if (min === undefined) throw new InvalidArgumentError('Use a range of days such as 1-30 or 7-any.')
  return { daysMin: Number(min), daysMax: max === ANY ? null : Number(max) }
}

function packageType(value: string): Filter {
  return { packageType: oneOf(value.toUpperCase(), { BASE: 'BASE', TOPUP: 'TOPUP', ANY: null }, 'BASE, TOPUP or any') }
}

function dayPass(value: string): Filter {
  return { dayPass: oneOf(value, { only: true, none: false, any: null }, 'only, none or any') }
}
