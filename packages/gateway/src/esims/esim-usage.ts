import { type EsimStatus, type EsimUsage, formatTime, type UsageQueryAnswer } from '@dealer-esim/contract'
import { isUuid } from '@dealer-esim/lib/ids.ts'
import { uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'

/** The answer of `esim/usage/query`, in the order of the request. An eSIM that is listed twice is returned once. */
export async function queryUsage(
  db: Pick<Db, 'query'>,
  tenantId: string,
  esimTranNoList: readonly string[],
): Promise<UsageQueryAnswer> {
  const asked = [...new Set(esimTranNoList)]
  const rows = await db.query<Row>(sql`
    select profile_id, iccid, total_volume, order_usage, usage_update_time, expired_time, esim_status, suspended
    from profiles where tenant_id = ${tenantId} and profile_id = any (${uuidArray(asked.filter(isUuid))}::uuid[])`)
  const found = new Map(rows.map((row) => [row.profileId, row]))
  const answer: UsageQueryAnswer = { esimUsageList: [], notFound: [] }
  for (const esimTranNo of asked) {
    const row = found.get(esimTranNo.toLowerCase())
    if (row) answer.esimUsageList.push(usageOf(row))
    else answer.notFound.push(esimTranNo)
  }
  return answer
}

interface Row {
  profileId: string
  iccid: string
  totalVolume: bigint | null
  orderUsage: bigint | null
  usageUpdateTime: Date | null
  expiredTime: Date | null
  esimStatus: EsimStatus
  suspended: boolean
}

function usageOf({ profileId, iccid, totalVolume, orderUsage, usageUpdateTime, expiredTime, ...row }: Row): EsimUsage {
  const remaining = totalVolume === null || orderUsage === null ? null : totalVolume - orderUsage
  return {
    esimTranNo: profileId,
    iccid,
    totalVolume: totalVolume === null ? null : Number(totalVolume),
    orderUsage: orderUsage === null ? null : Number(orderUsage),
    remaining: remaining === null ? null : Math.max(0, Number(remaining)),
    usageUpdateTime: usageUpdateTime && formatTime(usageUpdateTime),
    expiredTime: expiredTime && formatTime(expiredTime),
    ...row,
  }
}
