import { textArray, uuidArray } from '../../lib/postgres/columns.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import type { ExistingOrder, OrderInput } from './decide.ts'

/** What the database says about a batch of orders, besides their wallets. */
export interface OrderContext {
  now: Date
  catalogueVersion: bigint
  /** Earlier orders, by tenant and transactionId. */
  existing: Map<string, Map<string, ExistingOrder>>
}

/** One statement, without a lock. Time and catalogue version are in every row, and there is always at least one row. */
export async function readOrderContext(db: Pick<Tx, 'query'>, inputs: readonly OrderInput[]): Promise<OrderContext> {
  // Two hundred calls with one transactionId are one look-up.
  const keys = new Map(inputs.map((input) => [input.tenant.tenantId + input.request.transactionId, input]))
  const distinct = [...keys.values()]
  const rows = await db.query<ContextRow>({
    name: 'orders-context',
    text: READ_CONTEXT,
    values: [
      uuidArray(distinct.map(({ tenant }) => tenant.tenantId)),
      textArray(distinct.map(({ request }) => request.transactionId)),
    ],
  })
  const existing: OrderContext['existing'] = new Map()
  for (const row of rows) {
    if (row.tenantId === null) continue
    const ofTenant = existing.get(row.tenantId) ?? new Map<string, ExistingOrder>()
    existing.set(row.tenantId, ofTenant.set(row.transactionId, row))
  }
  return { now: rows[0]!.now, catalogueVersion: rows[0]!.version, existing }
}

const READ_CONTEXT = `
select date_trunc('milliseconds', clock_timestamp()) as now, version, existing.*
from catalogue_version
left join (
  select o.* from unnest($1::uuid[], $2::text[]) as input(tenant_id, transaction_id)
  cross join lateral (
    select tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after, package_lines,
           created_at
    from orders where tenant_id = input.tenant_id and transaction_id = input.transaction_id
    limit 1 -- keeps the plan an index look-up for each, whatever the statistics say
  ) o
) existing on true`

type ContextRow = { now: Date; version: bigint } & ((ExistingOrder & { tenantId: string }) | { tenantId: null })
