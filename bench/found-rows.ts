import type { Db } from '../packages/gateway/src/lib/postgres/db.ts'

/** What was acknowledged has to be there: orders, debits, items and events, one each. @throws where it is not */
export async function foundRows(db: Db, tenantIds: string[], claimed: number): Promise<string> {
  const [found] = await db.query<Record<'orders' | 'items' | 'debits' | 'events', number>>({
    text: `select (select count(*)::int from orders where tenant_id = any($1::uuid[])) as orders,
                  (select count(*)::int from order_items where tenant_id = any($1::uuid[])) as items,
                  (select count(*)::int from transfers where tenant_id = any($1::uuid[]) and kind = 'ORDER') as debits,
                  (select count(*)::int from events where tenant_id = any($1::uuid[])) as events`,
    values: [tenantIds],
  })
  const counts = Object.values(found!)
  if (counts.some((count) => count !== claimed)) throw new Error(`claimed ${claimed}, found ${JSON.stringify(found)}`)
  return `${claimed} successes claimed; as many orders, items, debits and events found`
}
