import { formatMoney } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { BalanceOutcome, Charge, Outcome, Supplier } from '@dealer-esim/wholesalers/supplier.ts'

/** The comparison of a purchase's actual cost with the charge that the adapter read. */
export interface ChargeFinding {
  /** UNCLEAR: the balance cannot prove it. */
  finding: 'PROVEN' | 'DIFFERS' | 'UNCLEAR'
  /** For an operator: the wrong amount, or where each amount was read. */
  message: string
}

/** What is known about one purchase. */
export interface ProvenPurchase {
  /** The balances before the purchase and after its look-up. */
  before: BalanceOutcome
  after: BalanceOutcome
  /** The charges that were read from the answers to the purchase and to its look-up. */
  ordered: Charge | undefined
  found: Charge | undefined
  /** The cost in the supplier's catalogue. */
  cost: Charge
  /** Another purchase by this gateway was in progress at the supplier. */
  isConcurrent: boolean
}

/**
 * Pure: compares the charges that an adapter read with the fall in the balance.
 *
 *   | balance                                             | finding                                                  |
 *   |-----------------------------------------------------|----------------------------------------------------------|
 *   | unreadable, risen or unchanged; in another currency | UNCLEAR                                                  |
 *   | fell, while something else was bought               | UNCLEAR                                                  |
 *   | fell by all charges that were read                  | PROVEN                                                   |
 *   | fell by an amount that differs from a charge        | DIFFERS, with the charge that is wrong                   |
 *   | fell, and no charge was read                        | PROVEN if it fell by the catalogue's cost, else DIFFERS  |
 */
export function proveCharge({ before, after, ordered, found, cost, isConcurrent }: ProvenPurchase): ChargeFinding {
  const unreadable = [before, after].find((balance) => balance.kind === 'silent')
  if (unreadable?.kind === 'silent') return unclear(`the balance was not read: ${unreadable.message}`)
  if (before.kind === 'silent' || after.kind === 'silent') return unclear('the balance was not read')
  const { currencyCode } = before
  const fall = before.amount - after.amount
  const money = (amount: bigint) => `${formatMoney(amount)} ${currencyCode}`
  if (after.currencyCode !== currencyCode) return unclear('the currency of the balance changed')
  if (isConcurrent)
    return unclear('other eSIMs were bought or cancelled at the supplier at the same time. Pause it and verify again')
  if (fall < 0n) return unclear(`the balance rose by ${money(-fall)}: it was topped up at the same time`)
  if (fall === 0n) return unclear('the balance did not change: the supplier may debit later')
  const rules = [
    { rule: 'charge in the answer to a purchase', charge: ordered },
    { rule: 'charge in the answer to a look-up', charge: found },
  ].flatMap(({ rule, charge }) => (charge === undefined ? [] : [{ rule, charge }]))
  if (rules.length === 0) rules.push({ rule: 'cost in the catalogue, which stands in for a charge', charge: cost })
  const other = rules.find(({ charge }) => charge.currencyCode !== currencyCode)
  if (other) return unclear(`the ${other.rule} is in ${other.charge.currencyCode}, and the balance in ${currencyCode}`)
  const wrong = rules.filter(({ charge }) => charge.amount !== fall)
  if (wrong.length === 0) {
    return { finding: 'PROVEN', message: `The balance fell by ${money(fall)}, which matches the ${rules[0]!.rule}.` }
  }
  const faults = wrong.map(
    ({ rule, charge }) => `the gateway reads the ${rule} as ${money(charge.amount)}${unitText(charge.amount, fall)}`,
  )
  const right =
    cost.amount === fall && cost.currencyCode === currencyCode ? ' It fell by the cost in the catalogue.' : ''
  return { finding: 'DIFFERS', message: `The balance fell by ${money(fall)}, but ${faults.join(', and ')}.${right}` }
}

function unclear(why: string): ChargeFinding {
  return { finding: 'UNCLEAR', message: `The balance does not show what was charged: ${why}.` }
}

/** If two amounts differ by a power of ten, a unit such as cents was misread. */
function unitText(read: bigint, fall: bigint): string {
  for (const factor of [10n, 100n, 1_000n, 10_000n]) {
    if (read === fall * factor) return `, ${factor} times as much: the unit is misread`
    if (read * factor === fall) return `, ${factor} times too little: the unit is misread`
  }
  return ''
}

/** Reads the balance for the comparison. */
export async function balanceOf(supplier: Pick<Supplier, 'balance'>): Promise<BalanceOutcome> {
  try {
    return (await supplier.balance?.()) ?? { kind: 'silent', message: 'the supplier does not report its balance' }
  } catch (error) {
    return { kind: 'silent', message: error instanceof Error ? error.message : String(error) }
  }
}

/** The charge stated by an outcome. */
export function chargeOf(outcome: Outcome): Charge | undefined {
  if (outcome.kind === 'delivered') return outcome.esim.charged
  return 'charged' in outcome ? outcome.charged : undefined
}

/** How long before a balance reading an attempt may have ended and still be debited after it. */
const LATE_DEBIT_MAX_S = 60

/**
 * Returns whether this gateway may have changed the balance at a supplier since `since`, other than through a verification.
 */
export async function isBuyingSince(db: Pick<Db, 'query'>, supplier: string, since: Date): Promise<boolean> {
  const attempts = await db.query({
    text: `select from supplier_attempts
           where supplier = $1 and operation in ('ORDER', 'TOPUP', 'CANCEL')
             and started_at >= $2::timestamptz - interval '1 day'
             and coalesce(finished_at, now()) >= $2::timestamptz - $3 * interval '1 second'
             and coalesce(outcome, '') not in ('refused', 'retry') limit 1`,
    values: [supplier, since, LATE_DEBIT_MAX_S],
  })
  return attempts.length > 0
}
