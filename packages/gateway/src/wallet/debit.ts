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
 * (lockWallets) and has moved `wallets` along. The update is HOT: none of its columns is in an index. Measured for 32
 * wallets: 0.7 ms, where an update for each, pipelined, took 2.8 ms.
 */
export function debitWallets(tx: Tx, wallets: LockedWallet[], debits: Debit[]): void {
  tx.send({
    name: 'wallets-debit',
    text: `update wallets as w
           set balance = d.balance, version = d.version, spent_on = d.spent_on, spent = d.spent,
               low_balance_step = d.step, updated_at = d.updated_at
           from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::date[], $5::bigint[], $6::smallint[],
                       $7::timestamptz[]) as d(tenant_id, balance, version, spent_on, spent, step, updated_at)
           where w.tenant_id = d.tenant_id`,
    values: [
      wallets.map((wallet) => wallet.tenantId),
      wallets.map((wallet) => wallet.balance.toString()),
      wallets.map((wallet) => wallet.version.toString()),
      wallets.map((wallet) => wallet.spentOn),
      wallets.map((wallet) => wallet.spent.toString()),
      wallets.map((wallet) => wallet.lowBalanceStep),
      wallets.map((wallet) => wallet.updatedAt),
    ],
  })
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
