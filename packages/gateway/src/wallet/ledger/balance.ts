import { type BalanceAnswer, formatTime, MONEY_MAX } from '@dealer-esim/contract'
import sql from 'sql-template-tag'
import type { Db } from '../../lib/postgres/db.ts'
import type { Wallet } from './lock.ts'

/** The answer of `account/balance`. Reads without a lock. @throws for a tenant that does not exist */
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

/** Balance and credit together, at most the largest amount, which no single order can exceed either. */
export function availableBalance({ balance, creditLimit }: Pick<Wallet, 'balance' | 'creditLimit'>): number {
  return Math.min(Number(balance + creditLimit), MONEY_MAX)
}
