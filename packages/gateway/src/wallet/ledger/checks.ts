import { formatMoney, MONEY_MAX } from '@dealer-esim/contract'
import { parseLine, Refusal } from '../../lib/refusal.ts'
import type { LockedWallet } from './lock.ts'

/** What fits on a statement's line. */
export const LINE_LENGTH_MAX = { reference: 64, reason: 200 } as const

/** One line of text that people write for a movement. @throws Refusal */
export function checkLine(member: keyof typeof LINE_LENGTH_MAX, text: string): string {
  const most = LINE_LENGTH_MAX[member]
  const line = parseLine(text, { min: 1, max: most })
  if (line !== undefined) return line
  throw new Refusal(422, `${member.toUpperCase()}_INVALID`, `The ${member} has 1 to ${most} characters on one line.`)
}

/** @throws Refusal for nothing, too much, or less than nothing where only more will do */
export function checkAmount(amount: bigint, sign: 'positive' | 'either'): bigint {
  const absolute = amount < 0n ? -amount : amount
  if (amount !== 0n && absolute <= MONEY_MAX && (sign === 'either' || amount > 0n)) return amount
  const range = sign === 'positive' ? 'more than 0.00' : 'other than 0.00, less than zero to take money,'
  throw new Refusal(422, 'AMOUNT_INVALID', `The amount is ${range} and at most ${formatMoney(MONEY_MAX)}.`)
}

/** Amounts beyond ±(2^53−1) cannot be said on the wire. @throws Refusal */
export function checkFits(wallet: LockedWallet, amount: bigint): void {
  const balance = wallet.balance + amount
  if (balance <= MONEY_MAX && balance >= -MONEY_MAX) return
  throw new Refusal(
    422,
    'BALANCE_OUT_OF_RANGE',
    `The balance would be ${formatMoney(balance)}: it stays within ±${formatMoney(MONEY_MAX)}.`,
  )
}
