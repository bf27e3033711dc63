import type { Columns, RowFormat } from '../../lib/postgres/columns.ts'
import { WALLET_ROW_HASH, type Wallet } from './lock.ts'

/*
 * The wallet's part of the statements that place orders (orders/placing/write.ts). The wallets are locked by the caller
 * (lockWallets) or by the statement (lockAndHashWallets), and the caller has applied the debits to the values.
 */

/**
 * Inserts the transfer of each order of the table `placed`, which needs tenant_id, wallet_version, amount, balance_after,
 * order_id, topped_up (null: an order of new eSIMs) and created_at.
 */
export const INSERT_DEBITS = `
  insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, order_id,
    created_at)
  select tenant_id, wallet_version, case when topped_up is null then 'ORDER' else 'ESIM_TOPUP' end, 'WALLET', 'SALES',
    amount, balance_after, order_id, created_at from placed`

const WALLET_COLUMNS: Columns = {
  tenant_id: 'uuid',
  balance: 'bigint',
  version: 'bigint',
  spent_on: 'date',
  spent: 'bigint',
  alerted_percent: 'smallint',
  updated_at: 'timestamptz',
}
export const WALLET_COLUMN_COUNT = Object.keys(WALLET_COLUMNS).length

/**
 * Updates the wallets of a batch of orders and returns the hash of each new row. `walletValues` are its parameters, from
 * number `first` on. The update is HOT: none of its columns is in an index. Measured for 32 wallets: 0.7 ms; one pipelined
 * update per wallet: 2.8 ms.
 * @param at SQL of updated_at, by default each wallet's own @param fromTable the table that `at` needs, if any
 */
export function updateWallets(format: RowFormat, first: number, at = 'moved.updated_at', fromTable?: string): string {
  return `
  update wallets as w
  set balance = moved.balance, version = moved.version, spent_on = moved.spent_on, spent = moved.spent,
      low_balance_alerted_percent = moved.alerted_percent, updated_at = ${at}
  from ${format.table(first, WALLET_COLUMNS, 'moved')}${fromTable ? `, ${fromTable}` : ''}
  where w.tenant_id = moved.tenant_id
  returning w.tenant_id, ${WALLET_ROW_HASH} as row_hash`
}

export function walletValues(format: RowFormat, wallets: readonly Wallet[]): unknown[] {
  return [
    format.ids(wallets.map((wallet) => wallet.tenantId)),
    format.plain(wallets.map((wallet) => wallet.balance)),
    format.plain(wallets.map((wallet) => wallet.version)),
    format.plain(wallets.map((wallet) => wallet.spentOn)),
    format.plain(wallets.map((wallet) => wallet.spent)),
    format.plain(wallets.map((wallet) => wallet.lowBalanceAlertedPercent)),
    format.times(wallets.map((wallet) => wallet.updatedAt.getTime())),
  ]
}
