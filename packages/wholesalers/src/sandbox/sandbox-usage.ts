import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { ForeseenReports, ProfileReport, ReportOutcome, SuppliedEsim } from '#supplier.ts'
import { iccidOf, SANDBOX_PRODUCTS, type Sandbox } from './sandbox-records.ts'

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
  sandbox: Sandbox,
  usageMs: number,
  esims: readonly SuppliedEsim[],
): Promise<ReportOutcome[]> {
  const rows = await readUsed(sandbox, esims)
  return rows.map((row): ReportOutcome => {
    const report = row && usageAt(row, usageMs)
    return report ? { kind: 'reported', report } : { kind: 'silent' }
  })
}

/** What eSIMs with simulated usage will report: the first use, another end of validity, a threshold, the last byte. A suspended one uses nothing. */
export async function foreseeUsage(
  sandbox: Pick<Sandbox, 'name' | 'nowOf'> & { db: Pick<Db, 'query'> },
  usageMs: number,
  esims: readonly SuppliedEsim[],
  thresholds: readonly number[],
): Promise<(ForeseenReports | undefined)[]> {
  const rows = await readUsed(sandbox, esims)
  return rows.map((row) => (row === undefined || row.suspended ? undefined : foresee(row, usageMs, thresholds)))
}

function foresee(row: UsedRow, usageMs: number, thresholds: readonly number[]): ForeseenReports {
  const bornMs = row.now.getTime() - Math.round(row.ageMs)
  const total = VOLUME * BigInt(1 + row.topUps)
  // The first millisecond at which so many percent of the volume are used, in whole bytes.
  const usedUpTo = (percent: number) =>
    Number(ceilDiv(ceilDiv(total * BigInt(percent), 100n) * BigInt(usageMs), VOLUME))
  const ages = [0, SHORTENED_AFTER_MS, ...[...thresholds, 100].map(usedUpTo)].map((ms) => ACTIVE_AFTER_MS + ms)
  return {
    moments: ages.sort((left, right) => left - right).map((ageMs) => new Date(bornMs + ageMs)),
    reportAt: (now) => usageAt({ ...row, now, ageMs: now.getTime() - bornMs }, usageMs),
  }
}

function ceilDiv(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

/** @returns undefined for an eSIM whose product simulates no usage */
async function readUsed(
  { db, name, nowOf }: Pick<Sandbox, 'name' | 'nowOf'> & { db: Pick<Db, 'query'> },
  esims: readonly SuppliedEsim[],
): Promise<(UsedRow | undefined)[]> {
  const rows = await db.query<UsedRow>({
    name: 'sandbox-usage',
    text: `select e.key, e.iccid_number, e.revoked_at is not null as revoked, e.issued_at,
             e.suspended_at is not null as suspended, at.now,
             (extract(epoch from coalesce(e.suspended_at, at.now) - e.issued_at - e.suspended_for) * 1000)::float8 as age_ms,
             (select count(*)::int from sandbox_issued t
              where t.supplier = e.supplier and t.topped_up_key = e.key and t.answer <> 'REFUSED') as top_ups
           from unnest($2::text[], $4::uuid[]) as asked (key, tenant_id)
           join sandbox_issued e on e.supplier = $1 and e.key = asked.key
           cross join lateral (select date_trunc('milliseconds', ${nowOf('asked.tenant_id')}) as now) at
           where e.product_code = $3 and e.answer = 'ISSUED' and e.cancelled_at is null`,
    values: [name, esims.map((esim) => esim.key), SANDBOX_PRODUCTS.usage, esims.map((esim) => esim.tenantId)],
  })
  const byKey = new Map(rows.map((row) => [row.key, row]))
  return esims.map((esim) => {
    const row = byKey.get(esim.key)
    return row && iccidOf(row) === esim.iccid ? row : undefined
  })
}

export interface UsedRow {
  key: string
  iccidNumber: bigint
  revoked: boolean
  suspended: boolean
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
