import type { Db } from '../packages/lib/src/postgres/db.ts'

/** Checks that each acknowledged order or top-up has one row each in orders, order_items, transfers and events. @throws otherwise */
export async function verifyRows(db: Db, tenantIds: string[], acknowledged: number): Promise<string> {
  const [found] = await db.query<Record<'orders' | 'items' | 'debits' | 'events', number>>({
    text: `select (select count(*)::int from orders where tenant_id = any($1::uuid[])) as orders,
                  (select count(*)::int from order_items where tenant_id = any($1::uuid[])) as items,
                  (select count(*)::int from transfers where tenant_id = any($1::uuid[]) and kind in ('ORDER', 'ESIM_TOPUP')) as debits,
                  (select count(*)::int from events where tenant_id = any($1::uuid[])) as events`,
    values: [tenantIds],
  })
  const counts = Object.values(found!)
  if (counts.some((count) => count !== acknowledged))
    throw new Error(`${acknowledged} orders acknowledged, found ${JSON.stringify(found)}`)
  return `${acknowledged} orders acknowledged; as many orders, items, debits and events found`
}
