import { systemClock } from '@dealer-esim/lib/clock.ts'
import { timeOfUuid } from '@dealer-esim/lib/ids.ts'
import { isObject, type JsonObject, wholeOf } from '#members.ts'
import type { UnreadableEntry } from '#supplier.ts'
import { objectsIn } from '#unreadable-entry.ts'
import { type Call, entriesIn } from './client.ts'
import { type EsimRow, hasOddKey, nameOf, rowsOf } from './decode.ts'
import type { Failure } from './outcome.ts'

export type Found<Value> = { value: Value } | { failure: Failure }

const UNREADABLE: Failure = { kind: 'none', message: 'the list of eSIMs is unreadable', sent: true }
/** The interface's only code for an order that is not delivered yet. */
export const PENDING = '200010'
const PAGE_SIZE = 500
const PAGES_MAX = 1_000

/** The readable rows of a list. An unreadable entry may be the one being looked for. */
export type FoundRows = { value: EsimRow[]; unreadable: UnreadableEntry[] } | { failure: Failure }

/** Pages of esim/query. */
export async function queryRows(call: Call, filter: JsonObject): Promise<FoundRows> {
  const rows: EsimRow[] = []
  const unreadable: UnreadableEntry[] = []
  let read = 0
  for (let pageNum = 1; pageNum <= PAGES_MAX; pageNum++) {
    const answer = await call('esim/query', { ...filter, pager: { pageNum, pageSize: PAGE_SIZE } })
    if (answer.kind !== 'done') return { failure: answer }
    const entries = entriesIn(answer, 'esimList')
    if (entries === undefined) return { failure: UNREADABLE }
    unreadable.push(...objectsIn(entries, `page ${pageNum}`).unreadable)
    rows.push(...rowsOf(entries))
    read += entries.length
    if (isLastPage(answer.obj, entries.length, read)) return { value: rows, unreadable }
  }
  return { failure: { kind: 'none', message: `the list has more than ${PAGES_MAX} pages`, sent: true } }
}

/** A wholesaler may return shorter pages than we request. */
function isLastPage({ pager }: JsonObject, pageLength: number, read: number): boolean {
  const total = isObject(pager) ? wholeOf(pager.total) : undefined
  return pageLength === 0 || (total === undefined ? pageLength < PAGE_SIZE : read >= total)
}

/** The eSIM as sold: by its order if known, because an ICCID may be sold again. */
export async function findEsim(
  call: Call,
  { key, reference, iccid }: { key: string; reference?: string | undefined; iccid: string },
): Promise<Found<EsimRow | undefined>> {
  const found = await queryRows(call, reference === undefined ? { iccid } : { orderNo: reference })
  if ('failure' in found) return found
  const isSold = (row: EsimRow) => row.iccid === iccid && (row.transactionId ?? key) === key
  const value = found.value.find(isSold)
  return value === undefined && found.unreadable.length > 0
    ? { failure: unreadableRow(found.unreadable[0]!) }
    : { value }
}

const MINUTE_MS = 60_000
/** The shortest span that is read. If it contains a pending order, it cannot be read at all. */
const SPAN_MIN_MS = MINUTE_MS

/**
 * The eSIMs that were sold in a time span. The wholesaler refuses a whole list if it contains an order that is not
 * delivered yet, so we keep splitting such a span in half, down to minutes.
 */
export async function* scan(call: Call, from: Date, to: Date): AsyncGenerator<FoundRows> {
  const found = await queryRows(call, { startTime: timeText(from), endTime: timeText(to) })
  const spanMs = to.getTime() - from.getTime()
  const isPending = 'failure' in found && found.failure.kind === 'failed' && found.failure.code === PENDING
  if (!isPending || spanMs <= SPAN_MIN_MS) {
    yield found
    return
  }
  const middle = new Date(from.getTime() + spanMs / 2)
  yield* scan(call, from, middle)
  yield* scan(call, middle, to)
}

/** How wrong the wholesaler's clock may be. */
export const CLOCK_TOLERANCE_MS = 10 * MINUTE_MS

/**
 * Looks for the eSIM with our key among all eSIMs sold since our order, because the interface cannot search by key.
 * @returns undefined only if all of them were read
 */
export async function findByKey(
  call: Call,
  { key, orderId }: { key: string; orderId: string },
  withinMs: number,
): Promise<Found<EsimRow | undefined>> {
  const now = systemClock.now()
  const orderedAt = timeOfUuid(orderId)
  const deadline = systemClock.monotonic() + withinMs
  let failure: Failure | undefined
  for await (const part of scan(call, new Date(orderedAt - CLOCK_TOLERANCE_MS), new Date(now + CLOCK_TOLERANCE_MS))) {
    if ('failure' in part) failure = part.failure
    const row = 'value' in part ? part.value.find(({ transactionId }) => transactionId === key) : undefined
    if (row !== undefined) return { value: row }
    if ('value' in part) failure ??= oddRowIn(part)
    if (failure !== undefined && 'failure' in part && !isPendingFailure(failure)) break
    if (systemClock.monotonic() > deadline) {
      return { failure: { kind: 'none', message: 'the list of eSIMs could not be read in time', sent: true } }
    }
  }
  return failure === undefined ? { value: undefined } : { failure }
}

function isPendingFailure(failure: Failure): boolean {
  return failure.kind === 'failed' && failure.code === PENDING
}

/** An unreadable row that may be the one with our key. */
function oddRowIn({ value, unreadable: [odd] }: Extract<FoundRows, { value: EsimRow[] }>): Failure | undefined {
  if (odd !== undefined) return unreadableRow(odd)
  const row = value.find(hasOddKey)
  return row && unreadableRow({ entry: nameOf(row) })
}

function unreadableRow({ entry }: Pick<UnreadableEntry, 'entry'>): Failure {
  return { kind: 'none', message: `the list of eSIMs has an unreadable row: ${entry}`, sent: true }
}

/** 2025-09-11T13:28:09+00:00, as the interface documents it. */
function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, '+00:00')
}
