import { createHmac, timingSafeEqual } from 'node:crypto'

/*
 * The link under which an eSIM's QR picture is shown: PUBLIC_URL/qr/TOKEN. The token is
 *
 *   base64url( tenant id (16 bytes) | profile id (16) | HMAC-SHA256(link key, 'qr' | both) cut to 16 bytes )
 *
 * so it is found without being stored, and 128 bits of it cannot be guessed without the link key.
 */

const ID_BYTES = 16
const TAG_BYTES = 16

export interface QrSubject {
  tenantId: string
  profileId: string
}

export function qrUrl(publicUrl: string, linkKey: Buffer, subject: QrSubject): string {
  return `${publicUrl}/qr/${qrToken(linkKey, subject)}`
}

export function qrToken(linkKey: Buffer, { tenantId, profileId }: QrSubject): string {
  const ids = Buffer.concat([bytesOf(tenantId), bytesOf(profileId)])
  return Buffer.concat([ids, tagOf(linkKey, ids)]).toString('base64url')
}

/** Whose picture a token shows; undefined for one that we did not make. */
export function openQrToken(linkKey: Buffer, token: string): QrSubject | undefined {
  const sealed = Buffer.from(token, 'base64url')
  // Base64 ignores what is none of it: only the very text that we gave out passes.
  if (sealed.length !== 2 * ID_BYTES + TAG_BYTES || sealed.toString('base64url') !== token) return undefined
  const ids = sealed.subarray(0, 2 * ID_BYTES)
  if (!timingSafeEqual(sealed.subarray(2 * ID_BYTES), tagOf(linkKey, ids))) return undefined
  return { tenantId: uuidOf(ids.subarray(0, ID_BYTES)), profileId: uuidOf(ids.subarray(ID_BYTES)) }
}

function tagOf(linkKey: Buffer, ids: Buffer): Buffer {
  return createHmac('sha256', linkKey).update('qr\n').update(ids).digest().subarray(0, TAG_BYTES)
}

function bytesOf(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}

function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
