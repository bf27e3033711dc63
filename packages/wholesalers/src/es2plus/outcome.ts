import { isIccid, stripIccidPadding } from '@dealer-esim/contract'
import type { OutboundOutcome } from '@dealer-esim/lib/outbound/outbound.ts'
import { parseObject } from '#members.ts'

/** The result of one ES2+ call. */
export type Es2plusResult =
  | { kind: 'done'; body: Es2plusAnswer }
  /** Definite: not executed, and a repeat will not be executed either. */
  | { kind: 'refused'; message: string; code?: string }
  /** Definite: not executed, but a repeat may be. */
  | { kind: 'retry'; message: string; down?: true }
  /** It may have been executed. */
  | { kind: 'unknown'; message: string; down?: true; code?: string }

/** The members of answers that we use (SGP.22 §5.3). */
export type Es2plusAnswer = Texts<'iccid' | 'matchingId' | 'smdpAddress'>

/** How to read an answer. */
export interface AnswerRules {
  /** The ICCID of the order comes from our own range, so repeating the order is safe. */
  iccidChosen: boolean
  /** The member that contains the function's answer in the dialect without a header; undefined: none. */
  member?: 'iccid' | 'matchingId'
  /** Settings of the supplier, see config.ts. */
  failedIsDefinite?: boolean | undefined
  answersWithoutHeader?: boolean | undefined
}

/**
 * Pure: decides the result of one call from its answer, or from the lack of an answer. An SM-DP+ answers HTTP
 * 200 even on failure: functionExecutionStatus decides. Without a header, it is a member of the answer itself, or `status`
 * and `statusCodeData` take its place. An answer without any status counts as done if it has the function's own member or,
 * for a function without one, no members.
 *
 *   | answer                                  | outcome                                                     |
 *   |-----------------------------------------|-------------------------------------------------------------|
 *   | Executed-Success, Executed-WithWarning  | done                                                        |
 *   | 8.2.5/3.7 no profile of this type left  | refused                                                     |
 *   | 8.2.5/3.9 profile type unknown          | refused                                                     |
 *   | any/1.1, any/1.2 requester not allowed  | refused                                                     |
 *   | any/2.1, 2.2, 2.3 malformed             | refused                                                     |
 *   | any/4.2 execution error                 | retry where the ICCID is ours, else unknown                 |
 *   | any/5.1 inaccessible                    | retry where the ICCID is ours, else unknown                 |
 *   | 8.2.1/3.3 ICCID in use                  | unknown: an earlier order of our own may have taken it      |
 *   | codes that show an earlier call of ours | unknown: purchase.ts and es2plus.ts read them               |
 *   | any other failure                       | unknown; with failedIsDefinite refused, and 4.2, 5.1 retry  |
 *   | Expired                                 | unknown                                                     |
 *   | HTTP 4xx                                | retry: not executed, and an operator has to correct it      |
 *   | HTTP 408, 5xx, no ES2+ answer           | unknown                                                     |
 *   | failed before it was sent               | retry                                                       |
 *   | failed after, or too late               | unknown                                                     |
 */
export function resultOf(outcome: OutboundOutcome, rules: AnswerRules): Es2plusResult {
  if (outcome.kind === 'failed') {
    return { kind: outcome.sent ? 'unknown' : 'retry', message: outcome.message, down: true }
  }
  const { status } = outcome
  const quote = quoteOf(outcome.body)
  if (status === 408 || status >= 500) return { kind: 'unknown', message: `HTTP ${status}${quote}`, down: true }
  if (status >= 400) return { kind: 'retry', message: `HTTP ${status}: not accepted${quote}`, down: true }
  const body: Envelope | undefined = parseObject(outcome.body.toString())
  const execution =
    body?.header?.functionExecutionStatus ?? (rules.answersWithoutHeader ? bareStatusOf(body) : undefined)
  const { status: executed } = textsOf(execution, 'status')
  if (executed === undefined) {
    if (rules.answersWithoutHeader && status === 200 && isBareSuccess(body, rules)) return doneWith(body)
    return { kind: 'unknown', message: `HTTP ${status} without an ES2+ answer${quote}` }
  }
  if (executed === 'Executed-Success' || executed === 'Executed-WithWarning') return doneWith(body)
  const codes = textsOf(
    (execution as { statusCodeData?: unknown }).statusCodeData,
    'subjectCode',
    'reasonCode',
    'message',
  )
  const { subjectCode = '?', reasonCode = '?', message: explanation } = codes
  const code = `${subjectCode}/${reasonCode}`
  const message = `${executed} ${code}${explanation ? `: ${explanation.slice(0, MESSAGE_LENGTH_MAX)}` : ''}`
  if (executed !== 'Failed') return { kind: 'unknown', message, code }
  if (REFUSED_CODES.has(code) || REFUSED_REASONS.has(reasonCode)) return { kind: 'refused', message, code }
  if (RETRY_REASONS.has(reasonCode) && (rules.iccidChosen || rules.failedIsDefinite)) return { kind: 'retry', message }
  // If an earlier call was executed, its repeat fails with one of these codes.
  if (!rules.failedIsDefinite || EARLIER_CODES.has(code)) return { kind: 'unknown', message, code }
  return { kind: 'refused', message, code }
}

