/**
 * SQL: records for every wallet that its ledger goes on from a restore, whose id is `$1`. Runs in the transaction of the restore, in
 * which the wallets are as the backup had them. The next checkpoint signs it.
 */
export const RECORD_LEDGER_RESTORE = `
  insert into ledger_restores (tenant_id, restore_id, tree_size, restored_at)
  select tenant_id, $1::uuid, version, date_trunc('milliseconds', clock_timestamp()) from wallets`
