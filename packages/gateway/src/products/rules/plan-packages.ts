import { REGIONAL } from '@dealer-esim/contract'
import { isCountry } from '#catalogue/coverage.ts'
import type { PackageInput } from '#catalogue/packages/merge-packages.ts'
import { type PackageDocument, SUPPLIERS_MAX } from '#catalogue/packages/package-document.ts'
import { convertCost, priceFromCost, roundingIn } from '#catalogue/prices/price-engine.ts'
import { codeOf, isRegion, nameOf, type OfferedProduct, sizeOf } from './package-templates.ts'
import type { ParsedRule, ProductFilter } from './sale-rule.ts'

/** A package as made by a rule from the products of one or more suppliers. */
export interface PlannedPackage {
  readonly packageCode: string
  readonly ruleName: string
  /** The members of the package that the rule decides. */
  readonly input: PackageInput
  /** Calls and SMS that are included with every supplier; undefined: none are known. */
  readonly included: string | undefined
  /** In the order of trying the suppliers. */
  readonly suppliers: PackageDocument['suppliers']
  readonly currencyCode: string
  readonly price: bigint
  /** The cost at the supplier that is tried first, in the currency of the price. */
  readonly cost: bigint
}

/** Why a selected product is not sold. */
export type SkipReason =
  /** There is no rate from the currency of the cost to the currency of the price. */
  | 'NO_RATE'
  /** It lists no known country. */
  | 'NO_COUNTRY'
  /** It costs nothing, which is more often a mistake than intended. */
  | 'NO_COST'
  /** The price exceeds the maximum amount. */
  | 'PRICE_TOO_HIGH'

export interface PackagePlan {
  readonly packages: ReadonlyMap<string, PlannedPackage>
  /** Codes that are left out, each with a reason that says how to fix it. */
  readonly blocked: ReadonlyMap<string, string>
  readonly skipped: Readonly<Record<SkipReason, number>>
  /** Products not selected by any rule. */
  readonly unselected: number
}

/** Rates in 1/1 000 000 by `rateKey`. */
export type Rates = ReadonlyMap<string, bigint>

export function rateKey(costCurrency: string, saleCurrency: string): string {
  return `${costCurrency} ${saleCurrency}`
}

/** A product selected by a rule. */
interface Candidate extends OfferedProduct {
  rule: ParsedRule
  /** In the currency of the price. */
  converted: bigint
}

/**
 * Makes packages from products. Pure: the same rules, products and rates give the same packages. A product belongs to the
 * first rule that selects it; products with the same code form one package, and are tried in the rule's order.
 * @param rules in the order of their positions
 */
export function planPackages(
  rules: readonly ParsedRule[],
  products: readonly OfferedProduct[],
  rates: Rates,
): PackagePlan {
  const skipped: Record<SkipReason, number> = { NO_RATE: 0, NO_COUNTRY: 0, NO_COST: 0, PRICE_TOO_HIGH: 0 }
  const byCode = new Map<string, Candidate[]>()
  let unselected = 0
  for (const listed of products) {
    const product = { ...listed, countries: listed.countries.filter((code) => isCountry(code) || isRegion(code)) }
    const rule = rules.find((one) => selects(one, product))
    if (rule === undefined) {
      unselected++
      continue
    }
    const candidate = candidateOf(rule, product, rates)
    if (typeof candidate === 'string') skipped[candidate]++
    else {
      const code = codeOf(rule.codeTemplate, product)
      const others = byCode.get(code)
      if (others) others.push(candidate)
      else byCode.set(code, [candidate])
    }
  }
  const packages = new Map<string, PlannedPackage>()
  const blocked = new Map<string, string>()
  for (const [code, candidates] of byCode) {
    const made = packageOf(code, candidates)
    if (made === 'PRICE_TOO_HIGH') skipped.PRICE_TOO_HIGH += candidates.length
    else if (typeof made === 'string') blocked.set(code, made)
    else packages.set(code, made)
  }
  return { packages, blocked, skipped, unselected }
}

function selects({ suppliers, filter }: ParsedRule, product: OfferedProduct): boolean {
  return (suppliers === null || suppliers.includes(product.supplier)) && matches(filter, product)
}

function matches(filter: ProductFilter, { volume, countries, durationDays, ...product }: OfferedProduct): boolean {
  const { volumeMin, volumeMax, daysMin, daysMax, unlimited, packageType, dayPass, name } = filter
  return (
    (filter.countries === null || countries.some((code) => filter.countries!.includes(code))) &&
    // A region can have any number of countries.
    (filter.countriesMax === null || (countries.length <= filter.countriesMax && !countries.some(isRegion))) &&
    // An unlimited volume exceeds every minimum and every maximum.
    (volumeMin === null || volume === null || volume >= BigInt(volumeMin)) &&
    (volumeMax === null || (volume !== null && volume <= BigInt(volumeMax))) &&
    (unlimited === null || (volume === null) === unlimited) &&
    (daysMin === null || durationDays >= daysMin) &&
    (daysMax === null || durationDays <= daysMax) &&
    (packageType === null || product.packageType === packageType) &&
    (dayPass === null || product.isDayPass === dayPass) &&
    (name === null || `${product.name}\n${product.productCode}`.toLowerCase().includes(name.toLowerCase()))
  )
}

