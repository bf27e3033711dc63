import type { EsimStatus, SendStatus, SmdpStatus } from '@dealer-esim/contract'
import { isUuid } from '@dealer-esim/lib/ids.ts'
import type { RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import sql, { raw } from 'sql-template-tag'
import { sentTransactionId } from '#orders/transaction-id.ts'
import {
  countRows,
  type FoundKeys,
  findRowKeys,
  type RowFilter,
  type RowKey,
  type RowTable,
  type SortedPage,
} from '#tenants/tenant-rows.ts'

/** A profile without its secrets. */
export interface FoundProfile {
  tenantId: string
  clientName: string
  profileId: string
  orderId: string
  /** The number of the order's debit, by which people refer to the order. */
  entryNo: bigint
  itemNo: number
  transactionId: string
  packageCode: string
  /** As ordered. */
  packageName: string
  supplier: string
  iccid: string
  imsi: string | null
  msisdn: string | null
  eid: string | null
  apn: string | null
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
  installationTime: Date | null
  activateTime: Date | null
  expiredTime: Date | null
  createdAt: Date
  updatedAt: Date
  /** The traveller of its latest send, encrypted; null: nothing was sent, or it is forgotten. */
  traveller: Buffer | null
  sendStatus: SendStatus | null
  sentAt: Date | null
  /** It has a send that has not failed, even if a later one has. */
  isSent: boolean
}

export interface ProfileFilter {
  /** null: every tenant. */
  tenantId: string | null
  profileId?: string | undefined
  orderId?: string | undefined
  iccid?: string | undefined
  esimStatus?: EsimStatus | undefined
  smdpStatus?: SmdpStatus | undefined
  /** The hash of the address to which it was sent. */
  recipientHash?: Buffer | undefined
  from?: Date | undefined
  to?: Date | undefined
}

const PROFILES: RowTable = { table: 'profiles', id: 'profile_id' }

/** The expressions to sort by for each column; an empty list sorts by time. */
const SORTS = { createdAt: [], iccid: ['r.iccid'], clientName: ['left(lower(t.tenant_name), 60)'] } as const

export type ProfileSort = keyof typeof SORTS

/** Searches one tenant's profiles, or those of all tenants, newest first or by a column. */
export async function searchProfiles(
  db: Pick<Db, 'query'>,
  filter: ProfileFilter,
  { column = 'createdAt', ...page }: SortedPage<ProfileSort>,
): Promise<Omit<FoundKeys, 'keys'> & { profiles: FoundProfile[] }> {
  const { keys, ...rest } = await findRowKeys(db, PROFILES, rowFilter(filter), { ...page, by: SORTS[column] })
  return { profiles: await readProfiles(db, keys), ...rest }
}

export function countProfiles(db: Pick<Db, 'query'>, filter: ProfileFilter): Promise<RowCount> {
  return countRows(db, PROFILES, rowFilter(filter))
}

async function readProfiles(db: Pick<Db, 'query'>, keys: RowKey[]): Promise<FoundProfile[]> {
  if (keys.length === 0) return []
  return db.query<FoundProfile>(sql`
    select p.tenant_id, t.tenant_name as client_name, p.profile_id,
           p.order_id, o.wallet_version as entry_no, p.item_no, ${raw(sentTransactionId('o'))} as transaction_id,
           i.package_code, o.package_lines -> i.line_no ->> 'packageName' as package_name, p.supplier, p.iccid, p.imsi, p.msisdn, p.eid, p.apn,
           p.smdp_address, p.esim_status, p.smdp_status, p.suspended,
           p.total_volume, p.order_usage, p.usage_update_time,
           p.total_duration, p.duration_unit, p.install_before, p.installation_time,
           p.activate_time, p.expired_time, p.created_at,
           p.updated_at, s.traveller, s.send_status, s.created_at as sent_at,
           coalesce(s.is_sent, false) as is_sent
    from unnest(${keys.map((key) => key.tenantId)}::uuid[], ${keys.map((key) => key.id)}::uuid[])
           with ordinality as k (tenant_id, profile_id, place)
    join profiles p on p.tenant_id = k.tenant_id and p.profile_id = k.profile_id
    join tenants t on t.tenant_id = k.tenant_id
    join orders o on o.tenant_id = p.tenant_id and o.order_id = p.order_id
    join order_items i on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
    left join lateral (
      select traveller, send_status, created_at, bool_or(send_status <> 'FAILED') over () as is_sent from esim_sends s
      where s.tenant_id = p.tenant_id and s.order_id = p.order_id and s.item_no = p.item_no
      order by s.send_id desc limit 1) s on true
    order by k.place`)
}

function rowFilter(filter: ProfileFilter): RowFilter {
  const { tenantId, profileId, orderId, iccid, esimStatus, smdpStatus, recipientHash, from, to } = filter
  const indexed = [
    ...(profileId === undefined ? [] : [sql`r.profile_id = ${profileId}`]),
    ...(orderId === undefined ? [] : [sql`r.order_id = ${orderId}`]),
    ...(iccid === undefined ? [] : [sql`r.iccid = ${iccid}`]),
  ]
  return {
    ...{ tenantId, from, to, indexed },
    matching: indexed.length > 0 ? 'ONE' : recipientHash === undefined ? undefined : 'FEW',
    others: [
      ...(recipientHash === undefined
        ? []
        : [
            sql`(r.order_id, r.item_no) in (
              select order_id, item_no from esim_sends s
              where s.tenant_id = r.tenant_id and s.recipient_hash = ${recipientHash})`,
          ]),
      ...(esimStatus === undefined ? [] : [sql`r.esim_status = ${esimStatus}`]),
      ...(smdpStatus === undefined ? [] : [sql`r.smdp_status = ${smdpStatus}`]),
    ],
  }
}

/** Finds the tenant of an eSIM by its esimTranNo. @throws Refusal if there is no such eSIM. */
export async function getProfileOwner(
  db: Pick<Db, 'query'>,
  profileId: string,
): Promise<{ tenantId: string; profileId: string }> {
  if (!isUuid(profileId)) throw notFound('eSIM', profileId)
  const [row] = await db.query<{ tenantId: string }>(sql`
    select t.tenant_id from tenants t
    where exists (select from profiles p where p.tenant_id = t.tenant_id and p.profile_id = ${profileId})`)
  if (row === undefined) throw notFound('eSIM', profileId)
  return { tenantId: row.tenantId, profileId }
}
