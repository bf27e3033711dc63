import { type Columns, plainArray, unnest, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'

/** The limits of a restricted key, and the amounts spent. Changed only under the lock of its tenant's wallet. */
export interface KeySpending {
  tenantId: string
  keyId: string
  perOrderMax: bigint | null
  perDayMax: bigint | null
  totalMax: bigint | null
  /** The UTC day that `daySpent` belongs to, as `2026-11-21`. */
  spentOn: string
  daySpent: bigint
  totalSpent: bigint
}

/**
 * Reads restricted keys that are not revoked. A caller that debits has locked the wallets in an earlier statement, so nobody
 * else changes what is spent.
 * @returns the keys by id
 */
export async function readKeySpending(
  db: Pick<Tx, 'query'>,
  keys: readonly { tenantId: string; keyId: string }[],
): Promise<Map<string, KeySpending>> {
  if (keys.length === 0) return new Map()
  const rows = await db.query<KeySpending>({
    name: 'tenant-keys-spending',
    text: `select k.tenant_id, k.key_id, per_order_max, per_day_max, total_max, spent_on, day_spent, total_spent
           from unnest($1::uuid[], $2::uuid[]) as named(tenant_id, key_id)
           join tenant_keys k on k.tenant_id = named.tenant_id and k.key_id = named.key_id
           where revoked_at is null`,
    values: [uuidArray(keys.map(({ tenantId }) => tenantId)), uuidArray(keys.map(({ keyId }) => keyId))],
  })
  return new Map(rows.map((row) => [row.keyId, row]))
}

const SPENT: Columns = {
  tenant_id: 'uuid',
  key_id: 'uuid',
  spent_on: 'date',
  day_spent: 'bigint',
  total_spent: 'bigint',
}

/** Saves what restricted keys have spent. The caller holds the locks of their wallets. */
export function saveKeySpending(tx: Tx, keys: readonly KeySpending[]): void {
  if (keys.length === 0) return
  tx.send({
    name: 'tenant-keys-spend',
    text: `update tenant_keys k set spent_on = s.spent_on, day_spent = s.day_spent, total_spent = s.total_spent
           from ${unnest(1, SPENT, 's')} where k.tenant_id = s.tenant_id and k.key_id = s.key_id`,
    values: [
      uuidArray(keys.map((key) => key.tenantId)),
      uuidArray(keys.map((key) => key.keyId)),
      plainArray(keys.map((key) => key.spentOn)),
      plainArray(keys.map((key) => key.daySpent)),
      plainArray(keys.map((key) => key.totalSpent)),
    ],
  })
}