const QUOTE_LENGTH_MAX = 100
/** Enough for UTF-8 and for empty lines before the quoted one. */
const QUOTED_MAX_BYTES = 1000

/** The first line of an answer that is not JSON, such as a proxy's error page. Activation codes are not quoted. */
export function quoteOf(body: Buffer): string {
  if (parseObject(body.toString()) !== undefined) return ''
  const text = body.subarray(0, QUOTED_MAX_BYTES).toString().trim()
  const line = (text.split('\n', 1)[0] ?? '').replace(/\p{C}/gu, '').trimEnd()
  if (line === '' || text.includes('LPA:')) return ''
  return `: “${line.length > QUOTE_LENGTH_MAX ? `${line.slice(0, QUOTE_LENGTH_MAX)}…` : line}”`
}

function doneWith(body: unknown): Es2plusResult {
  return { kind: 'done', body: textsOf(body, 'iccid', 'matchingId', 'smdpAddress') }
}

function bareStatusOf(body: Envelope | undefined): unknown {
  return body?.functionExecutionStatus ?? body
}

function isBareSuccess(body: Envelope | undefined, { member }: AnswerRules): boolean {
  if (body === undefined) return false
  const { iccid, matchingId } = textsOf(body, 'iccid', 'matchingId')
  switch (member) {
    case 'iccid':
      return iccid !== undefined && isIccid(stripIccidPadding(iccid))
    case 'matchingId':
      return matchingId !== undefined && matchingId !== ''
    case undefined:
      return Object.keys(body).length === 0
    default:
      return member satisfies never
  }
}

/** Longer messages from a supplier are truncated. */
const MESSAGE_LENGTH_MAX = 200
const REFUSED_CODES = new Set(['8.2.5/3.7', '8.2.5/3.9'])
const REFUSED_REASONS = new Set(['1.1', '1.2', '2.1', '2.2', '2.3'])
const RETRY_REASONS = new Set(['4.2', '5.1'])
/** The ICCID of a DownloadOrder is in use. */
export const ICCID_IN_USE = '8.2.1/3.3'
/** The SM-DP+ does not know the ICCID. */
export const NO_SUCH_ICCID = '8.2.1/3.9'
/** The matching id of a ConfirmOrder is in use. */
export const MATCHING_ID_IN_USE = '8.2.6/3.3'
/** The profile's state does not allow ReleaseProfile. */
export const NOT_RELEASABLE = '8.2.1/3.5'
/**
 * Answers to a repeated CancelOrder if the earlier one was executed or the order does not exist: unknown ICCID, unknown
 * matching id, a different matching id for the ICCID.
 */
const GONE_CODES = new Set([NO_SUCH_ICCID, '8.2.6/3.9', '8.2.6/3.10'])
const EARLIER_CODES = new Set([...GONE_CODES, ICCID_IN_USE, MATCHING_ID_IN_USE, NOT_RELEASABLE])

/** @returns whether the SM-DP+ has no profile for our matching id, according to its answer */
export function isGone(result: Es2plusResult): boolean {
  return result.kind === 'unknown' && result.code !== undefined && GONE_CODES.has(result.code)
}

/** @returns whether a CancelOrder was certainly not executed. An execution error may follow the execution. */
export function isNotExecuted(result: Exclude<Es2plusResult, { kind: 'done' }>): boolean {
  if (result.kind !== 'unknown') return true
  return result.code !== undefined && !RETRY_REASONS.has(result.code.slice(result.code.indexOf('/') + 1))
}

interface Envelope {
  functionExecutionStatus?: unknown
  header?: { functionExecutionStatus?: { statusCodeData?: unknown } | null } | null
}

type Texts<Name extends string> = { [name in Name]?: string }

/** Some vendors send numbers instead of texts. Exact numbers are converted; other values are ignored. */
function textsOf<Name extends string>(value: unknown, ...names: Name[]): Texts<Name> {
  const members = Object(value) as Record<Name, unknown>
  const texts: Texts<Name> = {}
  for (const name of names) {
    const member = members[name]
    const isExact = typeof member === 'number' && Math.abs(member) <= Number.MAX_SAFE_INTEGER
    if (typeof member === 'string' || isExact) texts[name] = String(member)
  }
  return texts
}
