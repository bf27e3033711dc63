import { findFraction, formatMoney, MONEY_MAX } from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { parseLine, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import type { By } from '#platform/audit/audit.ts'
import type { LockedWallet } from './lock-wallets.ts'

/** Short enough to fit on one line of a statement. */
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

/** @throws Refusal if the currency has no decimal places and the amount has some */
export function checkWhole(amount: bigint, currencyCode: string): void {
  const fraction = findFraction(amount, currencyCode)
  if (fraction !== undefined) throw new Refusal(422, 'AMOUNT_INVALID', fraction)
}

/**
 * Checks that a credit or debit by operators keeps the balance within ±(2^53−1), beyond which amounts are not exact in
 * JSON, and that a credit leaves room for refunds, which are never refused. Refunds return what was debited, so the balance
 * will always fit as long as the sum of all credits does. Above that sum, a credit may raise the balance only to half of
 * the maximum; the other half is for refunds. Takes one statement if the balance would exceed that half.
 * @throws Refusal
 */
export async function checkFits(tx: Pick<Tx, 'query'>, wallet: LockedWallet, amount: bigint): Promise<void> {
  const balance = wallet.balance + amount
  if (balance > MONEY_MAX || balance < -MONEY_MAX) {
    const range = `within ±${formatMoney(MONEY_MAX)}`
    throw outOfRange(`The balance would be ${formatMoney(balance)}, but it must stay ${range}.`)
  }
  if (amount <= 0n || balance <= CREDITED_MAX) return
  const credited = (await sumCredits(tx, wallet.tenantId)) + amount
  if (credited <= MONEY_MAX) return
  const limit = `it may be at most ${formatMoney(CREDITED_MAX)}, because ${formatMoney(credited)} was credited in total`
  throw outOfRange(`The balance would be ${formatMoney(balance)}. To leave room for refunds, ${limit}.`)
}

const CREDITED_MAX = BigInt(MONEY_MAX) / 2n

/** Top-ups and adjustments, less those that took money out. Uses the index on the kinds, which does not contain orders. */
async function sumCredits(tx: Pick<Tx, 'query'>, tenantId: string): Promise<bigint> {
  const [row] = await tx.query<{ sum: bigint }>(sql`
    select coalesce(sum(case when to_account = 'WALLET' then amount else -amount end), 0)::bigint as sum
    from transfers where tenant_id = ${tenantId} and kind in ('TOP_UP', 'ADJUSTMENT')`)
  return row!.sum
}

function outOfRange(message: string): Refusal {
  return new Refusal(422, 'BALANCE_OUT_OF_RANGE', message)
}

/** How long the first person's proposal or confirmation counts. After that, nobody remembers the details. */
export const FIRST_PERSON_DAYS = 7

/** @param message what this person cannot do @throws Refusal if the second person is the first */
export function requireSecondPerson(firstPerson: string, by: By, message: string): void {
  if (firstPerson === by.actor) throw new Refusal(409, 'SECOND_PERSON_NEEDED', `${message} Ask another operator.`)
}
