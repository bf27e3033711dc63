import { includedOf, UNLIMITED } from '#allowances.ts'
import {
  amountOf,
  currencyOf,
  entriesOf,
  fairUseOf,
  iccidOf,
  isCount,
  isCountryCode,
  isObject,
  isText,
  type JsonObject,
  textOf,
} from '#members.ts'
import { describeBlocked, describeFailure, listOf, pageOf, type RestAnswer, withoutStop } from '#rest-client.ts'
import type { BalanceOutcome, SupplierProduct, SupplierRecord, UnreadableEntry } from '#supplier.ts'
import { isUnreadable, readEach, Unreadable } from '#unreadable-entry.ts'
import type { EsimGoClient } from './client.ts'
import { type EsimGoOrder, hasSeveralBundles, messageOf, orderOf } from './decode.ts'
import type { OrderStore } from './progress.ts'

const PAGE_SIZE = 100
const PAGES_MAX = 10_000

interface OrdersPage {
  orders: EsimGoOrder[]
  /** Orders with several bundles are not ours and do not count. */
  unreadable: UnreadableEntry[]
  /** The time of the answer by eSIM Go's clock. */
  time: Date | undefined
}

/** Pages of the orders that were created since then. @throws if they cannot be read to the end */
export async function* readOrders(client: EsimGoClient, since: Date): AsyncGenerator<OrdersPage> {
  const filter = { createdAt: `gte:${since.toISOString()}`, includeIccids: 'true', limit: String(PAGE_SIZE) }
  for await (const { rows, place, time } of readPages(client, '/orders', 'orders', filter)) {
    const read = [...readEach<EsimGoOrder>(rows, place, readOrder)]
    const orders = read.filter((one): one is EsimGoOrder => !isUnreadable(one))
    yield { orders, unreadable: read.filter(isUnreadable), time }
  }
}

function readOrder(row: JsonObject): (EsimGoOrder | Unreadable)[] {
  if (hasSeveralBundles(row)) return []
  const found = orderOf(row)
  if (found === undefined) return [new Unreadable('its reference or its bundle is unreadable')]
  return found.hasOddLines ? [found, new Unreadable('one of its lines is unreadable')] : [found]
}

/**
 * The eSIMs of all orders, including top-ups, which the list does not distinguish. An order that we did not place uses its
 * reference as its key. Orders that may be the one whose answer was lost are left out until that one is found.
 */
export async function* listOrders(
  client: EsimGoClient,
  store: OrderStore,
  since: Date,
): AsyncGenerator<SupplierRecord | UnreadableEntry> {
  for await (const { orders, unreadable } of readOrders(client, since)) {
    yield* unreadable
    const inDoubt = await store.listInDoubt()
    const keys = await store.findKeys(orders.map(({ reference }) => reference))
    for (const { reference, bundle, esims, hasOddEsims, createdAt = since } of orders) {
      const key = keys.get(reference)
      if (key === undefined && inDoubt.includes(bundle)) continue
      const iccids = esims.map(iccidOf)
      for (const iccid of iccids) {
        if (iccid !== undefined) yield { key: key ?? reference, iccid, cancelled: false, time: createdAt }
      }
      if (hasOddEsims || iccids.includes(undefined)) {
        yield { entry: reference, reason: 'the iccid of its eSIM is unreadable' }
      }
    }
  }
}

/** Bundles with a fixed price. The catalogue states no currency: it is the account's. */
export async function* listProducts(client: EsimGoClient): AsyncGenerator<SupplierProduct | UnreadableEntry> {
  const answer = await client.get('/organisation')
  const currencyCode = currencyOf(organisationOf(answer)?.currency)
  if (currencyCode === undefined) {
    const why = answer.kind === 'reply' && answer.status === 200 ? 'GET /organisation names none' : messageOf(answer)
    throw new Error(`the currency of the account at eSIM Go cannot be read: ${why}`)
  }
  for await (const { rows, place } of readPages(client, '/catalogue', 'bundles', { perPage: String(PAGE_SIZE) })) {
    yield* readEach(rows, place, (bundle) => productOf(bundle, currencyCode))
  }
}

interface Page {
  rows: readonly unknown[]
  /** Such as `page 2`. */
  place: string
  time: Date | undefined
}

/** A list that does not say how many pages it has is read until a page is empty or repeats the previous one. */
async function* readPages(
  client: EsimGoClient,
  path: string,
  member: 'orders' | 'bundles',
  filter: Record<string, string>,
): AsyncGenerator<Page> {
  let previous = ''
  for (let page = 1; page <= PAGES_MAX; page++) {
    const answer = await client.get(path, { ...filter, page: String(page) })
    if (answer.kind === 'failed' || answer.status !== 200 || (!answer.body && !answer.list)) {
      throw new Error(`page ${page} of the list cannot be read: ${messageOf(answer)}`)
    }
    const rows = pageOf(answer, member, previous !== '')?.rows
    const pageCount = answer.body?.pageCount
    if (rows === undefined) throw new Error(`page ${page} of the list is unreadable`)
    const content = isCount(pageCount) ? '' : JSON.stringify(rows)
    if (content !== '' && content === previous) return
    previous = content
    yield { rows, place: `page ${page}`, time: answer.time }
    if (isCount(pageCount) ? page >= pageCount : rows.length === 0) return
    if (rows.length === 0) throw new Error(`the list ends at page ${page} of ${String(pageCount)}`)
  }
  throw new Error(`the list has more than ${PAGES_MAX} pages`)
}

