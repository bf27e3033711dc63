import {
  DERIVED_ID_PREFIX,
  isDay,
  type OperationName,
  parseRequest,
  parseStrictJson,
  type RequestOf,
} from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { storedTransactionId } from '#orders/transaction-id.ts'
import { RtFailure } from './rt-failure.ts'

export type RtRequest = Readonly<Record<string, unknown>>

/**
 * Parses a body as the family's programs send it: an empty body is {}, and null and "" mean absent at any depth.
 * @throws ApiError 000104; RtFailure 200008 for one of our own events, which a captured signature would otherwise admit
 */
export function parseBody(body: Buffer): RtRequest {
  if (body.length === 0) return {}
  const json = parseStrictJson(body)
  if (!json.ok) throw new ApiError('000104', { details: [{ field: 'body', reason: json.reason }] })
  if (Object.hasOwn(json.value, 'notifyType')) throw new RtFailure('200008', 'This is an event, not a request.')
  return withoutEmpty(json.value) as RtRequest
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== '')
  return Object.fromEntries(members.map(([name, member]) => [name, withoutEmpty(member)]))
}

/** Checks a request in the dealer API's form that was made from one of the family's. @throws ApiError 000105 to 000108 */
export function checkRequest<Name extends OperationName>(operation: Name, request: object): RequestOf<Name> {
  const defined = Object.fromEntries(Object.entries(request).filter(([, member]) => member !== undefined))
  const parsed = parseRequest(operation, defined)
  if (!parsed.ok) throw new ApiError(parsed.code, { details: parsed.details })
  return parsed.value as RequestOf<Name> // refuseDryRun has refused dry runs
}

/**
 * Refuses a dry run. The family has none and unknown members are ignored, so a program that learnt of validateOnly from the
 * dealer API would buy.
 */
export function refuseDryRun({ validateOnly }: RtRequest): void {
  if (validateOnly === undefined || validateOnly === false) return
  throw new RtFailure('200008', 'validateOnly: this API has no dry runs, and nothing was bought. Use the dealer API.')
}

/** The id under which an order is stored, and the original text if the id is derived. */
export interface OrderKey {
  transactionId: string
  sent: { transactionId?: string }
}

/** Longer than the transactionIds of any program, and short enough to repeat in every event. */
const SENT_LENGTH_MAX = 1_000

/**
 * Makes the key of an order. Any text is accepted as a transactionId; without one the gateway creates the id.
 * @throws ApiError 000107, 000108
 */
export function keyOf(request: RtRequest, ownId: string): OrderKey {
  const stored = sentKeyOf(request)
  if (stored === undefined) return { transactionId: ownId, sent: {} }
  const sent = request.transactionId as string
  return { transactionId: stored, sent: stored === sent ? {} : { transactionId: sent } }
}

/** The id under which an order with the transactionId of a request is stored. @throws ApiError 000107, 000108 */
export function sentKeyOf({ transactionId: sent }: RtRequest): string | undefined {
  if (sent === undefined) return undefined
  const refuse = (code: '000107' | '000108', reason: string) => {
    return new ApiError(code, { details: [{ field: 'transactionId', reason }] })
  }
  if (typeof sent !== 'string') throw refuse('000108', 'Send a text.')
  if (sent.length > SENT_LENGTH_MAX) throw refuse('000107', `Use at most ${SENT_LENGTH_MAX} characters.`)
  if (UNSTORABLE.test(sent)) throw refuse('000108', 'Use text without U+0000 or lone surrogates.')
  if (sent.startsWith(DERIVED_ID_PREFIX)) throw refuse('000108', `Do not begin with ${DERIVED_ID_PREFIX}`)
  return storedTransactionId(sent)
}

/** UTF-8 cannot encode lone surrogates, and PostgreSQL cannot store U+0000. */
const UNSTORABLE = /[\u0000\p{Cs}]/u

/** Reads a guard; 0 means no guard. */
export function guardOf(value: unknown): unknown {
  const guard = numberOf(value)
  return guard === 0 ? undefined : guard
}

/**
 * Reads a number, which some programs send as text. Anything but a whole number is returned unchanged, so that it is
 * refused.
 */
export function numberOf(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
}

/** @throws RtFailure 200008 */
export function textOf(request: RtRequest, member: string): string | undefined {
  const value = request[member]
  if (value === undefined || (typeof value === 'string' && value.length <= 64)) return value
  throw new RtFailure('200008', `${member}: send a string of at most 64 characters.`)
}

/** @returns milliseconds since 1970; 0 for an earlier time, before which there is nothing. @throws RtFailure 200008 */
export function timeOf(request: RtRequest, member: string): number | undefined {
  const text = textOf(request, member)
  if (text === undefined) return undefined
  const timeMs = TIME.test(text) && isDay(text.slice(0, 10)) ? Date.parse(withColonInZone(text)) : Number.NaN
  if (!Number.isNaN(timeMs)) return Math.max(0, timeMs)
  throw new RtFailure('200008', `${member}: send a time such as 2025-09-11T13:28:09+0000.`)
}

const TIME = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)$/

function withColonInZone(time: string): string {
  return time.replace(/([+-]\d\d)(\d\d)$/, '$1:$2')
}

/** Reads the pager; by default the first page of 500. @throws RtFailure 200008 */
export function pagerOf({ pager = {} }: RtRequest): { pageNum: number; pageSize: number } {
  const isObject = typeof pager === 'object' && pager !== null && !Array.isArray(pager)
  const { pageNum = 1, pageSize = 500 } = pager as Record<string, unknown>
  const isPage =
    isObject && Number.isSafeInteger(pageNum) && (pageNum as number) >= 1 && (pageNum as number) <= 1_000_000
  const isSize = Number.isInteger(pageSize) && (pageSize as number) >= 1 && (pageSize as number) <= 500
  if (isPage && isSize) return { pageNum: pageNum as number, pageSize: pageSize as number }
  throw new RtFailure('200008', 'pager: send a pageNum from 1 and a pageSize from 5 to 500.')
}
