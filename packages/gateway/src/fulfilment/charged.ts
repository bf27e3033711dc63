import type { LockedItem } from '../orders/lock.ts'
import type { Charge } from '../suppliers/supplier.ts'

/** Of an item for which nothing was taken that was not given back. */
export const NOT_CHARGED: Pick<LockedItem, 'charged' | 'chargedCurrency'> = { charged: null, chargedCurrency: null }

/** What was said of it before stands where nothing is said now. */
export function keepCharge(item: LockedItem, charged: Charge | undefined): void {
  if (charged === undefined) return
  item.charged = charged.amount
  item.chargedCurrency = charged.currencyCode
}
