import { createHmac, randomUUID } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

export const APP_SECRET = 'tEsT-sEcReT_0123456789'
const APP_KEY = 'fake_app_key'

export const EVENT = {
  notifyId: '0190a000-0000-7000-8000-000000000001',
  notifyType: 'ORDER_PAID',
  eventGenerateTime: '2026-11-20T13:28:09.000Z',
  content: {
    orderNo: 'O1',
    transactionId: 'T-1',
    orderStatus: 'PAID',
    sequence: 1,
    amount: 45_000,
    currencyCode: 'USD',
    balanceAfter: 955_000,
    packageInfoList: [{ packageCode: 'JP_1_7', packageName: 'Japan 1 GB', count: 1, price: 45_000 }],
  },
} as const

interface Signed {
  headers: Record<string, string>
  body: string
}

interface Wanted {
  event?: object
  /** Secrets for the Standard Webhooks headers; several in a grace period. Null omits the headers. */
  standard?: string[] | null
  /** Secret for the request scheme. Null omits the headers. */
  request?: string | null
  nowMs?: number
}

/** An event as posted by a gateway, signed with `standardwebhooks` and node:crypto, not with the code under test. */
export function signedEvent(wanted: Wanted = {}): Signed {
  const { event = EVENT, standard = [APP_SECRET], request = APP_SECRET, nowMs = Date.now() } = wanted
  const body = JSON.stringify(event)
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (standard !== null) {
    const id = 'notifyId' in event ? String(event.notifyId) : EVENT.notifyId
    const at = new Date(nowMs)
    headers['webhook-id'] = id
    headers['webhook-timestamp'] = String(Math.floor(nowMs / 1000))
    headers['webhook-signature'] = standard
      .map((secret) => new Webhook(Buffer.from(secret).toString('base64')).sign(id, at, body))
      .join(' ')
  }
  if (request !== null) {
    const requestId = randomUUID()
    const base = `${nowMs}${requestId}${APP_KEY}${body}`
    headers['rt-timestamp'] = String(nowMs)
    headers['rt-requestid'] = requestId
    headers['rt-accesscode'] = APP_KEY
    headers['x-signature'] = createHmac('sha256', request).update(base).digest('hex')
  }
  return { headers, body }
}
