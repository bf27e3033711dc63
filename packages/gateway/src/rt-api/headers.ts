import type { IncomingMessage } from 'node:http'
import { checkRequestHeaders, type RequestHeaders } from '@dealer-esim/contract'
import { ApiError } from '../lib/api-error.ts'

/** A missing Content-Type is accepted: some programs send none. @throws ApiError 000110 */
export function checkMediaType({ headers }: IncomingMessage): void {
  const mediaType = headers['content-type']
  if (mediaType !== undefined && !/^application\/json\s*(?:;|$)/i.test(mediaType)) throw new ApiError('000110')
  if (headers['content-encoding'] !== undefined) throw new ApiError('000110')
}

/** @throws ApiError 000101, 000102 */
export function checkSignedHeaders({ headers }: IncomingMessage): RequestHeaders {
  const checked = checkRequestHeaders({ ...headers, 'x-signature': headers['rt-signature'] })
  if (checked.ok) return checked.headers
  const details = checked.details.map(({ field, reason }) => {
    return { field: field === 'X-Signature' ? 'RT-Signature' : field, reason }
  })
  throw new ApiError(checked.code, { details })
}

/** The AppKey of a request that has nothing else; undefined for one that is judged as signed. */
export function unsignedAppKey({ headers }: IncomingMessage): string | undefined {
  if (SIGNED_HEADERS.some((name) => headers[name] !== undefined)) return undefined
  const appKey = headers['rt-accesscode']
  return typeof appKey === 'string' && APP_KEY.test(appKey) ? appKey : undefined
}

const SIGNED_HEADERS = ['rt-signature', 'rt-timestamp', 'rt-requestid']
const APP_KEY = /^[A-Za-z0-9_-]{8,64}$/