function candidateOf(rule: ParsedRule, product: OfferedProduct, rates: Rates): Candidate | SkipReason {
  if (product.countries.length === 0) return 'NO_COUNTRY'
  if (product.cost === 0n) return 'NO_COST'
  const { cost, currencyCode } = product
  if (currencyCode === rule.currencyCode) return { ...product, rule, converted: cost }
  const rate = rates.get(rateKey(currencyCode, rule.currencyCode))
  return rate === undefined ? 'NO_RATE' : { ...product, rule, converted: convertCost(cost, rate) }
}

/** @returns a text that says why the code is blocked */
function packageOf(packageCode: string, candidates: readonly Candidate[]): PlannedPackage | 'PRICE_TOO_HIGH' | string {
  const [first] = candidates
  const { rule } = first!
  const other = candidates.find((one) => one.rule !== rule)
  if (other)
    return `The rules ${rule.ruleName} and ${other.rule.ruleName} both produce this code: change the code template of one of them.`
  const different = candidates.find((one) => kindOf(one) !== kindOf(first!))
  if (different) {
    const pair = [first!, different].map(({ supplier, productCode }) => `${supplier}/${productCode}`).join(' and ')
    return `${pair} differ in coverage, data, days or kind, but get the same code: add {area}, {data} or {days} to the code template.`
  }
  const routes = routesOf(rule, candidates)
  const [preferred] = routes
  const price = priceFromCost(preferred!.converted, {
    ...rule.costPlus,
    rounding: roundingIn(rule.costPlus.rounding, rule.currencyCode),
  })
  if (price === undefined) return 'PRICE_TOO_HIGH'
  const suppliers = routes.map(({ supplier, productCode, cost, currencyCode }) => ({
    ...{ supplier, productCode, costPrice: Number(cost), costCurrency: currencyCode },
  }))
  const input = { ...membersOf(rule, preferred!, routes), packageCode, suppliers, prices: [priceOf(rule, price)] }
  const { ruleName, currencyCode } = rule
  const included = includedInAll(routes)
  return { packageCode, ruleName, input, included, suppliers, currencyCode, price, cost: preferred!.converted }
}

function priceOf({ currencyCode }: ParsedRule, price: bigint) {
  return { currencyCode, price: Number(price) }
}

/** A key that is equal for products that are equivalent to a traveller. */
function kindOf({ packageType, countries, volume, isDayPass, durationDays }: OfferedProduct): string {
  const size = volume === null ? 'unlimited' : sizeOf(volume)
  return [packageType, countries.join(), size, isDayPass, durationDays].join(' ')
}

/** The cheapest product of each supplier, in the order in which suppliers are tried. Equal input gives the same order. */
function routesOf({ supplierOrder, suppliers }: ParsedRule, candidates: readonly Candidate[]): Candidate[] {
  const cheapest = new Map<string, Candidate>()
  const sorted = [...candidates].sort(
    (a, b) =>
      compare(a.converted, b.converted) || compare(a.supplier, b.supplier) || compare(a.productCode, b.productCode),
  )
  for (const one of sorted) if (!cheapest.has(one.supplier)) cheapest.set(one.supplier, one)
  const routes = [...cheapest.values()]
  if (supplierOrder === 'FIXED') {
    const placeOf = ({ supplier }: Candidate) => suppliers!.indexOf(supplier)
    routes.sort((a, b) => placeOf(a) - placeOf(b))
  }
  return routes.slice(0, SUPPLIERS_MAX)
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The members of the package. Its volume is the smallest of all routes, so that travellers are never promised too much. */
function membersOf(rule: ParsedRule, product: Candidate, routes: readonly Candidate[]): PackageInput {
  const { packageType, countries, isDayPass, durationDays } = product
  const volumes = routes.map((route) => route.volume).filter((bytes) => bytes !== null)
  const volume = volumes.sort(compare)[0] ?? null
  // The conditions of any of the suppliers may apply.
  const fupPolicy = routes.map((route) => route.fupPolicy).find(Boolean)
  const included = includedInAll(routes)
  // A day pass needs a volume, so an unlimited product is sold for its single day.
  const isPass = isDayPass && volume !== null
  return {
    name: nameOf(rule.nameTemplate, product),
    packageType,
    dataType: volume === null ? 'UNLIMITED' : isPass ? 'DAILY' : 'TOTAL',
    volume: volume === null ? null : Number(volume),
    duration: isPass ? 1 : durationDays,
    periodNumMin: isPass ? 1 : null,
    periodNumMax: isPass ? rule.dayPassDaysMax : null,
    // With !GL it would be offered in every country.
    locationCodes: countries.some(isRegion) ? [REGIONAL] : countries,
    ...(fupPolicy && { fupPolicy }),
    ...(included?.includes('SMS') && { smsStatus: 1 }),
  }
}

/** Another supplier may deliver, so only what all of them include is promised. */
function includedInAll(routes: readonly Candidate[]): string | undefined {
  const [first] = routes
  return routes.every(({ included }) => included === first?.included) ? (first?.included ?? undefined) : undefined
}
