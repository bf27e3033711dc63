import { formatMoney, MONEY_MAX } from '@dealer-esim/contract'
import type { By } from '../../audit/audit.ts'
import { parseLine, Refusal } from '../../lib/refusal.ts'
import type { LockedWallet } from './lock.ts'

/** Fit on one line of a statement. */
export const LINE_LENGTH_MAX = { reference: 64, reason: 200 } as const

/** Checks the reference or reason of a movement and returns it trimmed. @throws Refusal */
export function checkLine(member: keyof typeof LINE_LENGTH_MAX, text: string): string {
  const max = LINE_LENGTH_MAX[member]
  const line = parseLine(text, { min: 1, max })
  if (line !== undefined) return line
  throw new Refusal(422, `${member.toUpperCase()}_INVALID`, `The ${member} must be one line of 1 to ${max} characters.`)
}

/** @throws Refusal if the amount is zero, too large, or negative where only a positive one is allowed */
export function checkAmount(amount: bigint, sign: 'positive' | 'either'): bigint {
  const absolute = amount < 0n ? -amount : amount
  if (amount !== 0n && absolute <= MONEY_MAX && (sign === 'either' || amount > 0n)) return amount
  const max = formatMoney(MONEY_MAX)
  const range = sign === 'positive' ? `be more than 0.00 and at most ${max}` : `not be 0.00, and be within ±${max}`
  throw new Refusal(422, 'AMOUNT_INVALID', `The amount must ${range}.`)
}

/** Amounts beyond ±(2^53−1) are not exact in JSON. @throws Refusal */
export function checkFits(wallet: LockedWallet, amount: bigint): void {
  const balance = wallet.balance + amount
  if (balance <= MONEY_MAX && balance >= -MONEY_MAX) return
  throw new Refusal(
    422,
    'BALANCE_OUT_OF_RANGE',
    `The balance would be ${formatMoney(balance)}, but it must stay within ±${formatMoney(MONEY_MAX)}.`,
  )
}

/** The time for which the first person's proposal or confirmation counts. Later, nobody remembers the details any more. */
export const FIRST_PERSON_DAYS = 7

/** @param message what this person cannot do @throws Refusal if the second person is the first */
export function requireSecondPerson(firstPerson: string, by: By, message: string): void {
  if (firstPerson === by.actor) throw new Refusal(409, 'SECOND_PERSON_NEEDED', `${message} Ask another operator.`)
}
