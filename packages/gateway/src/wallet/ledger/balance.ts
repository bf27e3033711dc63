import { type BalanceAnswer, formatTime, MONEY_MAX } from '@dealer-esim/contract'
import sql from 'sql-template-tag'
import type { Db } from '../../lib/postgres/db.ts'

/** The answer of `account/balance`. Reads without a lock: the answer is as old as its way to the caller anyway. */
export async function readBalance(db: Pick<Db, 'query'>, tenantId: string): Promise<BalanceAnswer> {
  const [row] = await db.query<Row>(sql`
    select balance, credit_limit, currency_code, low_balance_threshold, updated_at
    from wallets where tenant_id = ${tenantId}`)
  if (!row) throw new Error(`tenant ${tenantId} has no wallet`)
  return {
    balance: Number(row.balance),
    creditLimit: Number(row.creditLimit),
    // The two together may pass what one amount can say; nobody can spend it in one order either.
    availableBalance: Math.min(Number(row.balance + row.creditLimit), MONEY_MAX),
    currencyCode: row.currencyCode,
    lowBalanceThreshold: row.lowBalanceThreshold === null ? null : Number(row.lowBalanceThreshold),
    lastUpdateTime: formatTime(row.updatedAt),
  }
}

interface Row {
  balance: bigint
  creditLimit: bigint
  currencyCode: string
  lowBalanceThreshold: bigint | null
  updatedAt: Date
}
