import type { OutboundOutcome } from '@dealer-esim/lib/outbound/outbound.ts'
import {
  bytesArray,
  type Columns,
  plainArray,
  textArray,
  timeArray,
  unnest,
  uuidArray,
} from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Notification } from './delivery-state.ts'
import type { Attempt, Signer } from './sending/delivery-attempt.ts'
import { isAcknowledged } from './sending/delivery-attempt.ts'
import { ANSWER_KEPT_BYTES } from './webhook-limits.ts'

/** An attempt as stored in the log. */
export interface LoggedAttempt {
  attemptId: string
  notifyId: string
  notifyType: string
  attemptNo: number
  /** The values in its query are masked. */
  url: string
  address: string | undefined
  startedAtMs: number
  durationMs: number
  status: number | undefined
  /** The outcome, as text for people. */
  message: string
  /** The first 4 KiB of the response, without secrets; null: no response, or an empty one. */
  answer: Buffer | null
  /** The beginnings of the signatures, enough to recognise them; null: nothing was signed. */
  signatureStarts: string | null
}

/** @param signer has the secrets that a response may echo */
export function loggedAttempt(
  { attemptId, startedAt, durationMs, outcome, signatureStarts }: Attempt,
  { notifyId, notifyType }: Pick<Notification, 'notifyId' | 'notifyType'>,
  attemptNo: number,
  url: string,
  signer: Signer,
): LoggedAttempt {
  return {
    attemptId,
    notifyId,
    notifyType,
    attemptNo,
    url: maskedUrl(url),
    address: outcome.address,
    startedAtMs: startedAt.getTime(),
    durationMs,
    status: outcome.kind === 'answer' ? outcome.status : undefined,
    message: outcomeMessage(outcome),
    answer: maskedAnswer(outcome, url, signer),
    signatureStarts: signatureStarts ?? null,
  }
}

/** Writes attempts of one tenant to the delivery log, which the operator and the tenant can see for 30 days. */
export function logAttempts(tx: Tx, tenantId: string, attempts: readonly LoggedAttempt[]): void {
  for (const alike of groupAlike(attempts, isAlike)) {
    tx.send({ name: 'webhooks-log', text: LOG, values: [tenantId, ...logValues(alike)] })
  }
}

/** True if these values are equal in both attempts, so that one statement can log both with single parameters. */
export function isAlike(one: LoggedAttempt, other: LoggedAttempt): boolean {
  return (
    one.url === other.url &&
    one.address === other.address &&
    one.status === other.status &&
    one.message === other.message
  )
}

/**
 * Groups items that are alike. There are few groups, usually only one, so comparing items is cheaper than building a key
 * for each.
 */
export function groupAlike<Item>(items: readonly Item[], alike: (one: Item, other: Item) => boolean): Item[][] {
  const groups: Item[][] = []
  let latest: Item[] = []
  for (const item of items) {
    if (latest.length === 0 || !alike(latest[0]!, item)) {
      const existing = groups.find(([first]) => alike(first!, item))
      latest = existing ?? []
      if (!existing) groups.push(latest)
    }
    latest.push(item)
  }
  return groups
}

const EACH: Columns = {
  notify_id: 'uuid',
  attempt_id: 'uuid',
  notify_type: 'text',
  attempt_no: 'smallint',
  started_at: 'timestamptz',
  duration_ms: 'integer',
  answer: 'bytea',
  signature_starts: 'text',
}

/** Logs attempts of tenant $1 that are alike; $6 contains their notify_ids. */
export const LOG = `
  insert into delivery_attempts (tenant_id, url, address, http_status, outcome, ${Object.keys(EACH).join(', ')})
  select $1::uuid, $2::text, $3::text, $4::integer, $5::text, attempt.* from ${unnest(6, EACH, 'attempt')}`

