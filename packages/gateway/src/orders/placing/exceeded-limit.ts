import { type CodeData, formatTime, type SpendScope } from '@dealer-esim/contract'
import type { KeySpending } from '#tenants/keys/key-spending.ts'

/** The limits on a tenant's debits, and the amounts spent so far: today, and with the restricted key that signed. */
interface SpendLimits {
  /** The account's limit; null: none. */
  dailySpendLimit: bigint | null
  spent: bigint
  key: KeySpending | undefined
}

/** Finds the first spend limit that an order would exceed, in the order of SPEND_SCOPES. */
export function exceededLimit(
  amount: bigint,
  { dailySpendLimit, spent, key }: SpendLimits,
  now: Date,
): CodeData<'200014'> | undefined {
  return (
    checkLimit('TENANT_DAY', dailySpendLimit, spent, amount, now) ??
    (key &&
      (checkLimit('KEY_ORDER', key.perOrderMax, 0n, amount, now) ??
        checkLimit('KEY_DAY', key.perDayMax, key.daySpent, amount, now) ??
        checkLimit('KEY_TOTAL', key.totalMax, key.totalSpent, amount, now)))
  )
}

function checkLimit(scope: SpendScope, limit: bigint | null, spent: bigint, amount: bigint, now: Date) {
  if (limit === null || spent + amount <= limit) return undefined
  const resetTime = scope === 'TENANT_DAY' || scope === 'KEY_DAY' ? endOfDay(now) : null
  return { scope, limit: Number(limit), spent: Number(spent), resetTime }
}

/** The UTC day of a moment, in the format in which dates are read from the database. */
export function dayOf(moment: Date): string {
  return formatTime(moment).slice(0, 10)
}

const DAY_MS = 86_400_000

/** The end of the UTC day, when daily limits begin again. */
function endOfDay(now: Date): string {
  return formatTime(new Date((Math.floor(now.getTime() / DAY_MS) + 1) * DAY_MS))
}
