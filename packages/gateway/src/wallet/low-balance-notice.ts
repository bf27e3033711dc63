import { formatMoney } from '@dealer-esim/contract'
import { notify } from '../alerts/alerts.ts'
import type { Ids } from '../lib/ids.ts'
import type { Tx } from '../lib/postgres/db.ts'
import { isDeeper } from './low-balance.ts'

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
export function tellLowBalance(tx: Tx, ids: Ids, fall: BalanceFall): void {
  const threshold = fall.lowBalanceThreshold
  if (threshold === null || !isDeeper(fall.step, fall.stepBefore)) return
  const depth = fall.step === 100 || threshold === 0n ? '' : `${fall.step} % of `
  const inCurrency = (amount: bigint) => `${formatMoney(amount)} ${fall.currencyCode}`
  notify(tx, ids, {
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
