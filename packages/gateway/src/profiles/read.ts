import {
  androidInstallUrl,
  appleInstallUrl,
  type EsimStatus,
  formatTime,
  type Profile,
  type SmdpStatus,
} from '@dealer-esim/contract'
import type { Cipher } from '../lib/crypto.ts'
import { orderNoOf } from '../lib/ids.ts'
import type { PackageLine } from '../orders/decide.ts'
import type { ProfileSecrets } from './insert.ts'
import { qrUrl } from './qr-link.ts'

export interface ProfileReadDeps {
  cipher: Pick<Cipher, 'decrypt'>
  linkKey: Buffer
  /** Where absolute links start, without a trailing slash. */
  links: { publicUrl: string }
}

/** Read with OWN_COLUMNS from profiles p; the rest is what its order knows. */
export interface ProfileRow {
  profile_id: string
  order_id: string
  iccid: string
  imsi: string | null
  msisdn: string | null
  eid: string | null
  smdp_address: string
  secrets: Buffer
  apn: string | null
  esim_status: EsimStatus
  smdp_status: SmdpStatus | null
  total_volume: bigint | null
  order_usage: bigint | null
  usage_update_time: Date | null
  total_duration: number
  duration_unit: Profile['durationUnit']
  install_before: Date | null
  activate_time: Date | null
  expired_time: Date | null
  created_at: Date
  updated_at: Date
  transaction_id: string
  line: PackageLine
}

export const OWN_COLUMNS = `p.profile_id, p.order_id, p.iccid, p.imsi, p.msisdn, p.eid, p.smdp_address, p.secrets,
  p.apn, p.esim_status, p.smdp_status, p.total_volume, p.order_usage, p.usage_update_time, p.total_duration,
  p.duration_unit, p.install_before, p.activate_time, p.expired_time, p.created_at, p.updated_at`

/** A profile as its tenant sees it, activation code and all. Never log it. */
export function profileOf(deps: ProfileReadDeps, tenantId: string, row: ProfileRow): Profile {
  const secrets = openSecrets(deps.cipher, tenantId, row.secrets)
  return {
    esimTranNo: row.profile_id,
    orderNo: orderNoOf(row.order_id),
    transactionId: row.transaction_id,
    packageCode: row.line.packageCode,
    packageName: row.line.packageName,
    iccid: row.iccid,
    imsi: row.imsi,
    msisdn: row.msisdn,
    eid: row.eid,
    ac: secrets.ac,
    smdpAddress: row.smdp_address,
    matchingId: secrets.matchingId,
    confirmationCode: secrets.confirmationCode ?? null,
    pin: secrets.pin ?? null,
    puk: secrets.puk ?? null,
    qrCodeUrl: qrUrl(deps.links.publicUrl, deps.linkKey, { tenantId, profileId: row.profile_id }),
    appleInstallUrl: appleInstallUrl(secrets.ac),
    androidInstallUrl: androidInstallUrl(secrets.ac),
    apn: row.apn,
    esimStatus: row.esim_status,
    smdpStatus: row.smdp_status,
    totalVolume: numberOf(row.total_volume),
    orderUsage: numberOf(row.order_usage),
    usageUpdateTime: timeOf(row.usage_update_time),
    totalDuration: row.total_duration,
    durationUnit: row.duration_unit,
    installBefore: timeOf(row.install_before),
    activateTime: timeOf(row.activate_time),
    expiredTime: timeOf(row.expired_time),
    createTime: formatTime(row.created_at),
    lastUpdateTime: formatTime(row.updated_at),
  }
}

export function openSecrets(cipher: Pick<Cipher, 'decrypt'>, tenantId: string, sealed: Buffer): ProfileSecrets {
  return JSON.parse(cipher.decrypt(sealed, tenantId).toString()) as ProfileSecrets
}

function numberOf(value: bigint | null): number | null {
  return value === null ? null : Number(value)
}

function timeOf(value: Date | null): string | null {
  return value === null ? null : formatTime(value)
}
