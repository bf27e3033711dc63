import { parseLine, Refusal } from '../../lib/refusal.ts'

export const EVIDENCE_LENGTH_MIN = 3
export const EVIDENCE_LENGTH_MAX = 2_000

/** @throws Refusal where it says nothing, or more than is kept. */
export function parseEvidence(text: string): string {
  const evidence = text.trim()
  const { length } = [...evidence]
  if (length < EVIDENCE_LENGTH_MIN) {
    throw new Refusal(422, 'EVIDENCE_MISSING', 'Say in the evidence what the supplier said, and who can confirm it.')
  }
  if (length > EVIDENCE_LENGTH_MAX) {
    const words = `The evidence has ${length} characters, and ${EVIDENCE_LENGTH_MAX} at most are kept: say what decides, and where the rest is.`
    throw new Refusal(422, 'EVIDENCE_TOO_LONG', words)
  }
  return evidence
}

export const REASON_LENGTH_MIN = 3
export const REASON_LENGTH_MAX = 300

/** Why an order or an eSIM is cancelled: dealers and auditors read it later. @throws Refusal for what is not one line of words */
export function parseReason(text: string): string {
  const reason = parseLine(text, { min: REASON_LENGTH_MIN, max: REASON_LENGTH_MAX })
  if (reason !== undefined) return reason
  const words = `The reason has ${REASON_LENGTH_MIN} to ${REASON_LENGTH_MAX} characters on one line: it is read by whoever asks later.`
  throw new Refusal(422, 'REASON_INVALID', words)
}
