import {
  CURRENCY_ADVICE,
  findFraction,
  isCurrency,
  NAME_LENGTH_MAX,
  PACKAGE_TYPES,
  TEXT_PATTERNS,
} from '@dealer-esim/contract'
import Type, { type Static, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { invalidField } from '#catalogue/catalogue-checks.ts'
import { isCountry } from '#catalogue/coverage.ts'
import { MalformedPercent, parsePercent } from '#catalogue/prices/percent.ts'
import { type CostPlus, MalformedRounding, parseRounding } from '#catalogue/prices/price-engine.ts'
import { CODE_DEFAULT, checkTemplate, NAME_DEFAULT } from './package-templates.ts'

const CLOSED = { additionalProperties: false } as const
const LISTED_MAX = 300
const BYTES_MAX = Number.MAX_SAFE_INTEGER
const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const list = <T extends TSchema>(schema: T) => Type.Array(schema, { minItems: 1, maxItems: LISTED_MAX })
const text = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: TEXT_PATTERNS.line.pattern })
const bytes = () => Type.Integer({ minimum: 0, maximum: BYTES_MAX, description: 'Bytes' })
const days = () => Type.Integer({ minimum: 1, maximum: 3_650 })
const money = () => Type.Integer({ minimum: 0, maximum: BYTES_MAX, description: '1/10 000 units' })

/** The products that a rule selects: all conditions must hold. null: any. */
export const productFilter = Type.Object(
  {
    countries: nullable(list(Type.String({ pattern: '^[A-Z]{2}$', description: 'It works in at least one of them' }))),
    countriesMax: nullable(Type.Integer({ minimum: 1, maximum: LISTED_MAX, description: '1: only single countries' })),
    volumeMin: nullable(bytes()),
    volumeMax: nullable(bytes()),
    unlimited: nullable(Type.Boolean({ description: 'Only unlimited products, or none of them' })),
    daysMin: nullable(days()),
    daysMax: nullable(days()),
    packageType: nullable(Type.Enum(PACKAGE_TYPES)),
    dayPass: nullable(Type.Boolean({ description: 'Only day passes, or none of them' })),
    name: nullable(text(100)), // part of the product's name or code
  },
  CLOSED,
)

/** A sale rule as operators edit it: the products that it makes into packages, and their prices. */
export const saleRule = Type.Object(
  {
    position: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: 'The first rule that selects a product takes it',
    }),
    suppliers: nullable(list(text(NAME_LENGTH_MAX))),
    filter: productFilter,
    currencyCode: Type.String({ pattern: TEXT_PATTERNS.currencyCode.pattern, description: 'Of the prices' }),
    percent: Type.String({ maxLength: 40, description: 'Added to the cost, such as 25' }),
    fixed: money(),
    minMargin: money(),
    rounding: Type.String({ maxLength: 100, description: 'none, .99, .49/.99, or a step such as 0.05' }),
    nameTemplate: text(200),
    codeTemplate: text(100),
    supplierOrder: Type.Enum(['CHEAPEST', 'FIXED'], { description: 'FIXED: in the order of suppliers' }),
    whenCostsChange: Type.Enum(['REPRICE', 'OFF_SALE'], {
      description: 'REPRICE: the price follows. OFF_SALE: it stays; without the margin the package goes off sale',
    }),
    dayPassDaysMax: Type.Integer({ minimum: 1, maximum: 365, description: 'The most days of a day pass in one order' }),
  },
  CLOSED,
)
export type SaleRule = Static<typeof saleRule>
export type ProductFilter = Static<typeof productFilter>

/** A rule as typed: absent members keep their value, or get the default in a new rule. */
export const saleRuleInput = Type.Partial(
  Type.Object({ ...saleRule.properties, filter: Type.Partial(productFilter, CLOSED) }, CLOSED),
  CLOSED,
)
export type SaleRuleInput = Static<typeof saleRuleInput>

/** A rule with its name, and its price in the form used for calculation. */
export interface ParsedRule extends SaleRule {
  readonly ruleName: string
  readonly costPlus: CostPlus
}

