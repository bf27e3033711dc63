import { type OperationName, REQUEST_HEADERS, type SignedParts, signRequest, stringToSign } from '@dealer-esim/contract'
import { consoleBase } from '../api/call.ts'

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

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** The same request as a curl command. */
export function curlCommand(publicUrl: string, operation: OperationName, call: SignedCall): string {
  const headers = Object.entries(call.headers).map(([name, value]) => `  -H '${name}: ${value}' \\`)
  const body = call.body.replaceAll("'", `'\\''`)
  return [`curl -sS '${publicUrl}/open-api/v1/${operation}' \\`, ...headers, `  --data-binary '${body}'`].join('\n')
}

const METHODS: Record<OperationName, string> = {
  health: 'health',
  'account/balance': 'balance',
  'package/list': 'packages',
  'esim/order': 'order',
  'esim/topup': 'topup',
  'esim/query': 'query',
  'esim/profile/list': 'profiles',
  'esim/cancel': 'cancel',
  'esim/suspend': 'suspend',
  'esim/unsuspend': 'unsuspend',
  'esim/revoke': 'revoke',
  'esim/action/query': 'action',
  'webhook/set': 'setWebhook',
  'order/list': 'orders',
  'account/statement': 'statement',
  'location/list': 'locations',
  'esim/usage/query': 'usage',
}

export function sdkSnippet(publicUrl: string, appKey: string, operation: OperationName, body: string): string {
  const argument = body.trim() === '{}' ? '' : body.trim()
  return [
    `import { DealerEsim } from '@dealer-esim/sdk'`,
    '',
    `const gateway = new DealerEsim({`,
    `  baseUrl: '${publicUrl}',`,
    `  appKey: '${appKey}',`,
    '  appSecret: process.env.DEALER_ESIM_APP_SECRET,',
    '})',
    '',
    `const answer = await gateway.${METHODS[operation]}(${argument})`,
  ].join('\n')
}
