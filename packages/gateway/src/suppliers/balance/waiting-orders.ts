import type { Tx } from '../../lib/postgres/db.ts'

/*
 * Paid orders that can be bought only from suppliers without money have due times ahead. They are made due by the transaction
 * that records that a supplier has money again, so none is forgotten:
 *
 *   a claim that lets orders wait     locks the orders, then the supplier's balance (shared)
 *   a record that there is money      locks the balance, then the waiting orders, skipping locked ones
 *
 * An order that is skipped is being claimed: its claim sees the record, and does not let it wait for long.
 */

/** @returns which of these suppliers lack money. Locks their balances, shared, until the commit. */
export async function lockLackOfMoney(
  tx: Pick<Tx, 'query'>,
  suppliers: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.query<{ supplier: string }>({
    name: 'suppliers-without-money',
    text: `select supplier from supplier_balances where supplier = any ($1::text[]) and no_money_since is not null
           order by supplier for share`,
    values: [suppliers],
  })
  return new Set(rows.map(({ supplier }) => supplier))
}

/**
 * Makes orders due that may be waiting for money at a supplier: one scan of all pending orders. Those that wait for something
 * else are found not to be due when they are claimed. Sent after the record that there is money, as a statement of its own,
 * so that it sees what the claims before it have committed.
 */
export function makeOrdersDue(tx: Pick<Tx, 'send'>, supplier: string): void {
  tx.send({
    name: 'suppliers-money-due',
    text: `with waiting as (
             select o.tenant_id, o.order_id from orders o
             where o.due_at > now() and exists (
               select from order_items i
               where i.tenant_id = o.tenant_id and i.order_id = o.order_id and i.item_status in ('WAITING', 'REVIEW')
                 and (i.supplier = $1 or i.supplier is null and exists (
                   select from package_suppliers r where r.package_code = i.package_code and r.supplier = $1)))
             for no key update skip locked)
           update orders o set due_at = now() from waiting w
           where o.tenant_id = w.tenant_id and o.order_id = w.order_id`,
    values: [supplier],
  })
}
