import { orderNoOf } from '../lib/ids.ts'
import { textArray, uuidArray } from '../lib/postgres/columns.ts'
import type { Tx } from '../lib/postgres/db.ts'
import type { ExistingOrder, OrderInput, PackageLine } from './decide.ts'

/** What orders are judged on besides their wallets. */
export interface OrderContext {
  now: Date
  catalogueVersion: bigint
  /** Earlier orders, by tenant and transactionId. */
  existing: Map<string, Map<string, ExistingOrder>>
}

/** One statement: the moment and the catalogue's version stand in each row, of which there is one at least. */
export async function readOrderContext(db: Pick<Tx, 'query'>, wishes: readonly OrderInput[]): Promise<OrderContext> {
  // Two hundred calls with one transactionId are one look-up.
  const asked = [...new Map(wishes.map((wish) => [wish.tenant.tenantId + wish.request.transactionId, wish])).values()]
  const rows = await db.query<AroundRow>({
    name: 'orders-around',
    text: AROUND,
    values: [
      uuidArray(asked.map((wish) => wish.tenant.tenantId)),
      textArray(asked.map((wish) => wish.request.transactionId)),
    ],
  })
  const existing = new Map<string, Map<string, ExistingOrder>>()
  for (const row of rows) {
    if (row.tenantId === null) continue
    const ofTenant = existing.get(row.tenantId) ?? new Map<string, ExistingOrder>()
    existing.set(row.tenantId, ofTenant.set(row.transactionId, existingOf(row)))
  }
  return { now: rows[0]!.now, catalogueVersion: rows[0]!.version, existing }
}

const AROUND = `
select date_trunc('milliseconds', clock_timestamp()) as now, version, existing.*
from catalogue_version
left join (
  select o.* from unnest($1::uuid[], $2::text[]) as wish(tenant_id, transaction_id)
  cross join lateral (
    select tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after, package_lines,
           created_at
    from orders where tenant_id = wish.tenant_id and transaction_id = wish.transaction_id
    limit 1 -- keeps the plan an index look-up for each, whatever the statistics say
  ) o
) existing on true`

type AroundRow = { now: Date; version: bigint } & (ExistingRow | { tenantId: null })

interface ExistingRow {
  tenantId: string
  orderId: string
  transactionId: string
  orderStatus: ExistingOrder['orderStatus']
  amount: bigint
  currencyCode: string
  balanceAfter: bigint
  packageLines: PackageLine[]
  createdAt: Date
}

function existingOf(row: ExistingRow): ExistingOrder {
  return {
    orderId: row.orderId,
    orderNo: orderNoOf(row.orderId),
    transactionId: row.transactionId,
    orderStatus: row.orderStatus,
    amount: row.amount,
    currencyCode: row.currencyCode,
    balanceAfter: row.balanceAfter,
    packageLines: row.packageLines,
    createdAt: row.createdAt,
  }
}
