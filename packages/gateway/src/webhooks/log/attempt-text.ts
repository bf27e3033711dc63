import type { OutboundOutcome } from '../../lib/outbound/outbound.ts'
import { ANSWER_KEPT_BYTES } from '../limits.ts'
import type { Signer } from '../sending/attempt.ts'
import { isAcknowledged } from '../sending/retry.ts'

/** What happened, for people. */
export function outcomeMessage(outcome: OutboundOutcome): string {
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
export function firstLineOf(answer: Buffer | null): string | undefined {
  const lines = answer?.toString('utf8').split(/[\r\n]/) ?? []
  const shown = lines.map((line) => line.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ').trim())
  const line = shown.find((each) => each !== '')
  return line && [...line].slice(0, LINE_SHOWN).join('')
}

/** Characters: enough to tell which handler answered and why. */
const LINE_SHOWN = 200

/** An answer without secrets: receivers under construction like to echo what they got, AppSecret and signatures go. */
export function maskedAnswer(outcome: OutboundOutcome, signer: Signer): Buffer | null {
  if (outcome.kind !== 'answer' || outcome.body.length === 0) return null
  // latin1 maps bytes to characters one to one, whatever the answer's encoding is.
  let text = outcome.body.toString('latin1')
  for (const { secret } of signer.secrets) text = text.replaceAll(secret, MASK)
  text = text.replaceAll(/\b[0-9a-fA-F]{64}\b/g, MASK).replaceAll(/\bv1,[A-Za-z0-9+/]{43}=/g, `v1,${MASK}`)
  return Buffer.from(text.slice(0, ANSWER_KEPT_BYTES), 'latin1')
}
