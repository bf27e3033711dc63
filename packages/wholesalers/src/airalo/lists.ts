import { amountOf, entriesOf, isCount, isCountryCode, isObject, isText, type JsonObject } from '#members.ts'
import type { RestAnswer } from '#rest-client.ts'
import type { SupplierProduct, SupplierRecord } from '#supplier.ts'
import type { AiraloClient } from './client.ts'
import { bytesOf, esimsOf, messageOf, timeOf } from './decode.ts'

const PAGE_SIZE = 100
/** Enough for a million orders. */
const PAGES_MAX = 10_000

/** The list cannot be read to its end. */
export class ListFailure extends Error {
  override readonly name = 'ListFailure'
  /** undefined: Airalo answered, but the page is unreadable. */
  readonly answer: RestAnswer | undefined

  constructor(message: string, answer?: RestAnswer) {
    super(message)
    this.answer = answer
  }
}

/** Rows of a list in pages. From the second page on, Airalo keys them by their number in the whole list. @throws ListFailure */
export async function* readPages(
  client: Pick<AiraloClient, 'get'>,
  path: string,
  filter: Record<string, string>,
): AsyncGenerator<JsonObject> {
  for (let page = 1; page <= PAGES_MAX; page++) {
    const answer = await client.get(path, { ...filter, limit: String(PAGE_SIZE), page: String(page) })
    const body = answer.kind === 'reply' && answer.status === 200 ? answer.body : undefined
    if (body === undefined) {
      throw new ListFailure(`page ${page} of the list cannot be read: ${messageOf(answer)}`, answer)
    }
    const rows = entriesOf(body.data)
    const lastPage = isObject(body.meta) ? body.meta.last_page : undefined
    if (!rows?.every(isObject) || !isCount(lastPage)) {
      throw new ListFailure(`page ${page} of the list is unreadable`)
    }
    yield* rows
    if (page >= lastPage) return
    if (rows.length === 0) throw new ListFailure(`the list ends after ${page - 1} of ${lastPage} pages`)
  }
  throw new ListFailure(`the list has more than ${PAGES_MAX} pages`)
}

/**
 * Orders whose description is exactly our key, oldest first. Airalo's filter also finds descriptions that only contain it.
 * @returns undefined if an order has no readable description: it may be ours
 * @throws ListFailure
 */
export async function findOrders(client: Pick<AiraloClient, 'get'>, key: string): Promise<JsonObject[] | undefined> {
  const found: JsonObject[] = []
  for await (const order of readPages(client, '/orders', { 'filter[description]': key, include: 'sims' })) {
    const { description } = order
    if (typeof description !== 'string' && description !== null) return undefined
    if (description === key) found.push(order)
  }
  return found.sort((left, right) => Number(left.id) - Number(right.id))
}

const DAY_MS = 24 * 3_600_000

/**
 * eSIMs that were sold since a time, by their description. Airalo does not say in which order it lists: the list is read to
 * its end unless it proves to begin with the newest order: its times fall and never rise.
 */
export async function* listSold(client: Pick<AiraloClient, 'get'>, since: Date): AsyncGenerator<SupplierRecord> {
  let firstMs: number | undefined
  let previousMs = Number.POSITIVE_INFINITY
  let rises = false
  for await (const order of readPages(client, '/orders', { include: 'sims' })) {
    const time = timeOf(order.created_at)
    if (time === undefined) continue
    firstMs ??= time.getTime()
    rises ||= time.getTime() > previousMs
    previousMs = time.getTime()
    const isNewestFirst = !rises && previousMs < firstMs
    if (isNewestFirst && previousMs < since.getTime() - DAY_MS) return
    if (time < since || !isText(order.description)) continue
    for (const { iccid } of esimsOf(order) ?? []) yield { key: order.description, iccid, cancelled: false, time }
  }
}

/** Packages that need no identity check and have a net price. A top-up of several operators is listed once. */
export async function* listProducts(client: AiraloClient, currencyCode: string): AsyncGenerator<SupplierProduct> {
  const seen = new Set<string>()
  for await (const row of readPages(client, '/packages', { include: 'topup' })) {
    const operators = Array.isArray(row.operators) ? row.operators.filter(isObject) : []
    for (const operator of operators) {
      for (const product of productsOf(row, operator, currencyCode)) {
        if (seen.has(product.productCode)) continue
        seen.add(product.productCode)
        yield product
      }
    }
  }
}

/** Pure. Leaves out what cannot be sold: without a net price, or with unreadable members. */
export function productsOf(row: JsonObject, operator: JsonObject, currencyCode: string): SupplierProduct[] {
  if (operator.is_kyc_verify === true || !Array.isArray(operator.packages)) return []
  const covered = Array.isArray(operator.coverages) ? operator.coverages.filter(isObject) : []
  const codes = [row.country_code, ...covered.map(({ code, name }) => code ?? name)]
  const countries = [...new Set(codes.filter(isCountryCode))]
  return operator.packages.filter(isObject).flatMap(({ id, type, title, net_price, amount, day, is_unlimited }) => {
    const cost = amountOf(net_price)
    const volume = is_unlimited === true ? null : bytesOf(amount)
    if (!isText(id) || (type !== 'sim' && type !== 'topup') || cost === undefined || cost < 0n) return []
    if (volume === undefined || volume === 0n || !isCount(day) || day === 0) return []
    return {
      productCode: id,
      name: [operator.title, title].filter(isText).join(' ') || id,
      packageType: type === 'topup' ? ('TOPUP' as const) : ('BASE' as const),
      countries,
      volume,
      isDayPass: false,
      durationDays: day,
      cost,
      currencyCode,
    }
  })
}
