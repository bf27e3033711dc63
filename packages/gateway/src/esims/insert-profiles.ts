import { stripIccidPadding } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { type Ids, timeOfUuid } from '@dealer-esim/lib/ids.ts'
import {
  bytesArray,
  type Columns,
  NULL,
  plainArray,
  textArray,
  timeArray,
  unnest,
  uuidArray,
} from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { DeliveredEsim } from '@dealer-esim/wholesalers/supplier.ts'
import type { CataloguePackage } from '#catalogue/catalogue.ts'
import type { LockedProfile } from '#orders/lock-orders.ts'
import { allowanceOf } from '#orders/order-item.ts'
import { POLL_EVERY_S } from './life/poll-interval.ts'
import { encryptEsimSecrets } from './profile-secrets.ts'

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
  /** The first polling interval, if it is not POLL_EVERY_S. */
  pollEveryS?: number | undefined
}

const DAY_MS = 86_400_000

/**
 * Inserts profiles. The caller sets their items DELIVERED in the same transaction. Adds no round trip. createTime is the time
 * in the id, in test time, so ordering by (createTime, id) and by id is the same.
 * @returns the profiles as LockedProfile, in order.
 */
export function insertProfiles(
  tx: Tx,
  deps: { ids: Ids; cipher: Pick<Cipher, 'encrypt'> },
  tenantId: string,
  profiles: readonly NewProfile[],
  testOffsetMs = 0,
): LockedProfile[] {
  if (profiles.length === 0) return []
  const rows = profiles.map((profile) => rowOf(deps, tenantId, profile, testOffsetMs))
  tx.send({ name: 'profiles-insert', text: INSERT, values: [tenantId, ...columnsOf(rows)] })
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
  testOffsetMs: number,
) {
  const allowance = bought && allowanceOf(bought, periodNum)
  const profileId = deps.ids.uuid()
  const insertedAt = timeOfUuid(profileId)
  const createdAt = insertedAt + testOffsetMs
  const byPackage = bought ? createdAt + bought.unusedValidTime * DAY_MS : Number.POSITIVE_INFINITY
  const bySupplier = esim.installBefore?.getTime() ?? Number.POSITIVE_INFINITY
  // With the other policies, a report starts the eSIM's validity (life/lifecycle.ts).
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
    secrets: encryptEsimSecrets(deps.cipher, tenantId, esim),
    apn: esim.apn ?? null,
    esimStatus: esim.esimStatus ?? ('GOT_RESOURCE' as const),
    smdpStatus: esim.smdpStatus ?? null,
    totalVolume: allowance?.volume ?? null,
    totalDuration: allowance?.days ?? 0,
    durationUnit: bought?.durationUnit ?? 'DAY',
    installBefore: Number.isFinite(installBefore) ? installBefore : null,
    activateTime: ends === undefined ? null : createdAt,
    expiredTime: ends ?? null,
    // A time in the past: the next pass computes the notices (life/expiring.ts).
    expiryNoticeAt: ends !== undefined && esim.esimStatus === 'IN_USE' ? createdAt : null,
    pollAt: isReported ? insertedAt + pollEveryS * 1000 : null,
    pollEveryS,
    createdAt,
  }
}

function columnsOf(rows: readonly ReturnType<typeof rowOf>[]): unknown[] {
  return [
    uuidArray(rows.map((row) => row.profileId)),
    uuidArray(rows.map((row) => row.orderId)),
    plainArray(rows.map((row) => row.itemNo)),
    textArray(rows.map((row) => row.supplier)),
    textArray(rows.map((row) => row.iccid)),
    textArray(rows.map((row) => row.imsi)),
    textArray(rows.map((row) => row.msisdn)),
    textArray(rows.map((row) => row.eid)),
    textArray(rows.map((row) => row.smdpAddress)),
    bytesArray(rows.map((row) => row.secrets)),
    textArray(rows.map((row) => row.apn)),
    plainArray(rows.map((row) => row.esimStatus)),
    plainArray(rows.map((row) => row.smdpStatus ?? NULL)),
    plainArray(rows.map((row) => row.totalVolume ?? NULL)),
    plainArray(rows.map((row) => row.totalDuration)),
    textArray(rows.map((row) => row.durationUnit)),
    timeArray(rows.map((row) => row.installBefore)),
    timeArray(rows.map((row) => row.activateTime)),
    timeArray(rows.map((row) => row.expiredTime)),
    timeArray(rows.map((row) => row.expiryNoticeAt)),
    timeArray(rows.map((row) => row.pollAt)),
    plainArray(rows.map((row) => row.pollEveryS)),
    timeArray(rows.map((row) => row.createdAt)),
  ]
}

const PROFILE: Columns = {
  profile_id: 'uuid',
  order_id: 'uuid',
  item_no: 'smallint',
  supplier: 'text',
  iccid: 'text',
  imsi: 'text',
  msisdn: 'text',
  eid: 'text',
  smdp_address: 'text',
  secrets: 'bytea',
  apn: 'text',
  esim_status: 'text',
  smdp_status: 'text',
  total_volume: 'bigint',
  total_duration: 'integer',
  duration_unit: 'text',
  install_before: 'timestamptz',
  activate_time: 'timestamptz',
  expired_time: 'timestamptz',
  expiry_notice_at: 'timestamptz',
  poll_at: 'timestamptz',
  poll_every_s: 'integer',
  created_at: 'timestamptz',
}

const INSERT = `
  insert into profiles (tenant_id, ${Object.keys(PROFILE).join(', ')}, updated_at)
  select $1::uuid, p.*, p.created_at from ${unnest(2, PROFILE, 'p')}`
