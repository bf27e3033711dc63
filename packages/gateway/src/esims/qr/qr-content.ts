import { type EsimStatus, parseActivationCode } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { decryptSecrets } from '../profile-secrets.ts'
import { INSTALLABLE, type QrSubject, readQrToken, readShareToken, SHARE_ALIVE } from './qr-link.ts'

/** Never log it: it suffices to install the eSIM. */
export interface QrContent {
  ac: string
  smdpAddress: string
  /** Empty if the SM-DP+ identifies the eSIM by the device. */
  matchingId: string
  isConfirmationCodeRequired: boolean
  /** null: none is required, or it is unknown. */
  confirmationCode: string | null
  iccid: string
  packageName: string
  /** The access point that the phone needs, if its supplier specifies one. */
  apn: string | null
  /** The page for the traveller's identity check, if the eSIM requires one. */
  kycUrl: string | null
  /** The telephone number of the eSIM, if it has one. */
  msisdn: string | null
  terms: PackageTerms
}

/** What the seller says about the package today. */
export interface PackageTerms {
  description: string | null
  fupPolicy: string | null
}

/** The data that the traveller's page shows. */
export interface SharedEsim {
  /** Undefined once the eSIM is installed or expired. */
  codes: QrContent | undefined
  iccid: string
  packageName: string
  /** As in `QrContent`: also needed after installation. */
  apn: string | null
  msisdn: string | null
  terms: PackageTerms
  esimStatus: EsimStatus
  suspended: boolean
  /** Bytes; null: unlimited. */
  totalVolume: bigint | null
  /** Bytes; null: not reported. */
  orderUsage: bigint | null
  usageUpdateTime: Date | null
  installBefore: Date | null
  /** null: not reported. */
  installationTime: Date | null
  expiredTime: Date | null
}

interface LinkDeps {
  db: Pick<Db, 'query'>
  cipher: Pick<Cipher, 'decrypt'>
  linkKey: Buffer
}

/** Finds the content of a QR link. @returns undefined for an invalid link, or once the eSIM is installed or cancelled */
export async function findQrContent(deps: LinkDeps, token: string): Promise<QrContent | undefined> {
  const subject = readQrToken(deps.linkKey, token)
  if (subject === undefined) return undefined
  const row = await find(deps, subject)
  return row?.isInstallable ? codesOf(deps, subject, row) : undefined
}

/**
 * Finds the eSIM of a share link.
 * @returns undefined for an invalid or renewed link, once the eSIM is cancelled or revoked, and 90 days after its expiry
 */
export async function findSharedEsim(deps: LinkDeps, token: string): Promise<SharedEsim | undefined> {
  const subject = readShareToken(deps.linkKey, token)
  if (subject === undefined) return undefined
  const row = await find(deps, subject)
  if (!row?.isShared || row.shareGeneration !== subject.generation) return undefined
  const { iccid, packageName, apn, msisdn, esimStatus, suspended, totalVolume, orderUsage } = row
  const { usageUpdateTime, installBefore, installationTime, expiredTime } = row
  return {
    ...{ iccid, packageName, apn, msisdn, esimStatus, suspended, totalVolume, orderUsage },
    ...{ usageUpdateTime, installBefore, installationTime, expiredTime },
    terms: termsOf(row),
    codes: row.isInstallable ? codesOf(deps, subject, row) : undefined,
  }
}

function codesOf({ cipher }: Pick<LinkDeps, 'cipher'>, { tenantId }: QrSubject, row: Row): QrContent {
  const { ac, matchingId, confirmationCode = null, kycUrl = null } = decryptSecrets(cipher, tenantId, row.secrets)
  const parsed = parseActivationCode(ac)
  return {
    ac,
    smdpAddress: row.smdpAddress,
    matchingId,
    isConfirmationCodeRequired: parsed.ok && parsed.value.confirmationCodeRequired,
    confirmationCode,
    iccid: row.iccid,
    packageName: row.packageName,
    apn: row.apn,
    kycUrl,
    msisdn: row.msisdn,
    terms: termsOf(row),
  }
}

function termsOf({ description, fupPolicy }: Row): PackageTerms {
  return { description, fupPolicy }
}

interface Row extends Omit<SharedEsim, 'codes' | 'terms'>, PackageTerms {
  secrets: Buffer
  smdpAddress: string
  isInstallable: boolean
  isShared: boolean
  shareGeneration: number
}

async function find({ db }: LinkDeps, { tenantId, profileId }: QrSubject): Promise<Row | undefined> {
  const [row] = await db.query<Row>({ name: 'profiles-link', text: FIND, values: [tenantId, profileId] })
  return row
}

const FIND = `
  select p.secrets, p.smdp_address, p.apn, p.msisdn, p.iccid, p.esim_status, p.suspended, p.total_volume, p.order_usage,
    p.usage_update_time, p.install_before, p.installation_time, p.expired_time, p.share_generation,
    pk.description, pk.fup_policy, ${INSTALLABLE} as is_installable,
    ${SHARE_ALIVE} as is_shared, o.package_lines -> i.line_no ->> 'packageName' as package_name
  from profiles p
  join orders o on o.tenant_id = p.tenant_id and o.order_id = p.order_id
  join order_items i on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
  left join packages pk on pk.package_code = i.package_code
  where p.tenant_id = $1 and p.profile_id = $2`
