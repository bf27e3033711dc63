import type { ActionStatus, EsimAction } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'

/** Inserts an operator's action on each eSIM of the tenant, due now. */
export async function addActions(
  { db, ids }: { db: Db; ids: Ids },
  tenantId: string,
  given: { action?: EsimAction; status?: ActionStatus; attempts?: number; supplier?: string } = {},
): Promise<void> {
  const { action = 'CANCEL', status = 'PENDING', attempts = 0, supplier } = given
  const profiles = await db.query<{ profileId: string }>({
    text: 'select profile_id from profiles where tenant_id = $1',
    values: [tenantId],
  })
  for (const { profileId } of profiles) {
    await db.query({
      text: `insert into esim_actions (tenant_id, action_id, started_by, action, profile_id, order_id, item_no, supplier,
               action_status, attempts, currency_code, due_at, created_at, updated_at)
             select tenant_id, $3, 'OPERATOR', $4, profile_id, order_id, item_no, coalesce($5, supplier), $6, $7, 'USD',
               case when $6 in ('PENDING', 'UNDER_REVIEW') then now() end, now(), now()
             from profiles where tenant_id = $1 and profile_id = $2`,
      values: [tenantId, profileId, ids.uuid(), action, supplier ?? null, status, attempts],
    })
  }
}

/** Makes all of the tenant's open actions due, as if the workers holding them had died. */
export async function makeActionsDue(db: Db, tenantId: string): Promise<void> {
  await db.query({
    text: `update esim_actions set due_at = now(), lease_until = now() - interval '1 second'
           where tenant_id = $1 and due_at is not null`,
    values: [tenantId],
  })
}
