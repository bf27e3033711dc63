import { parseLine, Refusal } from '../../lib/refusal.ts'

export const REASON_LENGTH_MIN = 3
export const REASON_LENGTH_MAX = 300

/** Why an order or an eSIM is cancelled: dealers and auditors read it later. @throws Refusal for what is not one line of words */
export function checkedReason(text: string): string {
  const reason = parseLine(text, { min: REASON_LENGTH_MIN, max: REASON_LENGTH_MAX })
  if (reason !== undefined) return reason
  const words = `The reason has ${REASON_LENGTH_MIN} to ${REASON_LENGTH_MAX} characters on one line: it is read by whoever asks later.`
  throw new Refusal(422, 'REASON_INVALID', words)
}
