import type { EsimStatus, SmdpStatus } from '@dealer-esim/contract'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import { firstUuidAt, isUuid } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import { notFound } from '../lib/refusal.ts'
import { sentTransactionId } from '../orders/transaction-id.ts'

/** A profile without its secrets. */
export interface FoundProfile {
  tenantId: string
  clientName: string
  profileId: string
  orderId: string
  itemNo: number
  transactionId: string
  packageCode: string
  supplier: string
  iccid: string
  imsi: string | null
  msisdn: string | null
  eid: string | null
  smdpAddress: string
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
  suspended: boolean
  totalVolume: bigint | null
  orderUsage: bigint | null
  usageUpdateTime: Date | null
  totalDuration: number
  durationUnit: string
  installBefore: Date | null
  activateTime: Date | null
  expiredTime: Date | null
  createdAt: Date
  updatedAt: Date
}

export interface ProfileFilter {
  /** null: every tenant. */
  tenantId: string | null
  profileId?: string | undefined
  orderId?: string | undefined
  iccid?: string | undefined
  esimStatus?: EsimStatus | undefined
  smdpStatus?: SmdpStatus | undefined
  from?: Date | undefined
  to?: Date | undefined
  before?: string | undefined
}

/** Profiles of one tenant or of all, newest first. Reads each tenant's newest from the primary key, as for orders. */
export function searchProfiles(db: Pick<Db, 'query'>, filter: ProfileFilter, limit: number): Promise<FoundProfile[]> {
  return db.query<FoundProfile>(sql`
    select p.tenant_id, t.tenant_name as client_name, p.profile_id,
           p.order_id, p.item_no, ${raw(sentTransactionId('o'))} as transaction_id,
           i.package_code, p.supplier, p.iccid, p.imsi, p.msisdn, p.eid,
           p.smdp_address, p.esim_status, p.smdp_status, p.suspended,
           p.total_volume, p.order_usage, p.usage_update_time,
           p.total_duration, p.duration_unit, p.install_before,
           p.activate_time, p.expired_time, p.created_at,
           p.updated_at
    from tenants t
    cross join lateral (
      select * from profiles p where p.tenant_id = t.tenant_id ${conditions(filter)}
      order by p.profile_id desc limit ${limit}) p
    join orders o on o.tenant_id = p.tenant_id and o.order_id = p.order_id
    join order_items i on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
    where true ${filter.tenantId === null ? empty : sql`and t.tenant_id = ${filter.tenantId}`}
    order by p.profile_id desc limit ${limit}`)
}

function conditions(filter: ProfileFilter): Sql {
  const { profileId, orderId, iccid, esimStatus, smdpStatus, from, to, before } = filter
  return sql`
    ${profileId === undefined ? empty : sql`and p.profile_id = ${profileId}`}
    ${orderId === undefined ? empty : sql`and p.order_id = ${orderId}`}
    ${iccid === undefined ? empty : sql`and p.iccid = ${iccid}`}
    ${esimStatus === undefined ? empty : sql`and p.esim_status = ${esimStatus}`}
    ${smdpStatus === undefined ? empty : sql`and p.smdp_status = ${smdpStatus}`}
    ${from === undefined ? empty : sql`and p.profile_id >= ${firstUuidAt(from.getTime())}`}
    ${to === undefined ? empty : sql`and p.profile_id < ${firstUuidAt(to.getTime())}`}
    ${before === undefined ? empty : sql`and p.profile_id < ${before}`}`
}

/** Finds the tenant of an eSIM by its esimTranNo. @throws Refusal where there is no such eSIM. */
export async function getProfileOwner(
  db: Pick<Db, 'query'>,
  profileId: string,
): Promise<{ tenantId: string; profileId: string }> {
  if (!isUuid(profileId)) throw notFound('eSIM', profileId)
  const [row] = await db.query<{ tenantId: string }>({
    text: `select t.tenant_id from tenants t
           where exists (select from profiles p where p.tenant_id = t.tenant_id and p.profile_id = $1)`,
    values: [profileId],
  })
  if (row === undefined) throw notFound('eSIM', profileId)
  return { tenantId: row.tenantId, profileId }
}
