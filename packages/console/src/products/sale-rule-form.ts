import type { SaleRule } from '@dealer-esim/gateway/products/rules/sale-rule.ts'
import { formatMoneyInput, parseMoneyInput } from '#parts/form-values.ts'

/** Bytes; suppliers count in multiples of 1024. */
const GIB = 1024 ** 3

/** A rule as it is typed, by the names of its inputs. */
export type TypedRule = Record<string, string>

/** The initial values of a new rule. */
export const NEW_RULE: TypedRule = {
  position: '100',
  currencyCode: 'USD',
  percent: '25',
  fixed: '0',
  minMargin: '0',
  rounding: '.99',
  packageType: 'BASE',
  supplierOrder: 'CHEAPEST',
  whenCostsChange: 'REPRICE',
  dayPassDaysMax: '30',
  nameTemplate: '{place} {data} {days}',
  codeTemplate: '{area}_{data}_{days}{topup}',
}

/** A saved rule as texts to edit. */
export function typedRule({ filter, ...rule }: SaleRule): TypedRule {
  const text = (value: string | number | null) => (value === null ? '' : String(value))
  const choice = (value: boolean | null) => (value === null ? '' : value ? 'ONLY' : 'NONE')
  const gibibytes = (bytes: number | null) => (bytes === null ? '' : String(bytes / GIB))
  return {
    position: text(rule.position),
    suppliers: (rule.suppliers ?? []).join(','),
    countries: (filter.countries ?? []).join(' '),
    countriesMax: text(filter.countriesMax),
    volumeMin: gibibytes(filter.volumeMin),
    volumeMax: gibibytes(filter.volumeMax),
    unlimited: choice(filter.unlimited),
    daysMin: text(filter.daysMin),
    daysMax: text(filter.daysMax),
    packageType: text(filter.packageType),
    dayPass: choice(filter.dayPass),
    name: text(filter.name),
    currencyCode: rule.currencyCode,
    percent: rule.percent,
    fixed: formatMoneyInput(rule.fixed),
    minMargin: formatMoneyInput(rule.minMargin),
    rounding: rule.rounding,
    nameTemplate: rule.nameTemplate,
    codeTemplate: rule.codeTemplate,
    supplierOrder: rule.supplierOrder,
    whenCostsChange: rule.whenCostsChange,
    dayPassDaysMax: text(rule.dayPassDaysMax),
  }
}

/**
 * The rule that was typed, or an error for each input that is not understood. The gateway checks the rest. Text that is not
 * a number is sent as typed, so that the gateway reports it.
 */
export function parseRule(typed: TypedRule): { rule: object } | { errors: Record<string, string> } {
  const errors: Record<string, string> = {}
  const number = (name: string) => {
    const text = typed[name]?.trim() ?? ''
    if (text === '') return null
    return Number.isNaN(Number(text)) ? text : Number(text)
  }
  const bytes = (name: string) => {
    const value = number(name)
    return typeof value === 'number' ? Math.round(value * GIB) : value
  }
  const money = (name: string) => {
    const parsed = parseMoneyInput(typed[name] ?? '0')
    if ('amount' in parsed) return parsed.amount
    errors[name] = parsed.error
    return 0
  }
  const choice = (name: string) => (typed[name] === 'ONLY' ? true : typed[name] === 'NONE' ? false : null)
  const words = (name: string) => {
    const list = (typed[name] ?? '').split(/[\s,]+/).filter(Boolean)
    return list.length === 0 ? null : list
  }
  const rule = {
    position: number('position') ?? undefined,
    suppliers: words('suppliers'),
    filter: {
      countries: words('countries')?.map((code) => code.toUpperCase()) ?? null,
      countriesMax: number('countriesMax'),
      volumeMin: bytes('volumeMin'),
      volumeMax: bytes('volumeMax'),
      unlimited: choice('unlimited'),
      daysMin: number('daysMin'),
      daysMax: number('daysMax'),
      packageType: typed.packageType || null,
      dayPass: choice('dayPass'),
      name: typed.name?.trim() || null,
    },
    currencyCode: (typed.currencyCode ?? '').toUpperCase(),
    percent: typed.percent?.trim() || '0',
    fixed: money('fixed'),
    minMargin: money('minMargin'),
    rounding: typed.rounding?.trim() || 'none',
    nameTemplate: typed.nameTemplate?.trim() || NEW_RULE.nameTemplate,
    codeTemplate: typed.codeTemplate?.trim() || NEW_RULE.codeTemplate,
    supplierOrder: typed.supplierOrder,
    whenCostsChange: typed.whenCostsChange,
    dayPassDaysMax: number('dayPassDaysMax') ?? undefined,
  }
  return Object.keys(errors).length > 0 ? { errors } : { rule }
}
