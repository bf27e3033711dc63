import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { queueTravellerMail } from '#alerts/mail/mail-queue.ts'
import type { Deps } from '#deps.ts'
import { isMailPossible, openTraveller } from '#orders/traveller.ts'
import { isHeld } from '#platform/held-tenants.ts'
import { runJob } from '#platform/jobs.ts'
import { SHARE_ALIVE, shareUrl } from '../qr/qr-link.ts'
import { composeMail } from './compose-mail.ts'

/** The traveller stands at the counter. A pass without work is one index probe. */
const POLL_MS = 1_000
/** How many sends one pass takes. */
const SENDS_MAX = 100

const DELIVERY_MAIL = 'DELIVERY'

type DeliveryDeps = Pick<
  Deps,
  'config' | 'db' | 'ids' | 'cipher' | 'linkKey' | 'links' | 'liveBrands' | 'log' | 'loops'
>

/** Queues the mails of orders whose eSIMs have arrived. Without SMTP_URL no order is placed that has one. */
export function deliveryLoop(deps: DeliveryDeps): Running | undefined {
  if (!isMailPossible(deps.config)) return undefined
  return runLoop(deps, 'deliver-to', POLL_MS, () => queueDeliveries(deps))
}

/** @returns whether there may be more */
export async function queueDeliveries(deps: Omit<DeliveryDeps, 'loops'>): Promise<boolean> {
  const decided = await deps.db.query<{ tenantId: string; sendId: string }>({
    name: 'sends-decided',
    text: `select s.tenant_id, s.send_id from esim_sends s
           join order_items i on i.tenant_id = s.tenant_id and i.order_id = s.order_id and i.item_no = s.item_no
           where s.profile_id is null and s.send_status = 'QUEUED' and not ${isHeld('s.tenant_id')}
             and i.item_status in ('DELIVERED', 'REFUSED', 'CANCELLED')
           order by s.send_id limit $1`,
    values: [SENDS_MAX],
  })
  let queued = 0
  for (const { tenantId, sendId } of decided) {
    await runJob(deps.log, 'deliver to', { tenantId, sendId }, async () => {
      await deps.db.tx((tx) => queueDelivery(tx, deps, tenantId, sendId))
      queued++
    })
  }
  return decided.length === SENDS_MAX && queued > 0
}

interface Delivery {
  profileId: string | null
  generation: number
  traveller: Buffer | null
  brand: string | null
}

/** In one transaction: the send gets its eSIM, and the e-mail is queued. The send of an eSIM that never came, or has ended, fails. */
async function queueDelivery(
  tx: Tx,
  deps: Omit<DeliveryDeps, 'loops'>,
  tenantId: string,
  sendId: string,
): Promise<void> {
  const [delivery] = await tx.query<Delivery>({
    name: 'sends-deliver',
    text: `update esim_sends s
           set profile_id = p.profile_id, share_generation = p.share_generation, updated_at = clock_timestamp(),
               send_status = case when p.profile_id is null or s.traveller is null then 'FAILED' else 'QUEUED' end
           from esim_sends waiting
           left join profiles p on p.tenant_id = waiting.tenant_id and p.order_id = waiting.order_id
             and p.item_no = waiting.item_no and ${SHARE_ALIVE}
           where waiting.tenant_id = $1 and s.tenant_id = $1 and s.send_id = $2 and s.profile_id is null and s.send_status = 'QUEUED'
             and waiting.tenant_id = s.tenant_id and waiting.send_id = s.send_id
           returning s.profile_id, s.traveller, s.brand, p.share_generation as generation`,
    values: [tenantId, sendId],
  })
  if (!delivery?.profileId || !delivery.traveller) return
  const { profileId, generation, brand } = delivery
  const traveller = openTraveller(deps.cipher, tenantId, delivery.traveller)
  const link = shareUrl(deps.links.publicUrl, deps.linkKey, { tenantId, profileId, generation })
  const mail = await composeMail(tx, deps, { tenantId, profileId, brand, link, traveller })
  queueTravellerMail(tx, deps, { tenantId, sendId, kind: DELIVERY_MAIL, email: traveller.email, brand, ...mail })
  await failpoint('send.queued')
}
