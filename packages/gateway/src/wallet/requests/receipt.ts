import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, parseLine, Refusal, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'

/** Enough for a photograph of a receipt. At most OPEN_REQUESTS_MAX of them are waiting per dealer. */
export const RECEIPT_SIZE_MAX_BYTES = 4 * 1024 * 1024
/** Base64 encodes 3 bytes as 4 characters. A longer text is refused before it is decoded. */
const BASE64_LENGTH_MAX = Math.ceil(RECEIPT_SIZE_MAX_BYTES / 3) * 4
const FILE_NAME_LENGTH_MAX = 100

export interface Receipt {
  fileName: string
  mediaType: string
  content: Buffer
}

/** A file as sent by a dealer. `content`: its bytes, or Base64 text. */
export interface SentReceipt {
  fileName: string
  content: Uint8Array | string
}

/** The first bytes of each accepted type. */
const TYPES = [
  { mediaType: 'application/pdf', extension: 'pdf', start: Buffer.from('%PDF-') },
  { mediaType: 'image/png', extension: 'png', start: Buffer.from('89504e470d0a1a0a', 'hex') },
  { mediaType: 'image/jpeg', extension: 'jpg', start: Buffer.from('ffd8ff', 'hex') },
] as const

/**
 * Checks a file sent by a dealer. Its content determines its type, not its name. It is stored under a name with the
 * extension of that type and only characters that every file system and header allows.
 * @throws Refusal
 */
export function parseReceipt({ fileName, content }: SentReceipt): Receipt {
  const bytes =
    typeof content === 'string' ? fromBase64(content) : Buffer.from(content.buffer, content.byteOffset, content.length)
  if (bytes.length > RECEIPT_SIZE_MAX_BYTES) throw tooLarge()
  const type = TYPES.find(({ start }) => bytes.subarray(0, start.length).equals(start))
  if (!type) throw invalid('The receipt is not a PDF, PNG or JPEG file. Send one of these.')
  return { fileName: `${plainName(fileName)}.${type.extension}`, mediaType: type.mediaType, content: bytes }
}

/** @throws Refusal */
function fromBase64(content: string): Buffer {
  if (content.length > BASE64_LENGTH_MAX) throw tooLarge()
  const bytes = Buffer.from(content, 'base64')
  if (isBase64Of(bytes, content)) return bytes
  throw invalid('The receipt is not valid Base64. Send the file’s content in Base64.')
}

/** Compares whole texts: a regular expression that strips the padding would take hours for five million `=`. */
function isBase64Of(bytes: Buffer, content: string): boolean {
  const padded = bytes.toString('base64')
  return content === padded || content === padded.slice(0, Math.ceil((bytes.length * 4) / 3))
}

/** Reads the receipt of a request. @throws Refusal if the request has no receipt */
export async function getReceipt(db: Pick<Db, 'query'>, tenantId: string, requestId: string): Promise<Receipt> {
  const [row] = await db.query<Receipt>(sql`
    select file_name, media_type, content from top_up_receipts
    where tenant_id = ${requireUuid(tenantId, 'tenant')} and request_id = ${requireUuid(requestId, 'receipt')}`)
  if (!row) throw notFound('receipt')
  return row
}

function plainName(fileName: string): string {
  const line = parseLine(fileName, { min: 1, max: 255 }) ?? ''
  const plain = line
    .replace(/\.[A-Za-z0-9]{1,5}$/, '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
  const name = plain.split(/[^A-Za-z0-9]+/).filter(Boolean)
  return name.join('-').slice(0, FILE_NAME_LENGTH_MAX) || 'receipt'
}

function tooLarge(): Refusal {
  return invalid(`The receipt is larger than ${RECEIPT_SIZE_MAX_BYTES / 1024 ** 2} MB. Send a smaller file.`)
}

function invalid(message: string): Refusal {
  return new Refusal(422, 'RECEIPT_INVALID', message)
}
