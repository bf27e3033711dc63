import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, requireUuid } from '@dealer-esim/lib/refusal.ts'

/** A wallet's row as last read; it may have changed since. */
export interface Wallet {
  tenantId: string
  currencyCode: string
  balance: bigint
  creditLimit: bigint
  dailySpendLimit: bigint | null
  lowBalanceThreshold: bigint | null
  /** The last low-balance percentage for which an alert was sent (lowBalancePercent); 0: none. */
  lowBalanceAlertedPercent: number
  /** The UTC day that `spent` belongs to, as `2026-11-21`. */
  spentOn: string
  spent: bigint
  version: bigint
  /** The time of the latest transfer, in whole milliseconds. The next transfer is never older. */
  updatedAt: Date
}

declare const locked: unique symbol
/** A wallet read under its lock, which the transaction holds until it ends. Only this file creates such values. */
export type LockedWallet = Wallet & { readonly [locked]: true }

/**
 * Locks the wallet's row. The lock order is wallets (ascending tenant), orders, items, so a transaction that moves money
 * calls this before it locks an order.
 * @throws if the tenant does not exist
 */
export async function lockWallet(tx: Tx, tenantId: string): Promise<LockedWallet> {
  return (await lockWallets(tx, [tenantId]))[0]!
}

/** Locks the wallet for a typed tenant id. @throws Refusal if the tenant does not exist */
export async function lockTenantWallet(tx: Tx, typedId: string): Promise<LockedWallet> {
  const tenantId = requireUuid(typedId, 'tenant')
  const [found] = await tx.query({ text: 'select from wallets where tenant_id = $1', values: [tenantId] })
  if (!found) throw notFound('tenant')
  return lockWallet(tx, tenantId)
}

/**
 * Locks several different wallets in ascending tenant order (the plan sorts before it locks). `for no key update` is the
 * lock that an update takes: it excludes every other writer but lets foreign-key checks pass. Measured for 32 wallets: 0.8
 * ms; one pipelined statement per wallet: 1.7 ms.
 */
export async function lockWallets(tx: Tx, tenantIds: string[]): Promise<LockedWallet[]> {
  const rows = await tx.query<LockedWallet>({
    name: 'wallets-lock',
    text: `select ${WALLET_COLUMNS}
           from wallets where tenant_id = any($1::uuid[]) order by tenant_id for no key update`,
    values: [tenantIds],
  })
  if (rows.length < tenantIds.length) {
    const missing = tenantIds.find((tenantId) => !rows.some((row) => row.tenantId === tenantId))
    throw new Error(`tenant ${missing} has no wallet`)
  }
  return rows
}

const WALLET_COLUMNS = `tenant_id, currency_code, balance, credit_limit, daily_spend_limit, low_balance_threshold,
  low_balance_alerted_percent, spent_on, spent, version, updated_at`

/** Reads a wallet without its lock: it may have changed when the caller uses it. @throws for a tenant that does not exist */
export async function readWallet(db: Pick<Tx, 'query'>, tenantId: string): Promise<Wallet> {
  const [wallet] = await db.query<Wallet>({
    name: 'wallets-read',
    text: `select ${WALLET_COLUMNS} from wallets where tenant_id = $1`,
    values: [tenantId],
  })
  if (wallet === undefined) throw new Error(`tenant ${tenantId} has no wallet`)
  return wallet
}

/**
 * Changes the row hash of a wallet whose balance stays the same, so that no order decided on the old row is written. Called
 * before using a transactionId or starting an action on an eSIM without moving money, because the wallet's lock guards the
 * tenant's transactionIds and the work in progress on its eSIMs.
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

/** A 64-bit hash of the whole row `w`. If it is unchanged, so is the row. */
export const WALLET_ROW_HASH = 'hash_record_extended(w, 0)'

/**
 * SQL: takes the same lock within a statement that relies on cached wallets (wallet/ledger/cached-wallets.ts), in ascending tenant
 * order.
 */
export const lockAndHashWallets = (tenantIds: string) => `
  select updated_at, ${WALLET_ROW_HASH} as row_hash from wallets w
  where tenant_id = any (${tenantIds}) order by tenant_id for no key update`
