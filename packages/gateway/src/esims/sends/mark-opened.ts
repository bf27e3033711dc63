import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import type { ShareSubject } from '../qr/qr-link.ts'

/**
 * Notes that the traveller's page was opened. Of several e-mails with this link, the newest counts: an earlier one probably went to a
 * wrong address. One with a link that was renewed since does not.
 */
export async function markOpened(
  db: Pick<Db, 'query'>,
  { tenantId, profileId, generation }: ShareSubject,
): Promise<void> {
  await db.query(sql`
    update esim_sends set send_status = 'OPENED', updated_at = clock_timestamp()
    where tenant_id = ${tenantId} and send_status = 'SENT' and send_id = (
      select s.send_id from profiles p
      join esim_sends s on s.tenant_id = p.tenant_id and s.order_id = p.order_id and s.item_no = p.item_no
      where p.tenant_id = ${tenantId} and p.profile_id = ${profileId} and s.send_status in ('SENT', 'OPENED')
        and coalesce(s.share_generation, ${generation}) = ${generation}
      order by s.send_id desc limit 1)`)
}