const MEGABYTE = 1_000_000n

/** Pure. @returns undefined if the bundle cannot be sold here: without a fixed price or without data */
export function productOf(bundle: JsonObject, currencyCode: string): SupplierProduct | Unreadable | undefined {
  const { name, description, countries, dataAmount, duration, unlimited, billingType } = bundle
  if (!isText(name)) return new Unreadable('it has no name')
  if (billingType !== undefined && billingType !== null && billingType !== 'FixedCost') return undefined
  const cost = amountOf(bundle.price)
  if (cost === undefined || cost < 0n) return new Unreadable('its price is unreadable', name)
  if (!isCount(duration) || duration === 0) return new Unreadable('its number of days is unreadable', name)
  const isUnlimited = unlimited === true
  const hasNoData = dataAmount === undefined || dataAmount === null || dataAmount === 0
  if (!isUnlimited && hasNoData) return undefined
  const fupPolicy =
    fairUseOf(bundle) ?? (isUnlimited ? DAILY_LIMITS[/^esim_(UL[EP]?)_/.exec(name)?.[1] ?? ''] : undefined)
  const included = includedOf({ minutes: allowanceOf(bundle, 'VOICE'), sms: allowanceOf(bundle, 'SMS') })
  if (!isUnlimited && !isCount(dataAmount)) return new Unreadable('its amount of data is unreadable', name)
  return {
    productCode: name,
    name: textOf(description) ?? name,
    packageType: 'BASE',
    countries: [...new Set((entriesOf(countries) ?? []).flatMap((country) => countryOf(country) ?? []))],
    volume: isUnlimited ? null : BigInt(dataAmount as number) * MEGABYTE,
    isDayPass: false,
    durationDays: duration,
    cost,
    currencyCode,
    ...(fupPolicy && { fupPolicy }),
    ...(included && { included }),
  }
}

/** Unlimited bundles state no condition: eSIM Go documents it by bundle name, such as `esim_UL_1D_TR_V2`. */
const DAILY_LIMITS: Readonly<Record<string, string>> = {
  UL: '1 GB at full speed in each 24 hours, then 512 kbps',
  ULE: '1 GB at full speed in each 24 hours, then 1.25 Mbps',
  ULP: '2 GB at full speed in each 24 hours, then 2 Mbps',
}

/** `allowances: [{type: "VOICE", amount: 100, unlimited: false}]` */
function allowanceOf({ allowances }: JsonObject, type: string): unknown {
  const found = (entriesOf(allowances) ?? []).filter(isObject).find((one) => textOf(one.type)?.toUpperCase() === type)
  return found?.unlimited === true ? UNLIMITED : found?.amount
}

/** A country is a name, or an object with its code. */
function countryOf(country: unknown): string | undefined {
  const code = isObject(country) ? country.iso : country
  return isCountryCode(code) ? code : undefined
}

export async function readBalance(client: EsimGoClient): Promise<BalanceOutcome> {
  const answer = await client.get('/organisation')
  if (answer.kind === 'failed' || answer.status !== 200) {
    return { kind: 'silent', message: messageOf(answer) }
  }
  const organisation = organisationOf(answer)
  const amount = amountOf(organisation?.balance)
  const currencyCode = currencyOf(organisation?.currency)
  return amount === undefined || currencyCode === undefined
    ? { kind: 'silent', message: 'the balance at eSIM Go is unreadable' }
    : { kind: 'balance', amount, currencyCode }
}

/** The organisation of an API key, which is the only one: in a list, under its name, or bare. */
function organisationOf(answer: RestAnswer): JsonObject | undefined {
  if (answer.kind === 'failed' || answer.status !== 200) return undefined
  const { organisations, organisation } = answer.body ?? {}
  return [...(listOf(answer, 'organisations') ?? []), organisations, organisation, answer.body]
    .filter(isObject)
    .find(({ currency }) => currencyOf(currency) !== undefined)
}

/** Reads the balance, which changes nothing. @returns a message for the operator: the problem and how to fix it */
export async function testAccount(client: EsimGoClient): Promise<string | undefined> {
  const answer = await client.get('/organisation')
  if (answer.kind === 'failed') return describeFailure(answer)
  const blocked = describeBlocked('eSIM Go', answer)
  if (blocked !== undefined) return blocked
  const { status } = answer
  const message = withoutStop(messageOf(answer))
  if (status === 401 || status === 403) return `Credentials: ${message}. Copy the API key from eSIM Go's portal.`
  if (status === 404) {
    return `Protocol: ${message}. The url must end with the version, as in https://api.esim-go.com/v2.5.`
  }
  if (status === 429) return `Busy: ${message}. Try again; if it stays so, lower perSecond or share.`
  if (status !== 200) return `${message}.`
  const organisation = organisationOf(answer)
  if (organisation === undefined) return 'Protocol: no currency is named. Check that the url is that of eSIM Go.'
  if (amountOf(organisation.balance) !== undefined) return undefined
  return 'Protocol: the balance is unreadable. Purchases and the catalogue do not need it: ask eSIM Go.'
}
