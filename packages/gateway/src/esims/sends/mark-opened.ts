import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'

/** Notes that the traveller's page was opened after its link was sent. */
export async function markOpened(
  db: Pick<Db, 'query'>,
  { tenantId, profileId }: { tenantId: string; profileId: string },
): Promise<void> {
  await db.query(sql`
    update esim_sends s set send_status = 'OPENED', updated_at = clock_timestamp()
    from profiles p
    where p.tenant_id = ${tenantId} and p.profile_id = ${profileId}
      and s.tenant_id = p.tenant_id and s.order_id = p.order_id and s.item_no = p.item_no and s.send_status = 'SENT'`)
}
