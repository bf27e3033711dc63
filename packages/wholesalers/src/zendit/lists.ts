import { includedOf, UNLIMITED } from '#allowances.ts'
import {
  dateOf,
  decimalOf,
  entriesOf,
  fairUseOf,
  iccidOf,
  isCount,
  isCountryCode,
  isObject,
  isText,
  type JsonObject,
  roundHalfUp,
} from '#members.ts'
import { pageOf } from '#rest-client.ts'
import type { Charge, SupplierProduct, SupplierRecord, UnreadableEntry } from '#supplier.ts'
import { readEach, Unreadable } from '#unreadable-entry.ts'
import type { ZenditClient } from './client.ts'
import { bytesOf, MINOR_PLACES, scaled } from './decode.ts'
import { messageOf } from './outcome.ts'

/** The largest page that Zendit allows. */
const PAGE_SIZE = 1_024
/** Enough for four million rows. */
const PAGES_MAX = 4_000

/** Completed purchases, including top-ups, which Zendit's list does not distinguish. It does not show refunds either. */
export async function* listPurchases(
  client: ZenditClient,
  since: Date,
): AsyncGenerator<SupplierRecord | UnreadableEntry> {
  const createdAt = `gte${since.toISOString().replace(/\.\d+Z$/, 'Z')}`
  for await (const { rows, place } of readPages(client, '/esim/purchases', { createdAt, status: 'DONE' })) {
    yield* readEach(rows, place, recordOf)
  }
}

/** Pure. @returns undefined for a purchase that is not completed, which Zendit's filter leaves out */
function recordOf({
  status,
  transactionId: key,
  confirmation,
  createdAt,
}: JsonObject): SupplierRecord | Unreadable | undefined {
  if (isText(status) && status !== 'DONE') return undefined
  const iccid = isObject(confirmation) ? iccidOf(confirmation) : undefined
  const time = dateOf(createdAt)
  if (!isText(status)) return new Unreadable('its status is unreadable')
  if (!isText(key)) return new Unreadable('its transactionId is unreadable')
  if (iccid === undefined) return new Unreadable(`the iccid of ${key} is unreadable`)
  if (time === undefined) return new Unreadable(`the createdAt of ${key} is unreadable`)
  return { key, iccid, cancelled: false, time }
}

/** Offers that are enabled for the account and have a fixed price. */
export async function* listProducts(client: ZenditClient): AsyncGenerator<SupplierProduct | UnreadableEntry> {
  for await (const { rows, place } of readPages(client, '/esim/offers', {})) yield* readEach(rows, place, productOf)
}

interface Page {
  rows: readonly unknown[]
  /** Such as `page 2`. */
  place: string
}

/**
 * A list in an object says how many rows it has. A bare list is read until a page is empty or repeats the previous one.
 * @throws if the list cannot be read to its end
 */
async function* readPages(client: ZenditClient, path: string, filter: Record<string, string>): AsyncGenerator<Page> {
  let offset = 0
  let previous = ''
  for (let page = 1; page <= PAGES_MAX; page++) {
    const answer = await client.get(path, { _limit: String(PAGE_SIZE), _offset: String(offset), ...filter })
    if (answer.kind === 'failed' || answer.status !== 200 || (!answer.body && !answer.list)) {
      throw new Error(`page ${page} of the list cannot be read: ${messageOf(answer)}`)
    }
    const found = pageOf(answer, 'list', previous !== '')
    const total = answer.body?.total
    if (found === undefined || (!found.isBare && !isCount(total))) {
      throw new Error(`page ${page} of the list is unreadable`)
    }
    const { rows } = found
    const content = found.isBare ? JSON.stringify(rows) : ''
    if (content !== '' && (rows.length === 0 || content === previous)) return
    previous = content
    yield { rows, place: `page ${page}` }
    offset += rows.length
    if (!isCount(total)) continue
    if (offset >= total) return
    if (rows.length === 0) throw new Error(`the list ends after ${offset} of ${total} rows`)
  }
  throw new Error(`the list has more than ${PAGES_MAX} pages`)
}

/** Pure. @returns undefined if the offer cannot be sold here: disabled, without a fixed price or without data */
export function productOf(offer: JsonObject): SupplierProduct | Unreadable | undefined {
  const { offerId, enabled, priceType, cost, durationDays, dataUnlimited, dataGB } = offer
  if (enabled === false || (isText(priceType) && priceType !== 'FIXED')) return undefined
  if (!isText(offerId)) return new Unreadable('it has no offerId')
  const price = isObject(cost) ? priceOf(cost) : undefined
  if (price === undefined) return new Unreadable('its cost is unreadable', offerId)
  const volume = dataUnlimited === true ? null : bytesOf(dataGB ?? 0)
  if (volume === undefined) return new Unreadable('its dataGB is unreadable', offerId)
  if (!isCount(durationDays) || durationDays === 0) return new Unreadable('its durationDays is unreadable', offerId)
  if (volume === 0n) return undefined
  const fupPolicy = fairUseOf(offer)
  const included = includedOf({
    minutes: offer.voiceUnlimited === true ? UNLIMITED : offer.voiceMinutes,
    sms: offer.smsUnlimited === true ? UNLIMITED : offer.smsNumber,
  })
  const { countries, regions } = placesOf(offer)
  return {
    productCode: offerId,
    name: nameOf(offer, offerId, countries.length === 0 ? regions : []),
    packageType: 'BASE',
    countries: countries.length > 0 ? countries : regions.map((region) => `!RG-${region}`),
    volume,
    isDayPass: false,
    durationDays,
    cost: price.amount,
    currencyCode: price.currencyCode,
    ...(fupPolicy && { fupPolicy }),
    ...(included && { included }),
  }
}

/** Zendit charges the fee, and a percentage of the fixed cost, in addition to it. */
function priceOf({ fixed, fee, feePct, currency, currencyDivisor }: JsonObject): Charge | undefined {
  const [base, added] = [fixed, fee ?? 0].map((part) => decimalOf(part, MINOR_PLACES))
  const percent = decimalOf(feePct ?? 0, PERCENT_PLACES)
  if (base === undefined || added === undefined || percent === undefined) return undefined
  if (base < 0n || added < 0n || percent < 0n) return undefined
  const share = roundHalfUp(base * percent, 100n * 10n ** BigInt(PERCENT_PLACES))
  return scaled(base + added + share, currency, currencyDivisor)
}

const PERCENT_PLACES = 6

/** Countries by their codes. Zendit does not say which countries a region contains. */
function placesOf({ country, roaming, regions }: JsonObject): { countries: string[]; regions: string[] } {
  const visited = (entriesOf(roaming) ?? []).map((place) => (isObject(place) ? place.country : place))
  const named = (entriesOf(regions) ?? []).filter(isText)
  return {
    countries: [...new Set([country, ...visited, ...named].filter(isCountryCode))],
    regions: named.filter((region) => !isCountryCode(region)),
  }
}

function nameOf({ brandName, shortNotes, notes }: JsonObject, offerId: string, regions: string[]): string {
  const text = [brandName, [shortNotes, notes].find(isText)].filter(isText).join(' ') || offerId
  const missing = regions.filter((region) => !text.toLowerCase().includes(region.toLowerCase()))
  return [...missing, text].join(' ')
}
