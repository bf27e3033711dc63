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
  const column = <Value>(value: (logged: LoggedAttempt) => Value) => attempts.map(value)
  tx.send({
    name: 'webhooks-log',
    text: LOG,
    values: [
      column((logged) => logged.tenantId),
      column((logged) => logged.attempt.attemptId),
      column((logged) => logged.notifyId),
      column((logged) => logged.notifyType),
      column((logged) => logged.attemptNo),
      column((logged) => maskedUrl(logged.url)),
      column((logged) => logged.attempt.outcome.address ?? null),
      column((logged) => logged.attempt.startedAt),
      column((logged) => logged.attempt.duration_ms),
      column((logged) => statusOf(logged.attempt.outcome)),
      column((logged) => wordsOf(logged.attempt.outcome)),
      column((logged) => keptAnswer(logged)),
    ],
  })
}

const LOG = `
  insert into delivery_attempts (tenant_id, attempt_id, notify_id, notify_type, attempt_no, url, address, started_at,
                                 duration_ms, http_status, outcome, answer)
  select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::smallint[], $6::text[], $7::text[],
                       $8::timestamptz[], $9::integer[], $10::integer[], $11::text[], $12::bytea[])`

function statusOf(outcome: OutboundOutcome): number | null {
  return outcome.kind === 'answer' ? outcome.status : null
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

/** The beginning of an answer. Receivers under construction like to echo what they got: AppSecret and signatures go. */
function keptAnswer({ attempt, signer }: LoggedAttempt): Buffer | null {
  if (attempt.outcome.kind !== 'answer' || attempt.outcome.body.length === 0) return null
  // latin1 maps bytes to characters one to one, whatever the answer's encoding is.
  let text = attempt.outcome.body.toString('latin1')
  for (const { secret } of signer.secrets) text = text.replaceAll(secret, MASK)
  text = text.replaceAll(/\b[0-9a-fA-F]{64}\b/g, MASK).replaceAll(/\bv1,[A-Za-z0-9+/]{43}=/g, `v1,${MASK}`)
  return Buffer.from(text.slice(0, ANSWER_KEPT_BYTES), 'latin1')
}
