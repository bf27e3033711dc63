import { formatMoney } from '@dealer-esim/contract'
import { createAlert } from '../../alerts/alerts.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Tx } from '../../lib/postgres/db.ts'

/** Percent of the threshold at which a notice is given, deepest first. */
const STEPS = [10n, 50n, 75n, 100n] as const

/** The deepest step that the balance has fallen below, in percent of the threshold; 0 when above it or there is none. */
export function lowBalanceStep(balance: bigint, threshold: bigint | null): number {
  if (threshold === null) return 0
  return Number(STEPS.find((step) => balance * 100n < threshold * step) ?? 0n)
}

/**
 * A change of step is worth an alert only on the way down. wallets.low_balance_alerted_percent takes the new step either
 * way, so that each crossing is reported once and a top-up re-arms the steps above it.
 */
export function isDeeper(step: number, before: number): boolean {
  return step !== 0 && (before === 0 || step < before)
}

/** A wallet before and after it lost money. */
export interface BalanceFall {
  tenantId: string
  currencyCode: string
  lowBalanceThreshold: bigint | null
  balance: bigint
  /** lowBalanceStep of `balance`. */
  step: number
  stepBefore: number
}

/** Tells the tenant's people where the balance has fallen below another step of its threshold; else nothing. */
export function alertLowBalance(tx: Tx, ids: Ids, fall: BalanceFall): void {
  const threshold = fall.lowBalanceThreshold
  if (threshold === null || !isDeeper(fall.step, fall.stepBefore)) return
  const depth = fall.step === 100 || threshold === 0n ? '' : `${fall.step} % of `
  const inCurrency = (amount: bigint) => `${formatMoney(amount)} ${fall.currencyCode}`
  createAlert(tx, ids, {
    tenantId: fall.tenantId,
    kind: 'LOW_BALANCE',
    audience: 'TENANT',
    message: `The balance is ${inCurrency(fall.balance)}, below ${depth}the threshold of ${inCurrency(threshold)}. Top up to go on selling.`,
    data: {
      step: fall.step,
      balance: Number(fall.balance),
      lowBalanceThreshold: Number(threshold),
      currencyCode: fall.currencyCode,
    },
  })
}
