import Type, { type Static } from 'typebox'
import { invalidField } from '#catalogue/catalogue-checks.ts'
import { MalformedPercent, parsePercent } from '#catalogue/prices/percent.ts'
import type { RuleKey, RuleValue } from '#catalogue/prices/price-plans.ts'
import { CLOSED, line, money, nullable, time, toDate } from '../kernel/route-schemas.ts'

const PERCENT_BASES = ['LIST', 'COST'] as const

/** A rule of a price plan, for display. */
export const rule = Type.Object({
  packageCode: nullable(Type.String({ description: 'All three null: every package' })),
  locationCode: nullable(
    Type.String({ description: 'Packages of this country alone, of regions (!RG), or global (!GL)' }),
  ),
  supplier: nullable(Type.String({ description: 'Packages whose first supplier this is' })),
  percent: nullable(
    Type.String({ description: 'Of the list price: -10 is ten percent less. Of the cost: added to it' }),
  ),
  basis: Type.Enum(PERCENT_BASES, { description: 'What the percentage is of' }),
  rounding: Type.String({ description: 'none, .99, .49/.99, or a step such as 0.05' }),
  price: nullable(money()),
  currencyCode: nullable(Type.String()),
  validFrom: nullable(Type.String({ format: 'date-time', description: 'null: always' })),
  validUntil: nullable(Type.String({ format: 'date-time', description: 'Exclusive. null: for ever' })),
})
export type PlanRule = Static<typeof rule>

/** Members that identify the packages of a rule, and when it begins. */
export const ruleKey = {
  packageCode: Type.Optional(
    Type.String({ maxLength: 64, description: 'Every package if none of the three is given' }),
  ),
  locationCode: Type.Optional(Type.String({ maxLength: 3 })),
  supplier: Type.Optional(line(64)),
  validFrom: Type.Optional(time()),
}

export const ruleBody = Type.Object(
  {
    ...ruleKey,
    percent: Type.Optional(Type.String({ maxLength: 40 })),
    basis: Type.Optional(Type.Enum(PERCENT_BASES, { description: 'Default: LIST' })),
    rounding: Type.Optional(
      Type.String({ maxLength: 100, description: 'How prices from the percentage are rounded. Default: none' }),
    ),
    price: Type.Optional(money()),
    currencyCode: Type.Optional(Type.String({ maxLength: 40 })),
    validUntil: Type.Optional(time()),
  },
  CLOSED,
)
export type RuleBody = Static<typeof ruleBody>

export function ruleKeyOf(
  planName: string,
  { packageCode, locationCode, supplier, validFrom }: Pick<RuleBody, keyof typeof ruleKey>,
): RuleKey {
  return {
    planName,
    packageCode: packageCode || null,
    locationCode: locationCode || null,
    supplier: supplier || null,
    validFrom: toDate(validFrom),
  }
}

/** @throws Refusal unless there is either a percentage or a price with its currency */
export function ruleValueOf({ percent, basis, rounding, price, currencyCode, validUntil }: RuleBody): RuleValue {
  const until = { validUntil: toDate(validUntil) }
  if (percent !== undefined && price === undefined && currencyCode === undefined) {
    return { percent: percentOf(percent), basis, rounding, ...until }
  }
  if (percent === undefined && price !== undefined && currencyCode !== undefined)
    return { price: BigInt(price), currencyCode, ...until }
  throw invalidField('percent', 'Set either a percentage, or a price with its currency.')
}

function percentOf(text: string): bigint {
  try {
    return parsePercent(text)
  } catch (error) {
    if (error instanceof MalformedPercent) throw invalidField('percent', error.message)
    throw error
  }
}
