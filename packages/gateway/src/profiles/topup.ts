import type { EsimStatus } from '@dealer-esim/contract'
import { recordset } from '../lib/postgres/columns.ts'
import type { Tx } from '../lib/postgres/db.ts'

/** What a delivered top-up adds to an eSIM. */
export interface DeliveredTopUp {
  profileId: string
  /** Bytes; null: unlimited. */
  volume: bigint | null
  days: number
  /** The new end of validity, where the supplier states it. */
  expiredTime?: Date | undefined
}

/** The members of a profile that a top-up changes. */
export interface ToppedUpLife {
  esimStatus: EsimStatus
  totalVolume: bigint | null
  orderUsage: bigint | null
  totalDuration: number
  expiredTime: Date | null
  /** Percentage of usage up to which no threshold is reported any more. */
  usageAlerted: number
}

const DAY_MS = 86_400_000
const VOLUME_MAX = BigInt(Number.MAX_SAFE_INTEGER)
const ALL_PERCENT = 100n

/**
 * The profile after a top-up: its volume and days are added, and an eSIM that was used up or expired is in use again. The
 * supplier's own end of validity prevails. Thresholds above the percentage that is left are reported again. Pure.
 */
export function afterTopUp(profile: ToppedUpLife, topUp: DeliveredTopUp, now: Date): ToppedUpLife {
  const { esimStatus, orderUsage, expiredTime } = profile
  const totalVolume = profile.totalVolume === null ? null : capped(profile.totalVolume + (topUp.volume ?? 0n))
  const from = expiredTime !== null && expiredTime > now ? expiredTime : now
  const extended = expiredTime === null ? null : new Date(from.getTime() + topUp.days * DAY_MS)
  return {
    esimStatus: esimStatus === 'USED_UP' || esimStatus === 'USED_EXPIRED' ? 'IN_USE' : esimStatus,
    totalVolume,
    orderUsage,
    totalDuration: profile.totalDuration + topUp.days,
    expiredTime: topUp.expiredTime ?? extended,
    usageAlerted: percentOf(orderUsage ?? 0n, totalVolume),
  }
}

/** Top-ups that would exceed it are refused before they are debited; only a changed package can still do so. */
function capped(volume: bigint): bigint {
  return volume > VOLUME_MAX ? VOLUME_MAX : volume
}

function percentOf(usage: bigint, total: bigint | null): number {
  if (total === null || total === 0n) return 0
  const percent = (usage * ALL_PERCENT) / total
  return Number(percent > ALL_PERCENT ? ALL_PERCENT : percent)
}

/**
 * Applies delivered top-ups in the given order. The caller holds the locks of the orders that delivered the eSIMs.
 * @returns the status of each eSIM now, by profileId
 */
export async function applyTopUps(
  tx: Tx,
  tenantId: string,
  topUps: readonly DeliveredTopUp[],
  now: Date,
): Promise<Map<string, EsimStatus>> {
  if (topUps.length === 0) return new Map()
  const rows = await tx.query<ToppedUpLife & { profileId: string }>({
    name: 'profiles-before-top-up',
    text: `select profile_id, esim_status, total_volume, order_usage, total_duration, expired_time, usage_alerted
           from profiles where tenant_id = $1 and profile_id = any ($2::uuid[])`,
    values: [tenantId, topUps.map(({ profileId }) => profileId)],
  })
  const lives = new Map(rows.map(({ profileId, ...life }) => [profileId, life as ToppedUpLife]))
  for (const topUp of topUps) {
    const before = lives.get(topUp.profileId)
    if (before === undefined) throw new Error(`tenant ${tenantId} has no eSIM ${topUp.profileId} to top up`)
    lives.set(topUp.profileId, afterTopUp(before, topUp, now))
  }
  const changed = [...lives].map(([profileId, life]) => ({
    profileId,
    esimStatus: life.esimStatus,
    totalVolume: life.totalVolume === null ? null : String(life.totalVolume),
    totalDuration: life.totalDuration,
    expiredTime: life.expiredTime,
    usageAlerted: life.usageAlerted,
  }))
  tx.send({ name: 'profiles-top-up', text: TOP_UP, values: [tenantId, recordset(changed), now] })
  return new Map([...lives].map(([profileId, { esimStatus }]) => [profileId, esimStatus]))
}

const TOP_UP = `
  update profiles p set esim_status = c.esim_status, total_volume = c.total_volume, total_duration = c.total_duration,
    expired_time = c.expired_time, topped_up_at = $3, usage_alerted = c.usage_alerted, expiry_alerted_hours = '{}',
    updated_at = greatest(p.updated_at, $3::timestamptz)
  from jsonb_to_recordset($2::jsonb) as c(profile_id uuid, esim_status text, total_volume bigint, total_duration integer,
    expired_time timestamptz, usage_alerted smallint)
  where p.tenant_id = $1 and p.profile_id = c.profile_id`
