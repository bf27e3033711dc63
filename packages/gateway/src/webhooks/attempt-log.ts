import type { OutboundOutcome } from '../lib/outbound/outbound.ts'
import { bytesArray, type Columns, plainArray, timeArray, unnest, uuidArray } from '../lib/postgres/columns.ts'
import type { Tx } from '../lib/postgres/db.ts'
import type { Attempt, Notification, Signer } from './attempt.ts'
import { ANSWER_KEPT_BYTES } from './limits.ts'
import { isAcknowledged } from './retry.ts'

/** An attempt as the log keeps it: nothing else of it is held until it is written. */
export interface LoggedAttempt {
  attemptId: string
  notifyId: string
  notifyType: string
  attemptNo: number
  /** Values in its query masked. */
  url: string
  address: string | undefined
  startedAtMs: number
  durationMs: number
  status: number | undefined
  /** What happened, for people. */
  words: string
  /** The first 4 KiB, without secrets; null: none, or an empty one. */
  answer: Buffer | null
}

/** @param signer whose secrets an answer may echo */
export function loggedAttempt(
  { attemptId, startedAt, durationMs, outcome }: Attempt,
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
    words: wordsOf(outcome),
    answer: keptAnswer(outcome, signer),
  }
}

/** Writes attempts of one tenant into the log that operators and the tenant see; kept for 30 days. */
export function logAttempts(tx: Tx, tenantId: string, attempts: readonly LoggedAttempt[]): void {
  for (const alike of groupAlike(attempts, isAlike)) {
    tx.send({ name: 'webhooks-log', text: LOG, values: [tenantId, ...logValues(alike)] })
  }
}

/** Attempts that are alike are logged by one statement, which says once what they have in common. */
export function isAlike(one: LoggedAttempt, other: LoggedAttempt): boolean {
  return (
    one.url === other.url && one.address === other.address && one.status === other.status && one.words === other.words
  )
}

/** Few groups, mostly one: each item is compared with the first of a group, where a key would be made of each. */
export function groupAlike<Item>(items: readonly Item[], alike: (one: Item, other: Item) => boolean): Item[][] {
  const groups: Item[][] = []
  let latest: Item[] = []
  for (const item of items) {
    if (latest.length === 0 || !alike(latest[0]!, item)) {
      const known = groups.find(([first]) => alike(first!, item))
      latest = known ?? []
      if (!known) groups.push(latest)
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
}

/** Logs attempts of the tenant $1 that are alike; the array of their events is $6. */
export const LOG = `
  insert into delivery_attempts (tenant_id, url, address, http_status, outcome, ${Object.keys(EACH).join(', ')})
  select $1::uuid, $2::text, $3::text, $4::integer, $5::text, attempt.* from ${unnest(6, EACH, 'attempt')}`

/** The parameters of LOG behind the tenant. */
export function logValues(alike: readonly LoggedAttempt[]): unknown[] {
  const { url, address, status, words } = alike[0]!
  return [
    url,
    address,
    status,
    words,
    uuidArray(alike.map((attempt) => attempt.notifyId)),
    uuidArray(alike.map((attempt) => attempt.attemptId)),
    plainArray(alike.map((attempt) => attempt.notifyType)),
    plainArray(alike.map((attempt) => attempt.attemptNo)),
    timeArray(alike.map((attempt) => attempt.startedAtMs)),
    plainArray(alike.map((attempt) => attempt.durationMs)),
    bytesArray(alike.map((attempt) => attempt.answer)),
  ]
}

/** What happened, for people. */
export function wordsOf(outcome: OutboundOutcome): string {
  if (isAcknowledged(outcome)) return ACKNOWLEDGED
  if (outcome.kind === 'failed') return outcome.message
  if (outcome.status >= 300 && outcome.status < 400) return `status ${outcome.status}: redirects are not followed`
  if (outcome.status === 410) return 'status 410: the receiver says that the endpoint is gone'
  return `status ${outcome.status}`
}

export const ACKNOWLEDGED = 'acknowledged'

/** Values in a query are often tokens. */
export function maskedUrl(url: string): string {
  const start = url.indexOf('?')
  if (start < 0) return url
  return url.slice(0, start) + url.slice(start).replaceAll(/=[^&#]*/g, `=${MASK}`)
}

const MASK = '***'

/** The first line of an answer that has words in it, for people. */
export function firstLineOf(answer: Buffer | null): string | undefined {
  const lines = answer?.toString('utf8').split(/[\r\n]/) ?? []
  const shown = lines.map((line) => line.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ').trim())
  const line = shown.find((each) => each !== '')
  return line && [...line].slice(0, LINE_SHOWN).join('')
}

/** Characters: enough to tell which handler answered and why. */
const LINE_SHOWN = 200

/** An answer without secrets: receivers under construction like to echo what they got, AppSecret and signatures go. */
function keptAnswer(outcome: OutboundOutcome, signer: Signer): Buffer | null {
  if (outcome.kind !== 'answer' || outcome.body.length === 0) return null
  // latin1 maps bytes to characters one to one, whatever the answer's encoding is.
  let text = outcome.body.toString('latin1')
  for (const { secret } of signer.secrets) text = text.replaceAll(secret, MASK)
  text = text.replaceAll(/\b[0-9a-fA-F]{64}\b/g, MASK).replaceAll(/\bv1,[A-Za-z0-9+/]{43}=/g, `v1,${MASK}`)
  return Buffer.from(text.slice(0, ANSWER_KEPT_BYTES), 'latin1')
}
