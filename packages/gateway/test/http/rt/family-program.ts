import { createHmac, randomUUID } from 'node:crypto'

/** The family's envelope. */
export interface FamilyAnswer {
  status: number
  success: boolean
  errorCode: string | null
  errorMsg: string | null
  errorMessage: string | null
  // biome-ignore lint/suspicious/noExplicitAny: tests check the members of any answer
  obj: any
  headers: Headers
}

export interface FamilyAccount {
  appKey: string
  appSecret: string
}

export interface FamilyParts {
  method?: string
  requestId?: string
  /** Replaces headers; undefined removes one. */
  headers?: Record<string, string | undefined>
}

/**
 * Posts as the family's programs do, written from the description of their API and independently of our code. Without a
 * body it also sends no Content-Type.
 */
export async function familyCall(
  baseUrl: string,
  { appKey, appSecret }: FamilyAccount,
  operation: string,
  body?: object,
  { method = 'POST', requestId = randomUUID(), headers = {} }: FamilyParts = {},
): Promise<FamilyAnswer> {
  const text = body === undefined ? '' : JSON.stringify(body)
  const all: Record<string, string | undefined> = {
    ...familyHeaders({ appKey, appSecret }, text, requestId),
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
    ...headers,
  }
  const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const response = await fetch(`${baseUrl}/api/v1/open/${operation}`, {
    method,
    headers: sent,
    ...(body !== undefined && method === 'POST' && { body: text }),
  })
  const answer = (await response.json()) as Omit<FamilyAnswer, 'status' | 'headers'>
  return { status: response.status, headers: response.headers, ...answer }
}

/** Signs a request as described in the API's documentation. */
export function familyHeaders(
  { appKey, appSecret }: FamilyAccount,
  text: string,
  requestId: string = randomUUID(),
): Record<string, string> {
  const timestamp = String(Date.now())
  const signature = createHmac('sha256', appSecret)
    .update(timestamp + requestId + appKey + text)
    .digest('hex')
  return {
    'RT-AccessCode': appKey,
    'RT-RequestID': requestId,
    'RT-Timestamp': timestamp,
    'RT-Signature': signature,
  }
}

/** Our codes that have another in the family, as listed in its description; null on success. */
const FAMILY_CODES: Record<string, string | null> = {
  '000000': null,
  '000108': '200008',
  '000109': '000102',
  '000110': '000102',
  '000111': '000102',
  '101004': '101003',
  '101005': '401001',
  '101006': '900001',
  '101007': '900001',
  '101008': '401001',
  '101009': '401001',
}

/** The errorCode for one of the dealer API's codes, e.g. 900001 for 101006. */
export function familyCode(code: string): string | null {
  return FAMILY_CODES[code] === undefined ? code : FAMILY_CODES[code]
}
