import { includedOf } from '#allowances.ts'
import {
  amountOf,
  decimalOf,
  entriesOf,
  fairUseOf,
  isCount,
  isCountryCode,
  isObject,
  isText,
  type JsonObject,
  roundHalfUp,
  textOf,
} from '#members.ts'
import { pageOf } from '#rest-client.ts'
import type { ListedTopUps, SupplierProduct, UnreadableEntry } from '#supplier.ts'
import { isUnreadable, readEach, topUpsIn, Unreadable } from '#unreadable-entry.ts'
import type { AiraloClient } from './client.ts'
import { bytesOf } from './decode.ts'
import { readPages } from './lists.ts'

/** The meaning of the prices in a list. */
interface Terms {
  currencyCode: string
  /** The discount on retail prices in 1/10 000 of a percent; undefined if the account has net prices. */
  discount: bigint | undefined
}

/** Packages that do not require an identity check. A top-up of several operators is listed once. */
export async function* listProducts(
  client: AiraloClient,
  currencyCode: string,
): AsyncGenerator<SupplierProduct | UnreadableEntry> {
  const seen = new Set<string>()
  let discount: bigint | undefined
  for await (const { rows, place, body } of readPages(client, '/packages', { include: 'topup' })) {
    discount = discountOf(body) ?? discount
    for (const product of readEach(rows, place, (row) => productsOf(row, { currencyCode, discount }))) {
      if (!isUnreadable(product)) {
        if (seen.has(product.productCode)) continue
        seen.add(product.productCode)
      }
      yield product
    }
  }
}

/** `{pricing: {model: "discount_pricing", discount_percentage: 20}}`, beside the list or in its `meta`. */
export function discountOf(body: JsonObject | undefined): bigint | undefined {
  const pricing = [body?.pricing, isObject(body?.meta) ? body.meta.pricing : undefined].find(isObject)
  const discount = decimalOf(pricing?.discount_percentage, 4)
  const isDiscount = typeof pricing?.model === 'string' && pricing.model.startsWith('discount')
  return isDiscount && discount !== undefined && discount >= 0n && discount <= ALL ? discount : undefined
}

/** 100 %. */
const ALL = 1_000_000n

/** Pure: the packages of a row, which is a country or a region. */
export function productsOf(row: JsonObject, terms: Terms): (SupplierProduct | Unreadable)[] {
  const name = textOf(row.slug) ?? 'without a slug'
  const operators = entriesOf(row.operators)
  if (operators === undefined) return [new Unreadable(`the row ${name} has no list of operators`)]
  return operators.flatMap((operator, place) => {
    if (isObject(operator) && operator.is_kyc_verify === true) return []
    const packages = isObject(operator) ? entriesOf(operator.packages) : undefined
    if (!isObject(operator) || packages === undefined) {
      return [new Unreadable(`operator ${place + 1} of the row ${name} has no list of packages`)]
    }
    const countries = countriesOf(row, operator)
    return packages.flatMap((one, index) => {
      const named = `package ${index + 1} of the row ${name}`
      if (!isObject(one)) return new Unreadable(`${named} is not an object`)
      if (isSold(one) && !isText(one.id)) return new Unreadable(`${named} has no id`)
      return productOf(one, { countries, fupPolicy: fairUseOf(one) ?? fairUseOf(operator) }, terms) ?? []
    })
  })
}

/** The top-ups that an eSIM accepts. @returns undefined if there is no readable list */
export async function listTopUpsOf(
  client: Pick<AiraloClient, 'get'>,
  iccid: string,
): Promise<ListedTopUps | undefined> {
  const answer = await client.get(`/sims/${encodeURIComponent(iccid)}/topups`)
  if (answer.kind === 'failed' || answer.status !== 200) return undefined
  return topUpsIn(pageOf(answer, 'data', false)?.rows, ({ id }) => [id])
}

/** False if the package is neither an eSIM nor a top-up. */
function isSold({ type }: JsonObject): boolean {
  return !isText(type) || type === 'sim' || type === 'topup'
}

/** Pure. @returns undefined if the package has no data, or is neither an eSIM nor a top-up */
function productOf(
  { id, type, title, amount, day, is_unlimited, voice, text, ...prices }: JsonObject,
  operator: Pick<SupplierProduct, 'countries' | 'fupPolicy'>,
  terms: Terms,
): SupplierProduct | Unreadable | undefined {
  if (!isSold({ type }) || !isText(id)) return undefined
  if (!isText(type)) return new Unreadable('its type is unreadable', id)
  const volume = is_unlimited === true ? null : bytesOf(amount)
  if (volume === undefined) return new Unreadable('its amount of data is unreadable', id)
  if (volume === 0n) return undefined
  if (!isCount(day) || day === 0) return new Unreadable('its number of days is unreadable', id)
  const cost = costOf(prices, terms)
  const included = includedOf({ minutes: voice, sms: text })
  if (cost === undefined) return new Unreadable(`it has no net price in ${terms.currencyCode}`, id)
  return {
    productCode: id,
    name: isText(title) ? title : id,
    packageType: type === 'sim' ? 'BASE' : 'TOPUP',
    countries: operator.countries,
    volume,
    isDayPass: false,
    durationDays: day,
    cost,
    currencyCode: terms.currencyCode,
    ...(operator.fupPolicy && { fupPolicy: operator.fupPolicy }),
    ...(included && { included }),
  }
}

/** The currency of prices that state none. */
const CURRENCY_OF_FLAT_PRICES = 'USD'

/** The cost of an order: never the retail price `price` itself. */
function costOf({ net_price, price, prices }: JsonObject, { currencyCode, discount }: Terms): bigint | undefined {
  const isFlat = currencyCode === CURRENCY_OF_FLAT_PRICES
  const byCurrency = isObject(prices) && isObject(prices.net_price) ? prices.net_price[currencyCode] : undefined
  const net = amountOf((isFlat ? net_price : undefined) ?? byCurrency)
  const retail = isFlat && discount !== undefined ? amountOf(price) : undefined
  const cost = net ?? (retail !== undefined && retail >= 0n ? roundHalfUp(retail * (ALL - discount!), ALL) : undefined)
  return cost !== undefined && cost >= 0n ? cost : undefined
}

function countriesOf(row: JsonObject, { coverages, countries }: JsonObject): string[] {
  const covered = [...(entriesOf(coverages) ?? []), ...(entriesOf(countries) ?? [])].filter(isObject)
  const codes = [row.country_code, ...covered.map(({ code, country_code, name }) => code ?? country_code ?? name)]
  return [...new Set(codes.filter(isCountryCode))]
}
