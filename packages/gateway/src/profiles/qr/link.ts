import { createToken, readToken } from '../../lib/crypto.ts'

/*
 * The public link to an eSIM's QR code: PUBLIC_URL/qr/TOKEN. The token contains the tenant and profile ids, encrypted, so
 * it needs no table.
 */

const ID_BYTES = 16
const PURPOSE = 'qr'

export interface QrSubject {
  tenantId: string
  profileId: string
}

export function qrUrl(publicUrl: string, linkKey: Buffer, subject: QrSubject): string {
  return `${publicUrl}/qr/${qrToken(linkKey, subject)}`
}

export function qrToken(linkKey: Buffer, { tenantId, profileId }: QrSubject): string {
  return createToken(linkKey, PURPOSE, Buffer.concat([bytesOf(tenantId), bytesOf(profileId)]))
}

/** The profile of a token; undefined for a token that we did not create. */
export function decryptQrToken(linkKey: Buffer, token: string): QrSubject | undefined {
  const ids = readToken(linkKey, PURPOSE, token)
  if (ids?.length !== 2 * ID_BYTES) return undefined
  return { tenantId: uuidOf(ids.subarray(0, ID_BYTES)), profileId: uuidOf(ids.subarray(ID_BYTES)) }
}

function bytesOf(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}

function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
