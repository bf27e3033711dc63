import { type BalanceAnswer, type BalanceLowContent, formatMoney, formatTime, MONEY_MAX } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { createAlert } from '#alerts/create-alert.ts'
import { recordEvents } from '#platform/record-events.ts'
import type { Wallet } from './lock-wallets.ts'

/** The answer to `account/balance`. Reads without a lock. @throws if the tenant does not exist */
export async function getBalance(db: Pick<Db, 'query'>, tenantId: string): Promise<BalanceAnswer> {
  const [row] = await db.query<
    Pick<Wallet, 'balance' | 'creditLimit' | 'currencyCode' | 'lowBalanceThreshold' | 'updatedAt'>
  >(sql`
    select balance, credit_limit, currency_code, low_balance_threshold, updated_at
    from wallets where tenant_id = ${tenantId}`)
  if (!row) throw new Error(`tenant ${tenantId} has no wallet`)
  return {
    balance: Number(row.balance),
    creditLimit: Number(row.creditLimit),
    availableBalance: availableBalance(row),
    currencyCode: row.currencyCode,
    lowBalanceThreshold: row.lowBalanceThreshold === null ? null : Number(row.lowBalanceThreshold),
    lastUpdateTime: formatTime(row.updatedAt),
  }
}

/** Balance and credit together, limited to the maximum amount, which a single order cannot exceed either. */
export function availableBalance({ balance, creditLimit }: Pick<Wallet, 'balance' | 'creditLimit'>): number {
  return Math.min(Number(balance + creditLimit), MONEY_MAX)
}

/** An alert is sent when the balance falls below each of these percentages of the threshold. Lowest first. */
const ALERT_PERCENTS = [10n, 50n, 75n, 100n] as const

/**
 * The lowest of ALERT_PERCENTS that the balance is below; 0 if it is not below the threshold, or if there is no threshold.
 */
export function lowBalancePercent(balance: bigint, threshold: bigint | null): number {
  if (threshold === null) return 0
  return Number(ALERT_PERCENTS.find((percent) => balance * 100n < threshold * percent) ?? 0n)
}

/**
 * Only a falling balance causes alerts. wallets.low_balance_alerted_percent is updated in both directions, so each crossing
 * causes one alert, and a top-up re-enables the percentages above it.
 */
export function isLower(percent: number, before: number): boolean {
  return percent !== 0 && (before === 0 || percent < before)
}

type ReportedWallet = Pick<
  Wallet,
  'tenantId' | 'currencyCode' | 'balance' | 'creditLimit' | 'lowBalanceThreshold' | 'updatedAt'
>

/** A wallet whose low-balance percentage changed, in either direction. */
export interface LowBalanceChange extends ReportedWallet {
  /** The lowBalancePercent of `balance`. */
  percent: number
  percentBefore: number
}

/**
 * Alerts the tenant's people and records BALANCE_LOW if a debit has taken the balance below a lower percentage of its
 * threshold. If one debit takes it below several, the lowest is reported.
 */
export function reportLowBalance(tx: Tx, ids: Ids, change: LowBalanceChange): void {
  alertLowBalance(tx, ids, change)
  const threshold = change.lowBalanceThreshold
  if (threshold === null || !isLower(change.percent, change.percentBefore)) return
  const content: BalanceLowContent = {
    balance: Number(change.balance),
    availableBalance: availableBalance(change),
    lowBalanceThreshold: Number(threshold),
    percent: change.percent as BalanceLowContent['percent'],
    currencyCode: change.currencyCode,
    lastUpdateTime: formatTime(change.updatedAt),
  }
  const { tenantId, updatedAt } = change
  recordEvents(tx, [
    { tenantId, notifyId: ids.uuid(), notifyType: 'BALANCE_LOW', orderId: null, content, createdAt: updatedAt },
  ])
}

/** Alerts the tenant's people, without an event, if the balance has fallen below a lower percentage of its threshold. */
export function alertLowBalance(tx: Tx, ids: Ids, change: LowBalanceChange): void {
  const threshold = change.lowBalanceThreshold
  if (threshold === null || !isLower(change.percent, change.percentBefore)) return
  const depth = change.percent === 100 || threshold === 0n ? '' : `${change.percent} % of `
  const inCurrency = (amount: bigint) => `${formatMoney(amount)} ${change.currencyCode}`
  createAlert(tx, ids, {
    tenantId: change.tenantId,
    kind: 'LOW_BALANCE',
    message: `The balance is ${inCurrency(change.balance)}, below ${depth}the threshold of ${inCurrency(threshold)}. Top up to continue selling.`,
    data: {
      step: change.percent,
      balance: Number(change.balance),
      lowBalanceThreshold: Number(threshold),
      currencyCode: change.currencyCode,
    },
  })
}
