import { parseLine, Refusal } from '@dealer-esim/lib/refusal.ts'

export const EVIDENCE_LENGTH_MIN = 3
export const EVIDENCE_LENGTH_MAX = 2_000

/**
 * Checks the evidence for an operator's resolution: the supplier's statement.
 * @throws Refusal if it is too short or too long
 */
export function parseEvidence(text: string): string {
  const evidence = text.trim()
  const { length } = [...evidence]
  if (length > 0 && length < EVIDENCE_LENGTH_MIN) {
    const message = `“${evidence}” is too short: the evidence needs at least ${EVIDENCE_LENGTH_MIN} characters. Write who said what.`
    throw new Refusal(422, 'EVIDENCE_TOO_SHORT', message)
  }
  if (length === 0) {
    throw new Refusal(
      422,
      'EVIDENCE_MISSING',
      'Evidence is missing. Write what the supplier said and who can confirm it.',
    )
  }
  if (length > EVIDENCE_LENGTH_MAX) {
    const message = `The evidence has ${length} characters; the limit is ${EVIDENCE_LENGTH_MAX}. Keep the essential part and say where the rest is.`
    throw new Refusal(422, 'EVIDENCE_TOO_LONG', message)
  }
  return evidence
}

export const REASON_LENGTH_MIN = 3
export const REASON_LENGTH_MAX = 300

/** Checks the reason for cancelling an order or eSIM, which dealers and auditors read. @throws Refusal unless it is one line */
export function parseReason(text: string): string {
  const reason = parseLine(text, { min: REASON_LENGTH_MIN, max: REASON_LENGTH_MAX })
  if (reason !== undefined) return reason
  const message = `The reason must be one line of ${REASON_LENGTH_MIN} to ${REASON_LENGTH_MAX} characters. Dealers and auditors read it.`
  throw new Refusal(422, 'REASON_INVALID', message)
}
