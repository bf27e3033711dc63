import { textArray, uuidArray } from '../lib/columns.ts'
import type { Tx } from '../lib/db.ts'
import { orderNoOf } from '../lib/ids.ts'
import type { ExistingOrder, OrderWish, PackageLine } from './decide.ts'

/** What orders are judged on besides their wallets. */
export interface Around {
  now: Date
  catalogueVersion: bigint
  /** Earlier orders, by tenant and transactionId. */
  existing: Map<string, Map<string, ExistingOrder>>
}

/** One statement: the moment and the catalogue's version stand in each row, of which there is one at least. */
export async function readAround(db: Pick<Tx, 'query'>, wishes: readonly OrderWish[]): Promise<Around> {
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
    if (row.tenant_id === null) continue
    const ofTenant = existing.get(row.tenant_id) ?? new Map<string, ExistingOrder>()
    existing.set(row.tenant_id, ofTenant.set(row.transaction_id, existingOf(row)))
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

type AroundRow = { now: Date; version: bigint } & (ExistingRow | { tenant_id: null })

interface ExistingRow {
  tenant_id: string
  order_id: string
  transaction_id: string
  order_status: ExistingOrder['orderStatus']
  amount: bigint
  currency_code: string
  balance_after: bigint
  package_lines: PackageLine[]
  created_at: Date
}

function existingOf(row: ExistingRow): ExistingOrder {
  return {
    orderId: row.order_id,
    orderNo: orderNoOf(row.order_id),
    transactionId: row.transaction_id,
    orderStatus: row.order_status,
    amount: row.amount,
    currencyCode: row.currency_code,
    balanceAfter: row.balance_after,
    packageLines: row.package_lines,
    createdAt: row.created_at,
  }
}
