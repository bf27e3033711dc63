import { Refusal } from '../../lib/refusal.ts'

export const EVIDENCE_LENGTH_MIN = 3
export const EVIDENCE_LENGTH_MAX = 2_000

/** @throws Refusal where it says nothing, or more than is kept. */
export function checkedEvidence(text: string): string {
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
