import { bytesArray, type Columns, NULL, plainArray, textArray, timeArray, unnest, uuidArray } from '../lib/columns.ts'
import type { Tx } from '../lib/db.ts'
import type { OutboundOutcome } from '../lib/outbound/outbound.ts'
import type { Attempt, Signer } from './attempt.ts'
import { ANSWER_KEPT_BYTES } from './limits.ts'
import { isAcknowledged } from './retry.ts'

export interface LoggedAttempt {
  tenantId: string
  notifyId: string
  notifyType: string
  attemptNo: number
  url: string
  attempt: Attempt
  /** Whose secrets an answer may echo. */
  signer: Signer
}

/** Writes attempts into the log that operators and the tenant see; kept for 30 days. */
export function logAttempts(tx: Tx, attempts: readonly LoggedAttempt[]): void {
  if (attempts.length === 0) return
  tx.send({
    name: 'webhooks-log',
    text: LOG,
    values: [
      uuidArray(attempts.map((logged) => logged.tenantId)),
      uuidArray(attempts.map((logged) => logged.attempt.attemptId)),
      uuidArray(attempts.map((logged) => logged.notifyId)),
      plainArray(attempts.map((logged) => logged.notifyType)),
      plainArray(attempts.map((logged) => logged.attemptNo)),
      textArray(attempts.map((logged) => maskedUrl(logged.url))),
      plainArray(attempts.map((logged) => logged.attempt.outcome.address ?? NULL)),
      timeArray(attempts.map((logged) => logged.attempt.startedAt.getTime())),
      plainArray(attempts.map((logged) => logged.attempt.duration_ms)),
      plainArray(attempts.map((logged) => statusOf(logged.attempt.outcome))),
      textArray(attempts.map((logged) => wordsOf(logged.attempt.outcome))),
      bytesArray(attempts.map((logged) => keptAnswer(logged))),
    ],
  })
}

const ATTEMPTS: Columns = {
  tenant_id: 'uuid',
  attempt_id: 'uuid',
  notify_id: 'uuid',
  notify_type: 'text',
  attempt_no: 'smallint',
  url: 'text',
  address: 'text',
  started_at: 'timestamptz',
  duration_ms: 'integer',
  http_status: 'integer',
  outcome: 'text',
  answer: 'bytea',
}
const LOG = `
  insert into delivery_attempts (${Object.keys(ATTEMPTS).join(', ')})
  select * from ${unnest(1, ATTEMPTS, 'attempt')}`

function statusOf(outcome: OutboundOutcome): number | typeof NULL {
  return outcome.kind === 'answer' ? outcome.status : NULL
}

/** What happened, for people. */
export function wordsOf(outcome: OutboundOutcome): string {
  if (isAcknowledged(outcome)) return ACKNOWLEDGED
  if (outcome.kind === 'failed') return outcome.words
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
export function firstLineOf({ attempt, signer }: Pick<LoggedAttempt, 'attempt' | 'signer'>): string | undefined {
  const lines =
    maskedAnswer({ attempt, signer })
      ?.toString('utf8')
      .split(/[\r\n]/) ?? []
  const shown = lines.map((line) => line.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ').trim())
  const line = shown.find((each) => each !== '')
  return line && [...line].slice(0, LINE_SHOWN).join('')
}

/** Characters: enough to tell which handler answered and why. */
const LINE_SHOWN = 200

function keptAnswer(logged: LoggedAttempt): Buffer | null {
  return maskedAnswer(logged)?.subarray(0, ANSWER_KEPT_BYTES) ?? null
}

/** An answer without secrets: receivers under construction like to echo what they got, AppSecret and signatures go. */
function maskedAnswer({ attempt, signer }: Pick<LoggedAttempt, 'attempt' | 'signer'>): Buffer | null {
  if (attempt.outcome.kind !== 'answer' || attempt.outcome.body.length === 0) return null
  // latin1 maps bytes to characters one to one, whatever the answer's encoding is.
  let text = attempt.outcome.body.toString('latin1')
  for (const { secret } of signer.secrets) text = text.replaceAll(secret, MASK)
  text = text.replaceAll(/\b[0-9a-fA-F]{64}\b/g, MASK).replaceAll(/\bv1,[A-Za-z0-9+/]{43}=/g, `v1,${MASK}`)
  return Buffer.from(text, 'latin1')
}
