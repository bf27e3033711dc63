import { createToken, readToken } from '@dealer-esim/lib/crypto.ts'
import { tenantNow } from '#platform/test-time.ts'

/*
 * The public links to an eSIM: PUBLIC_URL/qr/TOKEN, its QR code, and PUBLIC_URL/share/TOKEN, the traveller's page. A token
 * contains the tenant and profile ids, so it does not need a table. Neither token can be computed from the other without
 * the key.
 */

const ID_BYTES = 16
const GENERATION_BYTES = 4

export interface QrSubject {
  tenantId: string
  profileId: string
}

export interface ShareSubject extends QrSubject {
  /** profiles.share_generation: a token of an earlier generation is invalid. */
  generation: number
}

export function qrUrl(publicUrl: string, linkKey: Buffer, subject: QrSubject): string {
  return `${publicUrl}/qr/${createToken(linkKey, 'qr', idsOf(subject))}`
}

export function shareUrl(publicUrl: string, linkKey: Buffer, subject: ShareSubject): string {
  const generation = Buffer.alloc(GENERATION_BYTES)
  generation.writeUInt32BE(subject.generation)
  return `${publicUrl}/share/${createToken(linkKey, 'share', Buffer.concat([idsOf(subject), generation]))}`
}

/** The profile of a QR link's token; undefined for a token that we did not create. */
export function readQrToken(linkKey: Buffer, token: string): QrSubject | undefined {
  const bytes = readToken(linkKey, 'qr', token)
  return bytes?.length === 2 * ID_BYTES ? subjectOf(bytes) : undefined
}

/** The profile and generation of a share link's token; undefined for a token that we did not create. */
export function readShareToken(linkKey: Buffer, token: string): ShareSubject | undefined {
  const bytes = readToken(linkKey, 'share', token)
  if (bytes?.length !== 2 * ID_BYTES + GENERATION_BYTES) return undefined
  return { ...subjectOf(bytes), generation: bytes.readUInt32BE(2 * ID_BYTES) }
}

function idsOf({ tenantId, profileId }: QrSubject): Buffer {
  return Buffer.concat([bytesOf(tenantId), bytesOf(profileId)])
}

function subjectOf(bytes: Buffer): QrSubject {
  return { tenantId: uuidOf(bytes.subarray(0, ID_BYTES)), profileId: uuidOf(bytes.subarray(ID_BYTES, 2 * ID_BYTES)) }
}

function bytesOf(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}

function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/**
 * SQL for profiles p: true while its shareUrl still opens its page. An eSIM without a time limit expired when its status
 * last changed.
 * @param now SQL: the present of the tenant
 */
export const shareAlive = (now: string): string => `(p.esim_status not in ('CANCEL', 'REVOKED') and coalesce(
    case when p.esim_status = 'UNUSED_EXPIRED' then coalesce(p.install_before, p.expired_time) else p.expired_time end,
    case when p.esim_status in ('UNUSED_EXPIRED', 'USED_EXPIRED') then p.updated_at end,
    'infinity') > ${now} - interval '90 days')`

/** The same for single eSIMs: the present is looked up for each row. */
export const SHARE_ALIVE = shareAlive(tenantNow('p.tenant_id'))

/**
 * SQL for profiles p: true while it is not installed, so its codes are shown. An eSIM in use is installed, unless its SM-DP+
 * still reports RELEASED or DOWNLOAD.
 */
export const INSTALLABLE = `(p.esim_status = 'GOT_RESOURCE' and p.smdp_status is null
  or p.esim_status in ('GOT_RESOURCE', 'IN_USE') and p.smdp_status in ('RELEASED', 'DOWNLOAD'))`