/** The parameters of LOG after the tenant. */
export function logValues(alike: readonly LoggedAttempt[]): unknown[] {
  const { url, address, status, message } = alike[0]!
  return [
    url,
    address,
    status,
    message,
    uuidArray(alike.map((attempt) => attempt.notifyId)),
    uuidArray(alike.map((attempt) => attempt.attemptId)),
    plainArray(alike.map((attempt) => attempt.notifyType)),
    plainArray(alike.map((attempt) => attempt.attemptNo)),
    timeArray(alike.map((attempt) => attempt.startedAtMs)),
    plainArray(alike.map((attempt) => attempt.durationMs)),
    bytesArray(alike.map((attempt) => attempt.answer)),
    textArray(alike.map((attempt) => attempt.signatureStarts)),
  ]
}

/** Describes an outcome for people. */
export function outcomeMessage(outcome: OutboundOutcome): string {
  if (isAcknowledged(outcome)) return ACKNOWLEDGED
  if (outcome.kind === 'failed') return outcome.message
  if (outcome.status >= 300 && outcome.status < 400) return `status ${outcome.status}: redirects are not followed`
  if (outcome.status === 410) return 'status 410: the receiver reports that the endpoint is gone'
  return `status ${outcome.status}`
}

export const ACKNOWLEDGED = 'acknowledged'

/** Masks the values in the query, which are often tokens. */
export function maskedUrl(url: string): string {
  const start = url.indexOf('?')
  if (start < 0) return url
  return url.slice(0, start) + url.slice(start).replaceAll(/=[^&#]*/g, `=${MASK}`)
}

const MASK = '***'

/** The first non-blank line of a response, shown to people. */
export function firstLineOf(answer: Buffer | null): string | undefined {
  const lines = answer?.toString('utf8').split(/[\r\n]/) ?? []
  const shown = lines.map((line) => line.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ').trim())
  const line = shown.find((each) => each !== '')
  return line && [...line].slice(0, LINE_SHOWN).join('')
}

/** In characters: enough to recognise the handler and its reason. */
const LINE_SHOWN = 200

/**
 * The response without AppSecrets, signatures and the values in the URL's query: receivers under development often echo the
 * request, or show their settings.
 */
function maskedAnswer(outcome: OutboundOutcome, url: string, signer: Signer): Buffer | null {
  if (outcome.kind !== 'answer' || outcome.body.length === 0) return null
  // latin1 maps each byte to one character, whatever the response's encoding.
  let text = outcome.body.toString('latin1')
  for (const secret of secretTexts(url, signer)) text = text.replaceAll(secret, MASK)
  text = text.replaceAll(HEX_SIGNATURE, MASK).replaceAll(BASE64_SIGNATURE, `v1,${MASK}`)
  return Buffer.from(text.slice(0, ANSWER_KEPT_BYTES), 'latin1')
}

const HEX_SIGNATURE = /(?<![0-9a-fA-F])[0-9a-fA-F]{64}(?![0-9a-fA-F])/g
/** In JSON, slashes may be escaped. */
const BASE64_SIGNATURE = /v1,(?:[A-Za-z0-9+]|\\?\/){43}=/g
/** Shorter query values are not tokens, and would be masked inside words. */
const QUERY_SECRET_LENGTH_MIN = 6

/**
 * AppSecrets, in plain form and in the form expected by libraries (docs/webhooks.md), and query values, as sent and
 * decoded.
 */
function secretTexts(url: string, { secrets }: Signer): string[] {
  const texts = secrets.flatMap(({ secret }) => [secret, Buffer.from(secret).toString('base64')])
  const start = url.indexOf('?')
  if (start < 0) return texts
  const sent = [...url.slice(start).matchAll(/=([^&#]*)/g)].map(([, value]) => value!)
  const read = [...new URLSearchParams(url.slice(start).replace(/#.*/s, '')).values()]
  const values = [...sent, ...read].filter((value) => value.length >= QUERY_SECRET_LENGTH_MIN)
  return [...texts, ...values.map((value) => Buffer.from(value).toString('latin1'))]
}
