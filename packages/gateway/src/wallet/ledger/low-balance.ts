import { type BalanceLowContent, formatMoney, formatTime } from '@dealer-esim/contract'
import { createAlert } from '../../alerts/alerts.ts'
import { recordEvents } from '../../events/record.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { availableBalance } from './balance.ts'
import type { Wallet } from './lock.ts'

/** An alert is sent below each of these percentages of the threshold. Lowest first. */
const ALERT_PERCENTS = [10n, 50n, 75n, 100n] as const

/** The lowest of ALERT_PERCENTS that the balance is below; 0 if it is not below the threshold, or there is no threshold. */
export function lowBalancePercent(balance: bigint, threshold: bigint | null): number {
  if (threshold === null) return 0
  return Number(ALERT_PERCENTS.find((percent) => balance * 100n < threshold * percent) ?? 0n)
}

/**
 * Only a falling balance is alerted. wallets.low_balance_alerted_percent is updated in both directions, so each crossing is
 * alerted once and a top-up re-arms the percentages above it.
 */
export function isLower(percent: number, before: number): boolean {
  return percent !== 0 && (before === 0 || percent < before)
}

type FallingWallet = Pick<
  Wallet,
  'tenantId' | 'currencyCode' | 'balance' | 'creditLimit' | 'lowBalanceThreshold' | 'updatedAt'
>

/** A wallet whose low-balance percentage changed. */
export interface BalanceFall extends FallingWallet {
  /** lowBalancePercent of `balance`. */
  percent: number
  percentBefore: number
}

/**
 * Alerts the tenant's people and records BALANCE_LOW if a debit has taken the balance below a lower percentage of its
 * threshold. One debit that takes it below several reports the lowest.
 */
export function reportLowBalance(tx: Tx, ids: Ids, fall: BalanceFall): void {
  alertLowBalance(tx, ids, fall)
  const threshold = fall.lowBalanceThreshold
  if (threshold === null || !isLower(fall.percent, fall.percentBefore)) return
  const content: BalanceLowContent = {
    balance: Number(fall.balance),
    availableBalance: availableBalance(fall),
    lowBalanceThreshold: Number(threshold),
    percent: fall.percent as BalanceLowContent['percent'],
    currencyCode: fall.currencyCode,
    lastUpdateTime: formatTime(fall.updatedAt),
  }
  const { tenantId, updatedAt } = fall
  recordEvents(tx, [
    { tenantId, notifyId: ids.uuid(), notifyType: 'BALANCE_LOW', orderId: null, content, createdAt: updatedAt },
  ])
}

/** Alerts the tenant's people, without an event, if the balance has fallen below a lower percentage of its threshold. */
export function alertLowBalance(tx: Tx, ids: Ids, fall: BalanceFall): void {
  const threshold = fall.lowBalanceThreshold
  if (threshold === null || !isLower(fall.percent, fall.percentBefore)) return
  const depth = fall.percent === 100 || threshold === 0n ? '' : `${fall.percent} % of `
  const inCurrency = (amount: bigint) => `${formatMoney(amount)} ${fall.currencyCode}`
  createAlert(tx, ids, {
    tenantId: fall.tenantId,
    kind: 'LOW_BALANCE',
    audience: 'TENANT',
    message: `The balance is ${inCurrency(fall.balance)}, below ${depth}the threshold of ${inCurrency(threshold)}. Top up to continue selling.`,
    data: {
      step: fall.percent,
      balance: Number(fall.balance),
      lowBalanceThreshold: Number(threshold),
      currencyCode: fall.currencyCode,
    },
  })
}
