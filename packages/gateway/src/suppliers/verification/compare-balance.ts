import { formatMoney } from '@dealer-esim/contract'
import type { BalanceOutcome, Charge } from '@dealer-esim/wholesalers/supplier.ts'

/** What a purchase took from the balance, beside what the gateway records for it. */
export interface BalanceCheck {
  debited: bigint
  recorded: bigint
  /** The supplier stated the charge; otherwise the cost in the catalogue is recorded. */
  isCharge: boolean
  currencyCode: string
}

interface Bought {
  cost: bigint
  currencyCode: string
  balanceBefore: bigint | null
  balanceCurrency: string | null
}

/** Pure. @returns undefined if a balance is unknown, or in another currency than the charge */
export function compareBalance(
  { cost, currencyCode, balanceBefore, balanceCurrency }: Bought,
  charged: Charge | undefined,
  after: BalanceOutcome | undefined,
): BalanceCheck | undefined {
  const recorded = charged ?? { amount: cost, currencyCode }
  if (balanceBefore === null || after?.kind !== 'balance') return undefined
  if (balanceCurrency !== after.currencyCode || recorded.currencyCode !== after.currencyCode) return undefined
  const debited = balanceBefore - after.amount
  return { debited, recorded: recorded.amount, isCharge: charged !== undefined, currencyCode: after.currencyCode }
}

/** Such as `The balance fell by 4.60 USD, but the charge is recorded as 4.50 USD.` and what that may mean. */
export function describeBalance({ debited, recorded, isCharge, currencyCode }: BalanceCheck): string {
  const fell = `The balance fell by ${formatMoney(debited)} ${currencyCode}`
  const what = isCharge ? 'the charge' : 'the cost in the catalogue, which stands in for an unknown charge,'
  if (debited === recorded) return `${fell}, as ${what} says.`
  const other = 'If nothing else was bought with the account meanwhile, report this: costs and margins are wrong by it.'
  return `${fell}, but ${what} is ${formatMoney(recorded)} ${currencyCode}. ${other}`
}
