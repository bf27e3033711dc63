import { Refusal } from '../../lib/refusal.ts'

export const REASON_LENGTH_MIN = 3
export const REASON_LENGTH_MAX = 300

/** Why an order or an eSIM is cancelled: dealers and auditors read it later. @throws Refusal for what is not one line of words */
export function checkedReason(text: string): string {
  const reason = text.trim()
  const length = [...reason].length
  const fits = length >= REASON_LENGTH_MIN && length <= REASON_LENGTH_MAX
  if (fits && !/[\u0000-\u001f\u007f\p{Cs}]/u.test(reason)) return reason
  const words = `The reason has ${REASON_LENGTH_MIN} to ${REASON_LENGTH_MAX} characters on one line: it is read by whoever asks later.`
  throw new Refusal(422, 'REASON_INVALID', words)
}
