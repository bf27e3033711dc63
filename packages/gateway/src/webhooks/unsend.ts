import { uuidArray } from '../lib/postgres/columns.ts'
import type { Db } from '../lib/postgres/db.ts'
import { STEP_MAX } from './limits.ts'
import { usePlannedIndexes } from './planner.ts'

/**
 * What waits for an endpoint that is removed or disabled becomes UNSENT: kept and replayable, not sent by itself when
 * an endpoint comes back. What this node has in hand is left to its own end, and what another one has, to that one.
 * @returns how many; STEP_MAX: there may be more
 */
export async function unsendWaiting(db: Db, tenantId: string, inHand: Iterable<string>): Promise<number> {
  return db.tx(async (tx) => {
    usePlannedIndexes(tx)
    const [row] = await tx.query<{ count: number }>({
      text: UNSEND,
      values: [tenantId, STEP_MAX, uuidArray([...inHand])],
    })
    return row?.count ?? 0
  })
}

const UNSEND = `
  with unsent as (
    update deliveries set delivery_state = 'UNSENT', due_at = null
    where tenant_id = $1 and notify_id = any (array(
      select notify_id from deliveries
      where tenant_id = $1 and due_at is not null and notify_id not in (select unnest($3::uuid[]))
      order by due_at limit $2
      for update skip locked))
    and not exists (select from webhook_endpoints w
                    where w.tenant_id = $1 and w.enabled and w.callback_url is not null)
    returning 1)
  select count(*)::integer as count from unsent`
