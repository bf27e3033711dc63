import { stripIccidPadding } from '@dealer-esim/contract'
import type { CataloguePackage } from '../catalogue/catalogue.ts'
import type { Cipher } from '../lib/crypto.ts'
import { type Ids, timeOfUuid } from '../lib/ids.ts'
import { recordset } from '../lib/postgres/columns.ts'
import type { Tx } from '../lib/postgres/db.ts'
import { allowanceOf } from '../orders/item.ts'
import type { LockedProfile } from '../orders/lock.ts'
import type { DeliveredEsim } from '../suppliers/supplier.ts'
import { POLL_EVERY_S } from './life/poll-interval.ts'
import { encryptEsimSecrets } from './secrets.ts'

/** An eSIM that was delivered for an item. */
export interface NewProfile {
  orderId: string
  itemNo: number
  supplier: string
  esim: DeliveredEsim
  bought: CataloguePackage | undefined
  /** Days of a day pass. */
  periodNum?: number | undefined
  /** True if its supplier reports status and usage on request. */
  isReported: boolean
  /** How often its supplier is polled at first, if not POLL_EVERY_S. */
  pollEveryS?: number | undefined
}

const DAY_MS = 86_400_000

/**
 * Inserts profiles. The caller sets their items DELIVERED in the same transaction. No round trip of its own. createTime is
 * the time in the id, so ordering by (createTime, id) and by id is the same.
 * @returns the profiles as LockedProfile, in order.
 */
export function insertProfiles(
  tx: Tx,
  deps: { ids: Ids; cipher: Pick<Cipher, 'encrypt'> },
  tenantId: string,
  profiles: readonly NewProfile[],
): LockedProfile[] {
  if (profiles.length === 0) return []
  const rows = profiles.map((profile) => rowOf(deps, tenantId, profile))
  tx.send({ name: 'profiles-insert', text: INSERT, values: [tenantId, recordset(rows)] })
  return rows.map((row) => ({
    profileId: row.profileId,
    itemNo: row.itemNo,
    iccid: row.iccid,
    esimStatus: row.esimStatus,
    smdpStatus: row.smdpStatus,
  }))
}

function rowOf(
  deps: { ids: Ids; cipher: Pick<Cipher, 'encrypt'> },
  tenantId: string,
  { orderId, itemNo, supplier, esim, bought, periodNum, isReported, pollEveryS = POLL_EVERY_S }: NewProfile,
) {
  const allowance = bought && allowanceOf(bought, periodNum)
  const profileId = deps.ids.uuid()
  const createdAt = timeOfUuid(profileId)
  const byPackage = bought ? createdAt + bought.unusedValidTime * DAY_MS : Number.POSITIVE_INFINITY
  const bySupplier = esim.installBefore?.getTime() ?? Number.POSITIVE_INFINITY
  // With the other policies a report starts the eSIM's time (life/lifecycle.ts).
  const ends = bought?.activationPolicy === 'ON_PURCHASE' ? createdAt + allowance!.days * DAY_MS : undefined
  const installBefore = Math.min(byPackage, bySupplier, ends ?? Number.POSITIVE_INFINITY)
  return {
    profileId,
    orderId,
    itemNo,
    supplier,
    iccid: stripIccidPadding(esim.iccid),
    imsi: esim.imsi ?? null,
    msisdn: esim.msisdn ?? null,
    eid: esim.eid ?? null,
    smdpAddress: esim.smdpAddress,
    secrets: `\\x${encryptEsimSecrets(deps.cipher, tenantId, esim).toString('hex')}`,
    apn: esim.apn ?? null,
    esimStatus: esim.esimStatus ?? ('GOT_RESOURCE' as const),
    smdpStatus: esim.smdpStatus ?? null,
    totalVolume: allowance?.volume == null ? null : String(allowance.volume),
    totalDuration: allowance?.days ?? 0,
    durationUnit: bought?.durationUnit ?? 'DAY',
    installBefore: Number.isFinite(installBefore) ? new Date(installBefore).toISOString() : null,
    activateTime: ends === undefined ? null : new Date(createdAt).toISOString(),
    expiredTime: ends === undefined ? null : new Date(ends).toISOString(),
    // Computed by the next pass (life/expiring.ts).
    expiryNoticeAt: ends !== undefined && esim.esimStatus === 'IN_USE' ? new Date(createdAt).toISOString() : null,
    pollAt: isReported ? new Date(createdAt + pollEveryS * 1000).toISOString() : null,
    pollEveryS,
    createdAt: new Date(createdAt).toISOString(),
  }
}

const INSERT = `
  insert into profiles (tenant_id, profile_id, order_id, item_no, supplier, iccid, imsi, msisdn, eid, smdp_address,
    secrets, apn, esim_status, smdp_status, total_volume, total_duration, duration_unit,
    install_before, activate_time, expired_time, expiry_notice_at, poll_at, poll_every_s, created_at, updated_at)
  select $1, p.profile_id, p.order_id, p.item_no, p.supplier, p.iccid, p.imsi, p.msisdn, p.eid, p.smdp_address,
    p.secrets, p.apn, p.esim_status, p.smdp_status, p.total_volume, p.total_duration, p.duration_unit,
    p.install_before, p.activate_time, p.expired_time, p.expiry_notice_at, p.poll_at, p.poll_every_s, p.created_at,
    p.created_at
  from jsonb_to_recordset($2::jsonb) as p(profile_id uuid, order_id uuid, item_no smallint, supplier text, iccid text,
    imsi text, msisdn text, eid text, smdp_address text, secrets bytea, apn text, esim_status text, smdp_status text,
    total_volume bigint, total_duration integer, duration_unit text, install_before timestamptz,
    activate_time timestamptz, expired_time timestamptz, expiry_notice_at timestamptz, poll_at timestamptz,
    poll_every_s integer, created_at timestamptz)`
