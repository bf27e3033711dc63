import { type EsimStatus, parseActivationCode } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { PackageFacts } from '../languages/traveller-title.ts'
import { decryptSecrets } from '../profile-secrets.ts'
import { INSTALLABLE, type QrSubject, readQrToken, readShareToken, SHARE_ALIVE } from './qr-link.ts'

/** What installs an eSIM. Never log it. */
export interface InstallCodes {
  ac: string
  smdpAddress: string
  /** Empty if the SM-DP+ identifies the eSIM by the device. */
  matchingId: string
  isConfirmationCodeRequired: boolean
  /** null: none is required, or it is unknown. */
  confirmationCode: string | null
  /** The page for the traveller's identity check, if the eSIM requires one. */
  kycUrl: string | null
}

/** What the pages and mails of an eSIM show to its traveller. */
export interface TravellerEsim {
  tenantId: string
  profileId: string
  /** The dealer. */
  tenantName: string
  packageName: string
  /** null: the catalogue no longer has the package. */
  facts: PackageFacts | null
  description: string | null
  fupPolicy: string | null
  iccid: string
  /** The access point that the phone needs, if its supplier specifies one. */
  apn: string | null
  /** The telephone number of the eSIM, if it has one. */
  msisdn: string | null
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

/**
 * What a link of ours opens. OPEN has the codes until the eSIM is installed. USED is a QR link whose eSIM is installed or has
 * ended. REPLACED is a share link that was renewed, ENDED one of an eSIM that was cancelled, revoked or expired 90 days ago.
 */
export type OpenedLink =
  | { kind: 'OPEN'; esim: TravellerEsim; codes: InstallCodes | undefined }
  | { kind: 'USED' | 'REPLACED' | 'ENDED'; esim: TravellerEsim }

interface LinkDeps {
  db: Pick<Db, 'query'>
  cipher: Pick<Cipher, 'decrypt'>
  linkKey: Buffer
}

/** @returns undefined for a link that never was: its token is not ours */
export async function openQrLink(deps: LinkDeps, token: string): Promise<OpenedLink | undefined> {
  const subject = readQrToken(deps.linkKey, token)
  const row = subject && (await find(deps, subject))
  if (!row) return undefined
  const esim = esimOf(row)
  return row.isInstallable ? { kind: 'OPEN', esim, codes: codesOf(deps, row) } : { kind: 'USED', esim }
}

/** @returns undefined for a link that never was: its token is not ours */
export async function openShareLink(deps: LinkDeps, token: string): Promise<OpenedLink | undefined> {
  const subject = readShareToken(deps.linkKey, token)
  const row = subject && (await find(deps, subject))
  if (!row) return undefined
  const esim = esimOf(row)
  if (row.shareGeneration !== subject.generation) return { kind: 'REPLACED', esim }
  if (!row.isShared) return { kind: 'ENDED', esim }
  return { kind: 'OPEN', esim, codes: row.isInstallable ? codesOf(deps, row) : undefined }
}

/** The eSIM of a mail to its traveller, with its codes until it is installed. */
export async function getTravellerEsim(
  deps: Omit<LinkDeps, 'linkKey'>,
  subject: QrSubject,
): Promise<{ esim: TravellerEsim; codes: InstallCodes | undefined }> {
  const row = await find(deps, subject)
  return { esim: esimOf(row!), codes: row!.isInstallable ? codesOf(deps, row!) : undefined }
}

function codesOf({ cipher }: Pick<LinkDeps, 'cipher'>, row: Row): InstallCodes {
  const { ac, matchingId, confirmationCode = null, kycUrl = null } = decryptSecrets(cipher, row.tenantId, row.secrets)
  const parsed = parseActivationCode(ac)
  const isConfirmationCodeRequired = parsed.ok && parsed.value.confirmationCodeRequired
  return { ac, smdpAddress: row.smdpAddress, matchingId, isConfirmationCodeRequired, confirmationCode, kycUrl }
}

function esimOf(row: Row): TravellerEsim {
  const { secrets, smdpAddress, isInstallable, isShared, shareGeneration, ...shown } = row
  const { dataType, volume, duration, periodNum, activationPolicy, locationCodes, networkCodes, ...esim } = shown
  if (dataType === null) return { ...esim, facts: null }
  const locations = [...new Set([...locationCodes!, ...networkCodes!])]
  const days = duration! * (periodNum ?? 1)
  return { ...esim, facts: { dataType, volume, days, activationPolicy: activationPolicy!, locations } }
}

interface Row extends Omit<TravellerEsim, 'facts'> {
  secrets: Buffer
  smdpAddress: string
  isInstallable: boolean
  isShared: boolean
  shareGeneration: number
  /** This and the next ones: null without the package. */
  dataType: PackageFacts['dataType'] | null
  volume: bigint | null
  duration: number | null
  activationPolicy: PackageFacts['activationPolicy'] | null
  locationCodes: string[] | null
  networkCodes: string[] | null
  periodNum: number | null
}

async function find({ db }: Pick<LinkDeps, 'db'>, { tenantId, profileId }: QrSubject): Promise<Row | undefined> {
  const [row] = await db.query<Row>({ name: 'profiles-link', text: FIND, values: [tenantId, profileId] })
  return row
}

const FIND = `
  select p.tenant_id, p.profile_id, t.tenant_name, p.secrets, p.smdp_address, p.apn, p.msisdn, p.iccid, p.esim_status, p.suspended,
    p.total_volume, p.order_usage, p.usage_update_time, p.install_before, p.installation_time, p.expired_time,
    p.share_generation, ${INSTALLABLE} as is_installable, ${SHARE_ALIVE} as is_shared,
    o.package_lines -> i.line_no ->> 'packageName' as package_name,
    (o.package_lines -> i.line_no ->> 'periodNum')::int as period_num,
    pk.description, pk.fup_policy, pk.data_type, pk.volume, pk.duration, pk.activation_policy, c.location_codes,
    array(select network ->> 'locationCode' from json_array_elements(c.location_networks) network) as network_codes
  from profiles p
  join tenants t on t.tenant_id = p.tenant_id
  join orders o on o.tenant_id = p.tenant_id and o.order_id = p.order_id
  join order_items i on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
  left join packages pk on pk.package_code = i.package_code
  left join coverages c on c.coverage_id = pk.coverage_id
  where p.tenant_id = $1 and p.profile_id = $2`
