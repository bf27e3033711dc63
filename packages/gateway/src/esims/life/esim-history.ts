import type { EsimStatus, SmdpStatus } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'

/** A moment in an eSIM's life. Moments in the future are planned: the last day for installing it, its expiry. */
export type LifeStep = { at: Date } & (
  | { kind: 'DELIVERED' | 'ACTIVATED' | 'INSTALL_BEFORE' | 'EXPIRES' }
  | { kind: 'STATUS'; status: EsimStatus | SmdpStatus }
  | { kind: 'USAGE'; percent: number }
)

/** How many events of an order are read: enough for all events of its eSIMs, except in the largest orders. */
const EVENTS_MAX = 2_000

/**
 * Reads the life of an eSIM, oldest step first. Changes to its statuses come from the events of its order, as long as those
 * are kept (platform/retention/retention-table.ts).
 * @throws Refusal if there is no such eSIM
 */
export async function readLifeHistory(
  db: Pick<Db, 'query'>,
  { tenantId, profileId }: { tenantId: string; profileId: string },
): Promise<LifeStep[]> {
  const [profile] = await db.query<ProfileTimes>(sql`
    select order_id, esim_status, created_at, activate_time, expired_time, install_before
    from profiles where tenant_id = ${tenantId} and profile_id = ${profileId}`)
  if (!profile) throw notFound('eSIM')
  const events = await db.query<EventOfEsim>(sql`
    select e.created_at, p ->> 'esimStatus' as esim_status, p ->> 'smdpStatus' as smdp_status, null as percent
    from (select * from events where tenant_id = ${tenantId} and order_id = ${profile.orderId}
            and notify_type = 'DELIVERY_UPDATED' order by notify_id limit ${EVENTS_MAX}) e
    cross join lateral json_array_elements(e.content -> 'profiles') p
    where p ->> 'esimTranNo' = ${profileId}
    union all
    select created_at, null, null, (content ->> 'threshold')::int
    from events where tenant_id = ${tenantId} and order_id = ${profile.orderId} and notify_type = 'ESIM_USAGE'
      and content ->> 'esimTranNo' = ${profileId}
    order by created_at`)
  const steps = [...timesOf(profile), ...changesOf(events)]
  return steps.sort((a, b) => a.at.getTime() - b.at.getTime())
}

interface ProfileTimes {
  orderId: string
  esimStatus: EsimStatus
  createdAt: Date
  activateTime: Date | null
  expiredTime: Date | null
  installBefore: Date | null
}

function timesOf({ esimStatus, createdAt, activateTime, expiredTime, installBefore }: ProfileTimes): LifeStep[] {
  const isOver = esimStatus === 'CANCEL' || esimStatus === 'REVOKED'
  const steps: LifeStep[] = [{ at: createdAt, kind: 'DELIVERED' }]
  if (activateTime) steps.push({ at: activateTime, kind: 'ACTIVATED' })
  if (expiredTime && !isOver) steps.push({ at: expiredTime, kind: 'EXPIRES' })
  if (installBefore && esimStatus === 'GOT_RESOURCE') steps.push({ at: installBefore, kind: 'INSTALL_BEFORE' })
  return steps
}

interface EventOfEsim {
  createdAt: Date
  esimStatus: EsimStatus | null
  smdpStatus: SmdpStatus | null
  percent: number | null
}

/** Lists the status changes. The first statuses are those at delivery. */
function changesOf(events: readonly EventOfEsim[]): LifeStep[] {
  const steps: LifeStep[] = []
  let [esim, smdp]: (string | null)[] = ['GOT_RESOURCE', 'RELEASED']
  for (const { createdAt: at, esimStatus, smdpStatus, percent } of events) {
    if (percent !== null) steps.push({ at, kind: 'USAGE', percent })
    if (smdpStatus !== null && smdpStatus !== smdp) steps.push({ at, kind: 'STATUS', status: smdpStatus })
    if (esimStatus !== null && esimStatus !== esim) steps.push({ at, kind: 'STATUS', status: esimStatus })
    esim = esimStatus ?? esim
    smdp = smdpStatus ?? smdp
  }
  return steps
}
