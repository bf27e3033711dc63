import type { OutboundOutcome } from '../../lib/outbound/outbound.ts'
import { ANSWER_KEPT_BYTES } from '../limits.ts'
import type { Signer } from '../sending/attempt.ts'
import { isAcknowledged } from '../sending/retry.ts'

/** Describes an outcome to people. */
export function outcomeMessage(outcome: OutboundOutcome): string {
  if (isAcknowledged(outcome)) return ACKNOWLEDGED
  if (outcome.kind === 'failed') return outcome.message
  if (outcome.status >= 300 && outcome.status < 400) return `status ${outcome.status}: redirects are not followed`
  if (outcome.status === 410) return 'status 410: the receiver reports that the endpoint is gone'
  return `status ${outcome.status}`
}

export const ACKNOWLEDGED = 'acknowledged'

/** Masks the values of the query, which are often tokens. */
export function maskedUrl(url: string): string {
  const start = url.indexOf('?')
  if (start < 0) return url
  return url.slice(0, start) + url.slice(start).replaceAll(/=[^&#]*/g, `=${MASK}`)
}

const MASK = '***'

/** The first line of a response that is not blank, shown to people. */
export function firstLineOf(answer: Buffer | null): string | undefined {
  const lines = answer?.toString('utf8').split(/[\r\n]/) ?? []
  const shown = lines.map((line) => line.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ').trim())
  const line = shown.find((each) => each !== '')
  return line && [...line].slice(0, LINE_SHOWN).join('')
}

/** In characters: enough to recognize the handler and its reason. */
const LINE_SHOWN = 200

/** The response without AppSecrets and signatures: receivers under construction often echo the request. */
export function maskedAnswer(outcome: OutboundOutcome, signer: Signer): Buffer | null {
  if (outcome.kind !== 'answer' || outcome.body.length === 0) return null
  // latin1 maps each byte to one character, in any encoding of the response.
  let text = outcome.body.toString('latin1')
  for (const { secret } of signer.secrets) text = text.replaceAll(secret, MASK)
  text = text.replaceAll(/\b[0-9a-fA-F]{64}\b/g, MASK).replaceAll(/\bv1,[A-Za-z0-9+/]{43}=/g, `v1,${MASK}`)
  return Buffer.from(text.slice(0, ANSWER_KEPT_BYTES), 'latin1')
}
