import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { ProfileReport, ReportOutcome, SuppliedEsim } from '#supplier.ts'
import { iccidOf, SANDBOX_PRODUCTS } from './sandbox-records.ts'

/** The eSIM goes into use this long after its delivery. */
const ACTIVE_AFTER_MS = 2_000
/** How long a package lasts once its eSIM is in use: every threshold is passed within a minute. */
export const USAGE_MS = 40_000
/** The volume of this product's packages and top-ups in the demo catalogue. */
const VOLUME = 1_073_741_824n
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const TOP_UP_DAYS = 7
/**
 * Both notices occur: at first the validity ends 72 hours after the first moment, then it is shortened to end 24 hours after
 * the second.
 */
const EXPIRY_NOTICES = [
  { hours: 72, afterMs: 15_000 },
  { hours: 24, afterMs: 45_000 },
] as const
const SHORTENED_AFTER_MS = 30_000

/** Reports on eSIMs whose product simulates usage, and returns `silent` for all others. */
export async function reportUsage(
  db: Db,
  name: string,
  usageMs: number,
  esims: readonly SuppliedEsim[],
): Promise<ReportOutcome[]> {
  const rows = await db.query<UsedRow>({
    name: 'sandbox-usage',
    text: `select e.key, e.iccid_number, e.revoked_at is not null as revoked, e.issued_at,
             clock_timestamp() as now,
             (extract(epoch from coalesce(e.suspended_at, clock_timestamp()) - e.issued_at - e.suspended_for) * 1000)::float8
               as age_ms,
             (select count(*)::int from sandbox_issued t
              where t.supplier = e.supplier and t.topped_up_key = e.key and t.answer <> 'REFUSED') as top_ups
           from sandbox_issued e
           where e.supplier = $1 and e.key = any ($2::text[]) and e.product_code = $3 and e.answer = 'ISSUED'
             and e.cancelled_at is null`,
    values: [name, esims.map((esim) => esim.key), SANDBOX_PRODUCTS.usage],
  })
  const byKey = new Map(rows.map((row) => [row.key, row]))
  return esims.map((esim): ReportOutcome => {
    const row = byKey.get(esim.key)
    const report = row && iccidOf(row) === esim.iccid ? usageAt(row, usageMs) : undefined
    return report ? { kind: 'reported', report } : { kind: 'silent' }
  })
}

export interface UsedRow {
  key: string
  iccidNumber: bigint
  revoked: boolean
  issuedAt: Date
  now: Date
  /** Time since the delivery, without the time for which the eSIM was suspended. */
  ageMs: number
  topUps: number
}

/** Pure: the state of an eSIM at a moment. @returns undefined before it goes into use */
export function usageAt(
  { revoked, issuedAt, now, ageMs, topUps }: UsedRow,
  usageMs: number,
): ProfileReport | undefined {
  const usedMs = ageMs - ACTIVE_AFTER_MS
  if (usedMs < 0) return undefined
  const total = VOLUME * BigInt(1 + topUps)
  const used = (VOLUME * BigInt(Math.floor(usedMs))) / BigInt(usageMs)
  const activateTime = new Date(issuedAt.getTime() + ACTIVE_AFTER_MS)
  const { hours, afterMs } = EXPIRY_NOTICES[usedMs < SHORTENED_AFTER_MS ? 0 : 1]
  const validMs = hours * HOUR_MS + afterMs + topUps * TOP_UP_DAYS * DAY_MS
  return {
    time: now,
    smdpStatus: 'ENABLED',
    esimStatus: revoked ? 'REVOKED' : used >= total ? 'USED_UP' : 'IN_USE',
    usage: used > total ? total : used,
    activateTime,
    expiredTime: new Date(activateTime.getTime() + validMs),
  }
}
