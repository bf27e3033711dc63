import {
  amountOf,
  currencyOf,
  iccidOf,
  isCount,
  isCountryCode,
  isObject,
  isText,
  type JsonObject,
  textOf,
} from '#members.ts'
import { describeFailure, type RestAnswer } from '#rest-client.ts'
import type { BalanceOutcome, SupplierProduct, SupplierRecord } from '#supplier.ts'
import type { EsimGoClient } from './client.ts'
import { type EsimGoOrder, hasSeveralBundles, messageOf, orderOf } from './decode.ts'
import type { OrderStore } from './progress.ts'

const PAGE_SIZE = 100
const PAGES_MAX = 10_000

interface OrdersPage {
  orders: EsimGoOrder[]
  /** All orders of the page could be read. Those with several bundles are not ours and do not count. */
  isComplete: boolean
  /** The time of the answer by eSIM Go's clock. */
  time: Date | undefined
}

/** Pages of the orders that were created since then. @throws if they cannot be read to the end */
export async function* readOrders(client: EsimGoClient, since: Date): AsyncGenerator<OrdersPage> {
  const filter = { createdAt: `gte:${since.toISOString()}`, includeIccids: 'true', limit: String(PAGE_SIZE) }
  for await (const { rows, time } of readPages(client, '/orders', 'orders', filter)) {
    const single = rows.filter((row) => !hasSeveralBundles(row))
    const orders = single.flatMap((row) => orderOf(row) ?? [])
    yield { orders, isComplete: orders.length === single.length, time }
  }
}

/**
 * The eSIMs of all orders, including top-ups, which the list does not distinguish. An order that we did not make gets its
 * reference as key. Orders that may be the one whose answer was lost are left out until that one is found.
 */
export async function* listOrders(
  client: EsimGoClient,
  store: OrderStore,
  since: Date,
): AsyncGenerator<SupplierRecord> {
  for await (const { orders } of readOrders(client, since)) {
    const inDoubt = await store.listInDoubt()
    const keys = await store.findKeys(orders.map(({ reference }) => reference))
    for (const { reference, bundle, esims, createdAt = since } of orders) {
      const key = keys.get(reference)
      if (key === undefined && inDoubt.includes(bundle)) continue
      for (const esim of esims) {
        const iccid = iccidOf(esim)
        if (iccid !== undefined) yield { key: key ?? reference, iccid, cancelled: false, time: createdAt }
      }
    }
  }
}

/** Bundles with a fixed price. The catalogue names no currency: it is that of the account. */
export async function* listProducts(client: EsimGoClient): AsyncGenerator<SupplierProduct> {
  const account = accountOf(await client.get('/organisation'))
  if (account === undefined) throw new Error('the currency of the account at eSIM Go cannot be read')
  for await (const { rows } of readPages(client, '/catalogue', 'bundles', { perPage: String(PAGE_SIZE) })) {
    for (const bundle of rows) {
      const product = productOf(bundle, account.currencyCode)
      if (product !== undefined) yield product
    }
  }
}

async function* readPages(
  client: EsimGoClient,
  path: string,
  member: 'orders' | 'bundles',
  filter: Record<string, string>,
): AsyncGenerator<{ rows: JsonObject[]; time: Date | undefined }> {
  for (let page = 1; page <= PAGES_MAX; page++) {
    const answer = await client.get(path, { ...filter, page: String(page) })
    const body = answer.kind === 'reply' && answer.status === 200 ? answer.body : undefined
    if (body === undefined) throw new Error(`page ${page} of the list cannot be read: ${messageOf(answer)}`)
    const { [member]: rows, pageCount } = body
    if (!Array.isArray(rows) || !rows.every(isObject)) throw new Error(`page ${page} of the list is unreadable`)
    yield { rows, time: answer.kind === 'reply' ? answer.time : undefined }
    if (isCount(pageCount) ? page >= pageCount : rows.length === 0) return
    if (rows.length === 0) throw new Error(`the list ends at page ${page} of ${String(pageCount)}`)
  }
  throw new Error(`the list has more than ${PAGES_MAX} pages`)
}

const MEGABYTE = 1_000_000n

/** Pure. @returns undefined if the bundle cannot be sold: without a fixed price, without data, or unreadable */
export function productOf(bundle: JsonObject, currencyCode: string): SupplierProduct | undefined {
  const { name, description, countries, dataAmount, duration, unlimited, billingType } = bundle
  const cost = amountOf(bundle.price)
  if (!isText(name) || cost === undefined || cost < 0n || !isCount(duration) || duration === 0) return undefined
  if (billingType !== undefined && billingType !== 'FixedCost') return undefined
  const volume = unlimited === true ? null : isCount(dataAmount) ? BigInt(dataAmount) * MEGABYTE : 0n
  if (volume === 0n) return undefined
  return {
    productCode: name,
    name: textOf(description) ?? name,
    packageType: 'BASE',
    countries: Array.isArray(countries) ? [...new Set(countries.flatMap((country) => countryOf(country) ?? []))] : [],
    volume,
    isDayPass: false,
    durationDays: duration,
    cost,
    currencyCode,
  }
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
  const account = accountOf(answer)
  return account ? { kind: 'balance', ...account } : { kind: 'silent', message: 'the balance at eSIM Go is unreadable' }
}

/** The balance of the organisation. An API key belongs to exactly one. */
function accountOf(answer: RestAnswer): { amount: bigint; currencyCode: string } | undefined {
  const organisations = answer.kind === 'reply' && answer.status === 200 ? answer.body?.organisations : undefined
  const [organisation] = Array.isArray(organisations) ? organisations.filter(isObject) : []
  const amount = amountOf(organisation?.balance)
  const currencyCode = currencyOf(organisation?.currency)
  return amount === undefined || currencyCode === undefined ? undefined : { amount, currencyCode }
}

/** Reads the balance, which changes nothing. @returns a message for the operator: the problem and how to fix it */
export async function testAccount(client: EsimGoClient): Promise<string | undefined> {
  const answer = await client.get('/organisation')
  if (answer.kind === 'failed') return describeFailure(answer)
  const { status } = answer
  const message = messageOf(answer)
  if (status === 401 || status === 403) return `Credentials: ${message}. Copy the API key from eSIM Go's portal.`
  if (status === 404) {
    return `Protocol: ${message}. The url must end with the version, as in https://api.esim-go.com/v2.5.`
  }
  if (status === 429) return `Busy: ${message}. Try again; if it stays so, lower perSecond or share.`
  if (status !== 200) return message
  if (accountOf(answer) !== undefined) return undefined
  return 'Protocol: the balance is unreadable. Check that the url is that of eSIM Go.'
}