const DEFAULTS: Omit<SaleRule, 'currencyCode'> = {
  position: 100,
  suppliers: null,
  filter: {
    ...{ countries: null, countriesMax: null, volumeMin: null, volumeMax: null, unlimited: null },
    ...{ daysMin: null, daysMax: null, packageType: 'BASE', dayPass: null, name: null },
  },
  percent: '0',
  fixed: 0,
  minMargin: 0,
  rounding: 'none',
  nameTemplate: NAME_DEFAULT,
  codeTemplate: CODE_DEFAULT,
  supplierOrder: 'CHEAPEST',
  whenCostsChange: 'OFF_SALE',
  dayPassDaysMax: 30,
}

/** @throws Refusal with what to do about the first fault */
export function mergeRule(before: SaleRule | undefined, input: SaleRuleInput): SaleRule {
  const base = before ?? DEFAULTS
  const rule = { ...base, ...present(input), filter: { ...base.filter, ...present(input.filter ?? {}) } }
  const [fault] = [...Value.Errors(saleRule, rule)]
  if (fault !== undefined) {
    const field = fault.instancePath.slice(1).replaceAll('/', '.') || 'currencyCode'
    throw invalidField(field, `${field} ${fault.instancePath === '' ? 'is required: add it' : fault.message}.`)
  }
  const valid = rule as SaleRule
  checkMeaning(valid)
  return valid
}

function present<Value extends object>(value: Value): Partial<Value> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Partial<Value>
}

function checkMeaning(rule: SaleRule): void {
  if (!isCurrency(rule.currencyCode)) throw invalidField('currencyCode', CURRENCY_ADVICE)
  for (const field of ['fixed', 'minMargin'] as const) {
    const fraction = findFraction(rule[field], rule.currencyCode)
    if (fraction !== undefined) throw invalidField(field, fraction)
  }
  costPlusOf(rule)
  const { filter, supplierOrder, suppliers } = rule
  const unknown = filter.countries?.find((code) => !isCountry(code))
  if (unknown !== undefined)
    throw invalidField('filter.countries', `${unknown} is not an ISO 3166-1 alpha-2 country code.`)
  if ((filter.volumeMin ?? 0) > (filter.volumeMax ?? BYTES_MAX)) {
    throw invalidField('filter.volumeMax', 'volumeMax is less than volumeMin: swap the two.')
  }
  if ((filter.daysMin ?? 0) > (filter.daysMax ?? BYTES_MAX)) {
    throw invalidField('filter.daysMax', 'daysMax is less than daysMin: swap the two.')
  }
  if (supplierOrder === 'FIXED' && suppliers === null) {
    throw invalidField('suppliers', 'A fixed order needs a list of suppliers in that order.')
  }
  if (suppliers !== null && new Set(suppliers).size < suppliers.length) {
    throw invalidField('suppliers', 'A supplier is listed twice: remove one.')
  }
  checkTemplate('nameTemplate', rule.nameTemplate)
  checkTemplate('codeTemplate', rule.codeTemplate)
}

function costPlusOf({ percent, fixed, minMargin, rounding }: SaleRule): CostPlus {
  return {
    percent: parsed('percent', parseMarkup, percent),
    fixed: BigInt(fixed),
    minMargin: BigInt(minMargin),
    rounding: parsed('rounding', parseRounding, rounding),
  }
}

function parseMarkup(value: string): bigint {
  const percent = parsePercent(value)
  if (percent < 0n) throw new MalformedPercent('The percentage is added to the cost, so it must be 0 or more.')
  return percent
}

function parsed<Result>(field: string, parse: (value: string) => Result, value: string): Result {
  try {
    return parse(value)
  } catch (error) {
    if (error instanceof MalformedPercent || error instanceof MalformedRounding)
      throw invalidField(field, error.message)
    throw error
  }
}

export function parseRule(ruleName: string, rule: SaleRule): ParsedRule {
  return { ...rule, ruleName, costPlus: costPlusOf(rule) }
}
