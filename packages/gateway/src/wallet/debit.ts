import type { Tx } from '../lib/db.ts'
import type { LockedWallet } from './lock.ts'

/** The debit of one order: what is written of it in the ledger. */
export interface Debit {
  tenantId: string
  orderId: string
  amount: bigint
  balanceAfter: bigint
  walletVersion: bigint
  createdAt: Date
}

/**
 * Writes what a batch of orders left of its wallets, and one transfer per order. The caller holds the wallets' row locks
 * (lockWallet) and has moved `wallets` along. One update per wallet, so that each names one tenant; one insert for all
 * transfers. An update is HOT: none of its columns is in an index.
 */
export function debitWallets(tx: Tx, wallets: LockedWallet[], debits: Debit[]): void {
  for (const wallet of wallets) {
    tx.send({
      name: 'wallet-debit',
      text: `update wallets set balance = $2, version = $3, spent_on = $4, spent = $5, low_balance_step = $6,
             updated_at = $7 where tenant_id = $1`,
      values: [
        wallet.tenantId,
        wallet.balance.toString(),
        wallet.version.toString(),
        wallet.spentOn,
        wallet.spent.toString(),
        wallet.lowBalanceStep,
        wallet.updatedAt,
      ],
    })
  }
  tx.send({
    name: 'transfers-debit',
    text: `insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after,
             order_id, created_at)
           select tenant_id, wallet_version, 'ORDER', 'WALLET', 'SALES', amount, balance_after, order_id, created_at
           from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::timestamptz[])
             as debit(tenant_id, wallet_version, amount, balance_after, order_id, created_at)`,
    values: [
      debits.map((debit) => debit.tenantId),
      debits.map((debit) => debit.walletVersion.toString()),
      debits.map((debit) => debit.amount.toString()),
      debits.map((debit) => debit.balanceAfter.toString()),
      debits.map((debit) => debit.orderId),
      debits.map((debit) => debit.createdAt),
    ],
  })
}
