import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { codes, failure } from '@dealer-esim/contract'
import type { ApiError } from '../lib/api-error.ts'

/** What is told in the contract's envelope: by the dealers' door, and wherever no door is reached. */
export interface Answer {
  code: string
  http: number
  headers: Record<string, string>
  body: string
}

const JSON_TYPE = 'application/json; charset=utf-8'

export function successAnswer(requestId: string, data: object, headers?: Record<string, string>): Answer {
  return {
    code: '000000',
    http: 200,
    headers: { 'content-type': JSON_TYPE, 'rt-requestid': requestId, ...headers },
    body: `{"code":"000000","message":"success","data":${JSON.stringify(data)}}`,
  }
}

/** `requestId` is the caller's where it was well formed. Never a stack trace, SQL or a secret: only what `error` says. */
export function failureAnswer(requestId: string | undefined, error: ApiError): Answer {
  const { message, details, data, headers } = error.parts
  const { code } = error
  const told = requestId ?? randomUUID()
  const envelope = failure(code, told, { message, details, data: data as never })
  return {
    code,
    http: codes[code].http,
    headers: {
      'content-type': JSON_TYPE,
      ...(requestId === undefined ? {} : { 'rt-requestid': requestId }),
      ...(code === '000002' ? { 'Retry-After': '1' } : {}), // spelt as the rooms do: one that says more replaces it
      ...headers,
    },
    body: JSON.stringify(envelope),
  }
}

/** Head and body in one write. With `isLast` the connection ends behind it. @returns the size of the body in bytes */
export function sendAnswer(
  response: ServerResponse,
  { http, headers, body }: Answer,
  { isLast }: { isLast: boolean },
): number {
  const sizeBytes = Buffer.byteLength(body)
  headers['content-length'] = String(sizeBytes)
  if (isLast) headers.connection = 'close'
  response.writeHead(http, headers).end(body)
  return sizeBytes
}
