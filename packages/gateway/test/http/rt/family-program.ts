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
