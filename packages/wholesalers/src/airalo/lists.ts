import { entriesOf, isCount, isObject, isText, type JsonObject } from '#members.ts'
import { pageOf, type RestAnswer } from '#rest-client.ts'
import type { SupplierRecord, UnreadableEntry } from '#supplier.ts'
import { isUnreadable, readEach, Unreadable } from '#unreadable-entry.ts'
import type { AiraloClient } from './client.ts'
import { esimsOf, messageOf, statusOf, timeOf } from './decode.ts'
import { RETURNED } from './outcome.ts'

const PAGE_SIZE = 100
/** Enough for a million orders. */
const PAGES_MAX = 10_000

/** The list cannot be read to its end. */
export class ListFailure extends Error {
  override readonly name = 'ListFailure'
  /** undefined if Airalo answered but the page is unreadable. */
  readonly answer: RestAnswer | undefined

  constructor(message: string, answer?: RestAnswer) {
    super(message)
    this.answer = answer
  }
}

export interface Page {
  rows: readonly unknown[]
  /** Such as `page 2`. */
  place: string
  /** undefined if the page is a bare list. */
  body: JsonObject | undefined
}

/**
 * Pages of a list. From the second page on, Airalo keys the rows by their number in the whole list. A bare list does not
 * state its number of pages, so it is read until a page is empty or repeats the previous one.
 * @throws ListFailure
 */
export async function* readPages(
  client: Pick<AiraloClient, 'get'>,
  path: string,
  filter: Record<string, string>,
): AsyncGenerator<Page> {
  let previous = ''
  for (let page = 1; page <= PAGES_MAX; page++) {
    const answer = await client.get(path, { ...filter, limit: String(PAGE_SIZE), page: String(page) })
    const reply = answer.kind === 'reply' && answer.status === 200 ? answer : undefined
    if (reply === undefined || (reply.body === undefined && reply.list === undefined)) {
      throw new ListFailure(`page ${page} of the list cannot be read: ${messageOf(answer)}`, answer)
    }
    const lastPage = isObject(reply.body?.meta) ? Number(reply.body.meta.last_page) : undefined
    const found = pageOf(reply, 'data', previous !== '')
    if (found === undefined || (!found.isBare && !isCount(lastPage))) {
      throw new ListFailure(`page ${page} of the list is unreadable`)
    }
    const { rows } = found
    const content = found.isBare ? JSON.stringify(rows) : ''
    if (content !== '' && (rows.length === 0 || content === previous)) return
    previous = content
    yield { rows, place: `page ${page}`, body: reply.body }
    if (lastPage === undefined) continue
    if (page >= lastPage) return
    if (rows.length === 0) throw new ListFailure(`the list ends after ${page - 1} of ${lastPage} pages`)
  }
  throw new ListFailure(`the list has more than ${PAGES_MAX} pages`)
}

interface FoundOrders {
  /** The oldest first. */
  orders: JsonObject[]
  /** Identifies an order with an unreadable description: it may be ours. */
  unreadable: string | undefined
}

/**
 * Orders whose description is exactly our key. Airalo's filter also finds descriptions that only contain it.
 * @throws ListFailure
 */
export async function findOrders(client: Pick<AiraloClient, 'get'>, key: string): Promise<FoundOrders> {
  const orders: JsonObject[] = []
  let unreadable: string | undefined
  for await (const { rows, place } of readPages(client, '/orders', { 'filter[description]': key, include: INCLUDE })) {
    for (const [index, order] of rows.entries()) {
      const description = isObject(order) ? order.description : undefined
      if (typeof description !== 'string' && description !== null) unreadable ??= `entry ${index + 1} of ${place}`
      if (isObject(order) && description === key) orders.push(order)
    }
  }
  return { orders: orders.sort((left, right) => Number(left.id) - Number(right.id)), unreadable }
}

/** Without it, Airalo states neither an order's eSIMs nor whether it has failed. */
export const INCLUDE = 'sims,status'

const DAY_MS = 24 * 3_600_000

/**
 * eSIMs that were sold since a time, by their description. Airalo does not document how its list is sorted, so the list is
 * read to its end unless its times, which then only fall, prove that it begins with the newest order.
 */
export async function* listSold(
  client: Pick<AiraloClient, 'get'>,
  since: Date,
): AsyncGenerator<SupplierRecord | UnreadableEntry> {
  let firstMs: number | undefined
  let previousMs = Number.POSITIVE_INFINITY
  let rises = false
  for await (const { rows, place } of readPages(client, '/orders', { include: INCLUDE })) {
    for (const order of readEach<Sold>(rows, place, soldBy)) {
      if (isUnreadable(order)) {
        yield order
        continue
      }
      const { time, key, cancelled, iccids } = order
      firstMs ??= time.getTime()
      rises ||= time.getTime() > previousMs
      previousMs = time.getTime()
      const isNewestFirst = !rises && previousMs < firstMs
      if (isNewestFirst && previousMs < since.getTime() - DAY_MS) return
      if (time < since || key === undefined) continue
      for (const iccid of iccids) yield { key, iccid, cancelled, time }
    }
  }
}

interface Sold {
  time: Date
  /** undefined if it is not ours. */
  key: string | undefined
  cancelled: boolean
  iccids: string[]
}

/** Pure. Orders placed by others may have any description, or none. */
function soldBy(order: JsonObject): (Sold | Unreadable)[] {
  const { description: key, sims } = order
  const time = timeOf(order.created_at)
  if (time === undefined) return [new Unreadable('its created_at is unreadable')]
  const isReadable = key === undefined || key === null || typeof key === 'string'
  if (!isReadable) return [new Unreadable('its description is unreadable')]
  const esims = esimsOf(order) ?? []
  const cancelled = RETURNED.includes(statusOf(order) ?? '')
  const missing = (sims ? (entriesOf(sims)?.length ?? 1) : 0) - esims.length
  return [
    { time, key: isText(key) ? key : undefined, cancelled, iccids: esims.map(({ iccid }) => iccid) },
    ...(missing > 0 && isText(key) ? [new Unreadable(`its eSIM is unreadable (order ${key})`)] : []),
  ]
}
