import {
  androidInstallUrl,
  appleInstallUrl,
  type EsimStatus,
  formatTime,
  orderNoOf,
  type Profile,
  type SmdpStatus,
} from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { lineOfItem, type PackageLine } from '#orders/order-item.ts'
import { sentTransactionId } from '#orders/transaction-id.ts'
import { tenantNow } from '#platform/test-time.ts'
import { decryptSecrets } from './profile-secrets.ts'
import { qrUrl, shareAlive, shareUrl } from './qr/qr-link.ts'

export interface ProfileReadDeps {
  cipher: Pick<Cipher, 'decrypt'>
  linkKey: Buffer
  /** The start of absolute links, without a trailing slash. */
  links: { publicUrl: string }
}

/** profileColumns() of profiles p, and the members that come from the order. */
export interface ProfileRow {
  profileId: string
  orderId: string
  iccid: string
  imsi: string | null
  msisdn: string | null
  eid: string | null
  smdpAddress: string
  secrets: Buffer
  apn: string | null
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
  totalVolume: bigint | null
  orderUsage: bigint | null
  usageUpdateTime: Date | null
  totalDuration: number
  durationUnit: Profile['durationUnit']
  installBefore: Date | null
  activateTime: Date | null
  expiredTime: Date | null
  suspended: boolean
  shareGeneration: number
  isShared: boolean
  createdAt: Date
  updatedAt: Date
  transactionId: string
  line: PackageLine
}

/**
 * SQL for profiles p.
 * @param now SQL: the present of their tenant, which must not depend on p: a look-up per row made a page of a hundred profiles
 * touch 235 index pages
 */
export const profileColumns = (
  now: string,
): string => `p.profile_id, p.order_id, p.iccid, p.imsi, p.msisdn, p.eid, p.smdp_address, p.secrets,
  p.apn, p.esim_status, p.smdp_status, p.total_volume, p.order_usage, p.usage_update_time, p.total_duration,
  p.duration_unit, p.install_before, p.activate_time, p.expired_time, p.suspended, p.share_generation,
  ${shareAlive(now)} as is_shared, p.created_at, p.updated_at`

/** A row of a statement with JOIN_ORDERS. */
export type JoinedRow = Omit<ProfileRow, 'line'> & { itemNo: number; packageLines: PackageLine[] }

/**
 * SQL after `with found as materialized (…)`, which reads profiles of the tenant $1: their orders with one index scan, of which
 * PostgreSQL 17 and later read each page once. Measured for a page of a hundred profiles: a look-up per order and item touched
 * 620 index pages, or a thousand with five million orders, whose indexes are two levels deeper. This touches about 30.
 */
export const JOIN_ORDERS = `, sold as materialized (
    select order_id, transaction_id, sent, package_lines from orders
    where tenant_id = $1 and order_id = any (array(select order_id from found)))
  select ${profileColumns(tenantNow('$1'))}, p.item_no, ${sentTransactionId('o')} as transaction_id, o.package_lines
  from found p join sold o on o.order_id = p.order_id`

export function profileOfRow(deps: ProfileReadDeps, tenantId: string, row: JoinedRow): Profile {
  return toProfile(deps, tenantId, { ...row, line: lineOfItem(row.packageLines, row.itemNo) })
}

/** The profile of the dealer API, with its activation code. Never log it. */
export function toProfile(deps: ProfileReadDeps, tenantId: string, row: ProfileRow): Profile {
  const secrets = decryptSecrets(deps.cipher, tenantId, row.secrets)
  const { publicUrl } = deps.links
  const subject = { tenantId, profileId: row.profileId }
  return {
    esimTranNo: row.profileId,
    orderNo: orderNoOf(row.orderId),
    transactionId: row.transactionId,
    packageCode: row.line.packageCode,
    packageName: row.line.packageName,
    iccid: row.iccid,
    imsi: row.imsi,
    msisdn: row.msisdn,
    eid: row.eid,
    ac: secrets.ac,
    smdpAddress: row.smdpAddress,
    matchingId: secrets.matchingId,
    confirmationCode: secrets.confirmationCode ?? null,
    pin: secrets.pin ?? null,
    puk: secrets.puk ?? null,
    qrCodeUrl: qrUrl(publicUrl, deps.linkKey, subject),
    appleInstallUrl: appleInstallUrl(secrets.ac),
    androidInstallUrl: androidInstallUrl(secrets.ac),
    shareUrl: row.isShared ? shareUrl(publicUrl, deps.linkKey, { ...subject, generation: row.shareGeneration }) : null,
    apn: row.apn,
    esimStatus: row.esimStatus,
    smdpStatus: row.smdpStatus,
    totalVolume: numberOf(row.totalVolume),
    orderUsage: numberOf(row.orderUsage),
    usageUpdateTime: timeOf(row.usageUpdateTime),
    totalDuration: row.totalDuration,
    durationUnit: row.durationUnit,
    installBefore: timeOf(row.installBefore),
    activateTime: timeOf(row.activateTime),
    expiredTime: timeOf(row.expiredTime),
    suspended: row.suspended,
    createTime: formatTime(row.createdAt),
    lastUpdateTime: formatTime(row.updatedAt),
  }
}

function numberOf(value: bigint | null): number | null {
  return value === null ? null : Number(value)
}

function timeOf(value: Date | null): string | null {
  return value === null ? null : formatTime(value)
}
