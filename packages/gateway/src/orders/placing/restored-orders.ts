import type { FailureCode } from '@dealer-esim/contract'
import type { ErrorParts } from '@dealer-esim/lib/api-error.ts'
import { type Columns, textArray, unnest, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { isInRecovery } from '#platform/held-tenants.ts'
import type { OrderInput } from './order-input.ts'

/** What a restore from a backup means for a transactionId of a tenant; absent: nothing. */
export type Restored = 'TENANT_HELD' | 'IN_DOUBT' | 'SOLD'

/** By tenant and transactionId. */
export type RestoredOrders = ReadonlyMap<string, ReadonlyMap<string, Restored>>

/** Reads, in one statement, which orders must not be placed because the gateway was restored from a backup. */
export async function readRestored(db: Pick<Tx, 'query'>, inputs: readonly OrderInput[]): Promise<RestoredOrders> {
  const rows = await db.query<{ tenantId: string; transactionId: string; restored: Restored }>({
    name: 'orders-restored',
    text: READ,
    values: [
      uuidArray(inputs.map(({ tenant }) => tenant.tenantId)),
      textArray(inputs.map(({ request }) => request.transactionId)),
    ],
  })
  const restored = new Map<string, Map<string, Restored>>()
  for (const row of rows) {
    const ofTenant = restored.get(row.tenantId) ?? new Map<string, Restored>()
    restored.set(row.tenantId, ofTenant.set(row.transactionId, row.restored))
  }
  return restored
}

/** How such an order is refused. TENANT_HELD also refuses a repeat of an order that exists: its stored state may be outdated. */
export const RESTORED_REFUSALS: Record<Restored, { code: FailureCode; parts: ErrorParts }> = {
  TENANT_HELD: {
    code: '000002',
    parts: {
      message:
        'The service is being restored from a backup: nothing was bought now. Repeat the request later with the same transactionId and a new RT-RequestID.',
    },
  },
  IN_DOUBT: {
    code: '000002',
    parts: {
      message:
        'This transactionId may have been used before the service was restored from a backup: nothing was bought now. Ask the operator, and repeat it later with a new RT-RequestID.',
    },
  },
  SOLD: {
    code: '200012',
    parts: {
      message:
        'This transactionId was used before the service was restored from a backup, and its eSIMs were sold. Ask the operator for the order. To buy again, use a new transactionId.',
    },
  },
}

/**
 * Remembers the transactionIds of orders that were refused because their dealers are in recovery: after the release they
 * buy nothing until an operator has decided on each (operations/recovery). A decision that one was not sold holds for the
 * time before the newest restore: the dealer may have used it since.
 */
export function keepRepeated(tx: Tx, inputs: readonly Repeated[]): void {
  if (inputs.length === 0) return
  tx.send({
    name: 'orders-keep-repeated',
    text: `insert into restored_transactions as t (tenant_id, transaction_id, repeated)
           select distinct tenant_id, transaction_id, true from ${unnest(1, INPUTS, 'input')}
           on conflict (tenant_id, transaction_id) do update set repeated = true,
             state = case when ${IS_OUTDATED} then 'IN_DOUBT' else t.state end,
             proof = case when not ${IS_OUTDATED} then t.proof end,
             decided_at = case when not ${IS_OUTDATED} then t.decided_at end
           where not t.repeated or ${IS_OUTDATED}`,
    values: [
      uuidArray(inputs.map(({ tenant }) => tenant.tenantId)),
      textArray(inputs.map(({ request }) => request.transactionId)),
    ],
  })
}

const IS_OUTDATED = `(t.state = 'NOT_SOLD' and t.decided_at < (select max(restored_at) from restores where recovering))`

interface Repeated {
  tenant: { tenantId: string }
  request: { transactionId: string }
}

const INPUTS: Columns = { tenant_id: 'uuid', transaction_id: 'text' }

const READ = `
  select input.tenant_id, input.transaction_id, case when held.is_held then 'TENANT_HELD' else t.state end as restored
  from ${unnest(1, INPUTS, 'input')}
  cross join lateral (select ${isInRecovery('input.tenant_id')} as is_held) held
  left join lateral (
    select state from restored_transactions t
    where t.tenant_id = input.tenant_id and t.transaction_id = input.transaction_id and t.state <> 'NOT_SOLD'
    limit 1 -- keeps the plan an index look-up for each, whatever the statistics say
  ) t on true
  where held.is_held or t.state is not null`

/** SQL: exists if one of these orders (alias `named`) must be decided by `readRestored`. */
export const anyRestored = (named: string): string => `
  select from restores where recovering
  union all
  select from ${named}
  cross join lateral (
    select from restored_transactions t
    where t.tenant_id = named.tenant_id and t.transaction_id = named.transaction_id and t.state <> 'NOT_SOLD'
    limit 1
  ) restored`
