import { type Columns, plainArray, timeArray, unnest, uuidArray } from '../lib/columns.ts'
import type { LockedWallet } from './lock.ts'

/*
 * The money's part of the statement that places orders (orders/write.ts). Its caller holds the wallets' row locks
 * (lockWallets) and has moved them along.
 */

/**
 * One transfer for each order of `placed`: what is written of its debit in the ledger. Needs tenant_id, wallet_version,
 * amount, balance_after, order_id and created_at there.
 */
export const DEBITS_OF_PLACED = `
  insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, order_id,
    created_at)
  select tenant_id, wallet_version, 'ORDER', 'WALLET', 'SALES', amount, balance_after, order_id, created_at from placed`

const MOVED: Columns = {
  tenant_id: 'uuid',
  balance: 'bigint',
  version: 'bigint',
  spent_on: 'date',
  spent: 'bigint',
  step: 'smallint',
  updated_at: 'timestamptz',
}

/**
 * Writes what a batch of orders left of its wallets; `movedValues` are its parameters, from `first` on. The update is
 * HOT: none of its columns is in an index. Measured for 32 wallets: 0.7 ms, where an update for each, pipelined, took
 * 2.8 ms.
 */
export function moveWallets(first: number): string {
  return `
  update wallets as w
  set balance = moved.balance, version = moved.version, spent_on = moved.spent_on, spent = moved.spent,
      low_balance_step = moved.step, updated_at = moved.updated_at
  from ${unnest(first, MOVED, 'moved')}
  where w.tenant_id = moved.tenant_id`
}

export function movedValues(wallets: readonly LockedWallet[]): (string | Buffer)[] {
  return [
    uuidArray(wallets.map((wallet) => wallet.tenantId)),
    plainArray(wallets.map((wallet) => wallet.balance)),
    plainArray(wallets.map((wallet) => wallet.version)),
    plainArray(wallets.map((wallet) => wallet.spentOn)),
    plainArray(wallets.map((wallet) => wallet.spent)),
    plainArray(wallets.map((wallet) => wallet.lowBalanceStep)),
    timeArray(wallets.map((wallet) => wallet.updatedAt.getTime())),
  ]
}
