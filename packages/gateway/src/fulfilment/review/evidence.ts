import { Refusal } from '../../lib/refusal.ts'

const EVIDENCE_LENGTH_MIN = 3
const EVIDENCE_LENGTH_MAX = 2_000

/** @throws Refusal where it says nothing. */
export function checkedEvidence(text: string): string {
  const evidence = text.trim()
  if (evidence.length < EVIDENCE_LENGTH_MIN || evidence.length > EVIDENCE_LENGTH_MAX) {
    throw new Refusal(422, 'EVIDENCE_MISSING', 'Say in the evidence what the supplier said, and who can confirm it.')
  }
  return evidence
}
