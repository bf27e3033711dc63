import type { IncomingMessage } from 'node:http'
import {
  API_PATH,
  checkRequestHeaders,
  isOperationName,
  type OperationName,
  operationNames,
  type RequestHeaders,
} from '@dealer-esim/contract'
import { ApiError } from '../lib/api-error.ts'

/*
 * The checks of a request before its body (contract §3), in their order: route and method; then, after HTTPS, media type
 * and headers.
 */

/** @throws ApiError 000109 or 000103 */
export function checkRoute({ url = '', method }: IncomingMessage): OperationName {
  const operation = OPERATIONS.get(url) ?? operationAt(pathOf(url))
  if (operation === undefined) throw new ApiError('000109')
  if (method !== 'POST') throw new ApiError('000103', { headers: { allow: 'POST' } })
  return operation
}

/** By the request target, as nearly every caller writes it. */
const OPERATIONS: ReadonlyMap<string, OperationName> = new Map(operationNames.map((name) => [API_PATH + name, name]))

function operationAt(path: string): OperationName | undefined {
  const name = path.startsWith(API_PATH) ? path.slice(API_PATH.length) : ''
  return isOperationName(name) ? name : undefined
}

/** Reads a target as Fastify's router does: it may name the server (RFC 9112 §3.2.2), have a query, and be encoded. */
function pathOf(target: string): string {
  const path = target.replace(/^https?:\/\/[^/]*/, '').split(/[?#]/, 1)[0] as string
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

/** @throws ApiError 000110 */
export function checkMediaType({ headers }: IncomingMessage): void {
  const mediaType = headers['content-type']
  const isJson = mediaType === 'application/json' || (mediaType !== undefined && MEDIA_TYPE.test(mediaType))
  if (!isJson || headers['content-encoding'] !== undefined) throw new ApiError('000110')
}

const MEDIA_TYPE = /^application\/json\s*(?:;|$)/i

/**
 * Headers must be well formed and must not be repeated. Of Content-Type and Host Node silently keeps the first one.
 * @throws ApiError 000101 or 000102
 */
export function checkHeaders({ headers, rawHeaders, httpVersion }: IncomingMessage): RequestHeaders {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new ApiError('000101', { details: [{ field: 'Host', reason: 'Missing: HTTP/1.1 requires it.' }] })
  }
  const checked = checkRequestHeaders(headers)
  if (!checked.ok) throw new ApiError(checked.code, { details: checked.details })
  if (countOf(rawHeaders, 'content-type') > 1) throw repeated('Content-Type')
  if (countOf(rawHeaders, 'host') > 1) throw repeated('Host')
  return checked.headers
}

function countOf(rawHeaders: readonly string[], header: string): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === header.length && name.toLowerCase() === header) count++
  }
  return count
}

function repeated(field: string): ApiError {
  return new ApiError('000102', { details: [{ field, reason: 'Malformed: send it only once.' }] })
}
