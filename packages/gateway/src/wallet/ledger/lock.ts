import type { Tx } from '../../lib/postgres/db.ts'
import { notFound, requireUuid } from '../../lib/refusal.ts'

/** A wallet's row, as it was read at some time. */
export interface Wallet {
  tenantId: string
  currencyCode: string
  balance: bigint
  creditLimit: bigint
  dailySpendLimit: bigint | null
  lowBalanceThreshold: bigint | null
  lowBalanceStep: number
  /** The UTC day that `spent` belongs to, as `2026-11-21`. */
  spentOn: string
  spent: bigint
  version: bigint
  /** Of the latest transfer, in whole milliseconds: the next one is not older. */
  updatedAt: Date
}

declare const locked: unique symbol
/** Read under its lock: whoever has the value holds the lock until the transaction ends. Only made here. */
export type LockedWallet = Wallet & { readonly [locked]: true }

/**
 * Locks the wallet's row. Lock order everywhere: wallets (ascending tenant), orders, items; so whoever moves money
 * calls this before it locks an order.
 * @throws for a tenant that does not exist: wallets are made with their tenants.
 */
export async function lockWallet(tx: Tx, tenantId: string): Promise<LockedWallet> {
  return (await lockWallets(tx, [tenantId]))[0]!
}

/** The same for a tenant id that somebody typed. @throws Refusal for a tenant that is not there */
export async function lockTenantWallet(tx: Tx, typedId: string): Promise<LockedWallet> {
  const tenantId = requireUuid(typedId, 'tenant')
  const [found] = await tx.query({ text: 'select from wallets where tenant_id = $1', values: [tenantId] })
  if (!found) throw notFound('tenant')
  return lockWallet(tx, tenantId)
}

/**
 * Locks several wallets, each named once, in ascending tenant order whatever the order of the call (the sort is below the
 * locking in the plan). `no key update` is the lock that an update takes: it excludes every other writer and lets
 * foreign-key checks pass. Measured for 32 wallets: 0.8 ms, where a statement for each, pipelined, took 1.7 ms.
 */
export async function lockWallets(tx: Tx, tenantIds: string[]): Promise<LockedWallet[]> {
  const rows = await tx.query<Row>({
    name: 'wallets-lock',
    text: `select tenant_id, currency_code, balance, credit_limit, daily_spend_limit, low_balance_threshold,
                  low_balance_alerted_percent, spent_on, spent, version, updated_at
           from wallets where tenant_id = any($1::uuid[]) order by tenant_id for no key update`,
    values: [tenantIds],
  })
  if (rows.length < tenantIds.length) {
    const missing = tenantIds.find((tenantId) => !rows.some((row) => row.tenantId === tenantId))
    throw new Error(`tenant ${missing} has no wallet`)
  }
  return rows.map(walletOf) as LockedWallet[]
}

/**
 * Changes the row hash of a wallet whose balance stays, so that no order which was decided on the old row is written. For
 * those who take a transactionId without moving money: the wallet's lock guards the tenant's transactionIds.
 */
export function touchWallet(tx: Tx, { tenantId }: LockedWallet): void {
  tx.send({
    name: 'wallets-touch',
    text: `update wallets set updated_at =
             greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
           where tenant_id = $1`,
    values: [tenantId],
  })
}

function walletOf(row: Row): Wallet {
  return {
    tenantId: row.tenantId,
    currencyCode: row.currencyCode,
    balance: row.balance,
    creditLimit: row.creditLimit,
    dailySpendLimit: row.dailySpendLimit,
    lowBalanceThreshold: row.lowBalanceThreshold,
    lowBalanceStep: row.lowBalanceAlertedPercent,
    spentOn: row.spentOn,
    spent: row.spent,
    version: row.version,
    updatedAt: row.updatedAt,
  }
}

/** A 64-bit hash of the whole row of `w`: equal before and after means that nothing has changed. */
export const WALLET_ROW_HASH = 'hash_record_extended(w, 0)'

/**
 * The same lock as a part of a statement that writes what was judged on memory (wallet/ledger/cache.ts), in ascending tenant
 * order.
 */
export const lockRemembered = (tenantIds: string) => `
  select updated_at, ${WALLET_ROW_HASH} as row_hash from wallets w
  where tenant_id = any (${tenantIds}) order by tenant_id for no key update`

interface Row {
  tenantId: string
  currencyCode: string
  balance: bigint
  creditLimit: bigint
  dailySpendLimit: bigint | null
  lowBalanceThreshold: bigint | null
  lowBalanceAlertedPercent: number
  spentOn: string
  spent: bigint
  version: bigint
  updatedAt: Date
}
