import { dateOf, iccidOf, isCount, isCountryCode, isObject, isText, type JsonObject } from '#members.ts'
import type { SupplierProduct, SupplierRecord } from '#supplier.ts'
import type { ZenditClient } from './client.ts'
import { bytesOf, moneyOf } from './decode.ts'
import { messageOf } from './outcome.ts'

/** The largest page that Zendit allows. */
const PAGE_SIZE = 1_024
/** Enough for four million rows. */
const PAGES_MAX = 4_000

/** Completed purchases, including top-ups, which Zendit's list does not distinguish. It does not show refunds either. */
export async function* listPurchases(client: ZenditClient, since: Date): AsyncGenerator<SupplierRecord> {
  const createdAt = `gte${since.toISOString().replace(/\.\d+Z$/, 'Z')}`
  for await (const row of readPages(client, '/esim/purchases', { createdAt, status: 'DONE' })) {
    const iccid = isObject(row.confirmation) ? iccidOf(row.confirmation) : undefined
    const time = dateOf(row.createdAt)
    if (row.status !== 'DONE' || !isText(row.transactionId) || iccid === undefined || time === undefined) continue
    yield { key: row.transactionId, iccid, cancelled: false, time }
  }
}

/** Offers that are enabled for the account and have a fixed price. */
export async function* listProducts(client: ZenditClient): AsyncGenerator<SupplierProduct> {
  for await (const offer of readPages(client, '/esim/offers', {})) {
    const product = productOf(offer)
    if (product !== undefined) yield product
  }
}

/** @throws if the list cannot be read to its end */
async function* readPages(
  client: ZenditClient,
  path: string,
  filter: Record<string, string>,
): AsyncGenerator<JsonObject> {
  let offset = 0
  for (let page = 1; page <= PAGES_MAX; page++) {
    const answer = await client.get(path, { _limit: String(PAGE_SIZE), _offset: String(offset), ...filter })
    const body = answer.kind === 'reply' && answer.status === 200 ? answer.body : undefined
    if (body === undefined) throw new Error(`page ${page} of the list cannot be read: ${messageOf(answer)}`)
    const { list, total } = body
    if (!Array.isArray(list) || !list.every(isObject) || !isCount(total)) {
      throw new Error(`page ${page} of the list is unreadable`)
    }
    yield* list
    offset += list.length
    if (offset >= total) return
    if (list.length === 0) throw new Error(`the list ends after ${offset} of ${total} rows`)
  }
  throw new Error(`the list has more than ${PAGES_MAX} pages`)
}

/** Pure. @returns undefined if the offer cannot be sold: disabled, without a fixed price, or unreadable */
export function productOf(offer: JsonObject): SupplierProduct | undefined {
  const { offerId, enabled, priceType, cost, country, roaming, durationDays, dataUnlimited, dataGB } = offer
  if (!isText(offerId) || enabled === false || (priceType !== undefined && priceType !== 'FIXED')) return undefined
  const price = isObject(cost) ? priceOf(cost) : undefined
  const volume = dataUnlimited === true ? null : bytesOf(dataGB)
  if (price === undefined || volume === undefined || volume === 0n || !isCount(durationDays) || durationDays === 0) {
    return undefined
  }
  const visited = Array.isArray(roaming) ? roaming.filter(isObject).map((place) => place.country) : []
  return {
    productCode: offerId,
    name: nameOf(offer, offerId),
    packageType: 'BASE',
    countries: [...new Set([country, ...visited].filter(isCountryCode))],
    volume,
    isDayPass: false,
    durationDays,
    cost: price.amount,
    currencyCode: price.currencyCode,
  }
}

/** Zendit charges the fee in addition to the fixed cost. */
function priceOf({ fixed, fee, currency, currencyDivisor }: JsonObject) {
  if (!isCount(fixed)) return undefined
  return moneyOf(fixed + (isCount(fee) ? fee : 0), currency, currencyDivisor)
}

function nameOf({ brandName, shortNotes, notes }: JsonObject, offerId: string): string {
  const text = [shortNotes, notes].find(isText)
  return [brandName, text].filter(isText).join(' ') || offerId
}
