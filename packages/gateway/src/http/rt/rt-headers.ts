import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import {
  checkRequestHeaders,
  type RequestHeaders,
  RT_ALIASES,
  RT_API_PATH,
  type RtOperationName,
  rtOperations,
} from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'

/** @throws ApiError 000109 or 000103 */
export function checkRoute({ url = '', method }: IncomingMessage): RtOperationName {
  const path = url.split('?', 1)[0]!
  const name = RT_ALIASES.get(path) ?? (path.startsWith(RT_API_PATH) ? path.slice(RT_API_PATH.length) : '')
  if (!Object.hasOwn(rtOperations, name)) throw new ApiError('000109')
  if (method !== 'POST') throw new ApiError('000103')
  return name as RtOperationName
}

/**
 * A missing Content-Type is accepted, because some programs send none. So is that of a form, which `curl -d` sends with any
 * body: the parser decides whether it is JSON. @throws ApiError 000110
 */
export function checkMediaType({ headers }: IncomingMessage): void {
  const mediaType = headers['content-type']
  if (mediaType !== undefined && !MEDIA_TYPE.test(mediaType)) throw new ApiError('000110')
  if (headers['content-encoding'] !== undefined) throw new ApiError('000110')
}

const MEDIA_TYPE = /^application\/(?:json|x-www-form-urlencoded)\s*(?:;|$)/i

export interface SignedSender {
  /** As sent: the signature covers them. */
  headers: RequestHeaders
  /** The UUID under which admission spends the RequestID. */
  spentAs: string
}

/** @throws ApiError 000101, 000102 */
export function checkSignedHeaders({ headers }: IncomingMessage): SignedSender {
  const sent = headers['rt-requestid']
  const spentAs = typeof sent === 'string' ? requestUuidOf(sent) : undefined
  const checked = checkRequestHeaders({
    ...headers,
    'x-signature': headers['rt-signature'],
    ...(spentAs !== undefined && { 'rt-requestid': spentAs }),
  })
  if (checked.ok) return { headers: { ...checked.headers, requestId: sent as string }, spentAs: spentAs! }
  const details = checked.details.map(({ field, reason }) => {
    if (field === 'RT-RequestID') return { field, reason: `${reason.split(':', 1)[0]}: ${REQUEST_ID_ADVICE}` }
    return { field: field === 'X-Signature' ? 'RT-Signature' : field, reason }
  })
  throw new ApiError(checked.code, { details })
}

const REQUEST_ID_ADVICE = 'send a new one for each request, such as a UUID: 8 to 64 letters, digits and hyphens, once.'

/**
 * The UUID under which a RequestID is used up (docs/decisions/0033): a UUID itself, with or without hyphens; for any other
 * text, a UUID derived from it. A derived UUID has version 8, so it never equals the id of a delivery attempt.
 * @returns undefined if the RequestID has another form
 */
export function requestUuidOf(text: string): string | undefined {
  if (UUID.test(text)) return text.toLowerCase()
  if (!REQUEST_ID.test(text)) return undefined
  if (HEX.test(text)) return withHyphens(text.toLowerCase())
  const digits = hash('sha256', `rt request id ${text}`, 'hex')
  const variant = '89ab'[Number.parseInt(digits[16]!, 16) & 3]
  return withHyphens(`${digits.slice(0, 12)}8${digits.slice(13, 16)}${variant}${digits.slice(17, 32)}`)
}

/** Without `_`, which every AppKey has, so the signed text has only one reading. */
const REQUEST_ID = /^[A-Za-z0-9-]{8,64}$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const HEX = /^[0-9a-f]{32}$/i

function withHyphens(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** The sender of a request without a signature. */
export interface UnsignedSender {
  appKey: string
  /** The AppSecret itself, if the request carries it. */
  secretKey?: string
  /**
   * The RequestID sent with a secret. It is only returned and logged: it protects nothing that the secret does not already
   * open.
   */
  requestId?: string
}

/**
 * Finds the sender of a request that carries only an AppKey, or an AppKey and the AppSecret itself.
 * @returns undefined for a request that is checked as a signed one
 */
export function findUnsignedSender({ headers }: IncomingMessage): UnsignedSender | undefined {
  const secretKey = headers['rt-secretkey'] || undefined
  const signedBy = secretKey === undefined ? SIGNED_HEADERS : ['rt-signature']
  if (signedBy.some((name) => headers[name] !== undefined)) return undefined
  const appKey = headers['rt-accesscode']
  if (typeof appKey !== 'string' || !APP_KEY.test(appKey)) return undefined
  if (secretKey === undefined) return { appKey }
  const requestId = headers['rt-requestid']
  const isWellFormed = typeof requestId === 'string' && requestUuidOf(requestId) !== undefined
  return { appKey, secretKey: String(secretKey), ...(isWellFormed && { requestId }) }
}

const SIGNED_HEADERS = ['rt-signature', 'rt-timestamp', 'rt-requestid']
const APP_KEY = /^[A-Za-z0-9_-]{8,64}$/
