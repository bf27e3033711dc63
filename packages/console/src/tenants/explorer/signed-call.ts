import { type OperationName, REQUEST_HEADERS, type SignedParts, signRequest, stringToSign } from '@dealer-esim/contract'
import { consoleBase } from '#api/call-api.ts'
import { prettyJson } from '#code/highlight.ts'

export interface SignedCall {
  url: string
  headers: Record<string, string>
  body: string
  stringToSign: string
  signature: string
}

/** Signs a dealer API request in the browser. The secret is never sent. */
export async function signCall(
  appKey: string,
  secret: string,
  operation: OperationName,
  body: string,
): Promise<SignedCall> {
  const parts: SignedParts = { timestamp: String(Date.now()), requestId: crypto.randomUUID(), appKey }
  const signature = await signRequest(secret, parts, body)
  return {
    // The console's content security policy allows only its own origin.
    url: new URL(`../open-api/v1/${operation}`, consoleBase).href,
    headers: {
      'Content-Type': 'application/json',
      [REQUEST_HEADERS.appKey]: parts.appKey,
      [REQUEST_HEADERS.requestId]: parts.requestId,
      [REQUEST_HEADERS.timestamp]: parts.timestamp,
      [REQUEST_HEADERS.signature]: signature,
    },
    body,
    stringToSign: new TextDecoder().decode(stringToSign(parts, body)),
    signature,
  }
}

export interface CallResponse {
  status: number
  text: string
  durationMs: number
}

export async function sendCall(call: SignedCall): Promise<CallResponse> {
  const start = performance.now()
  const response = await fetch(call.url, {
    method: 'POST',
    headers: call.headers,
    body: call.body,
    credentials: 'omit',
  })
  const text = await response.text()
  return { status: response.status, text: prettyJson(text), durationMs: performance.now() - start }
}
