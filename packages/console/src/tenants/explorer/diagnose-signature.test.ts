import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import en from '#strings/en.json'

let diagnose: typeof import('./diagnose-signature.ts').diagnose
beforeAll(async () => {
  // The text catalogue asks the browser for its languages as soon as it is loaded.
  vi.stubGlobal('navigator', { languages: ['en'] })
  ;({ diagnose } = await import('./diagnose-signature.ts'))
})
afterAll(() => vi.unstubAllGlobals())

const SECRET = 'qL3v-demo_secret'
const PARTS = ['1700000000000', '7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11', 'demo_app_key'] as const
const BODY = '{"transactionId":"T-1","packageInfoList":[{"packageCode":"JP_1_7","count":1}]}'
const hmac = (text: string, secret = SECRET) => createHmac('sha256', secret).update(text)

it.each([
  ['a right signature', hmac(PARTS.join('') + BODY).digest('hex'), undefined],
  ['separated parts', hmac([...PARTS, BODY].join('&')).digest('hex'), 'with a separator (&)'],
  ['the path', hmac(`${PARTS.join('')}/open-api/v1/esim/order${BODY}`).digest('hex'), 'The path was signed too'],
  ['Base64', hmac(PARTS.join('') + BODY).digest('base64'), '(Base64)'],
  ['two mistakes', hmac([...PARTS, BODY].join('&'), `${SECRET}\n`).digest('hex'), en.debugger.messages.unexplained],
  ['another secret', hmac(PARTS.join('') + BODY, 'another').digest('hex'), en.debugger.messages.unexplained],
])('the diagnosis explains %s', async (_name, signature, expected) => {
  const message = await firstFault(signature)
  if (expected === undefined) expect(message).toBeUndefined()
  else expect(message).toContain(expected)
})

async function firstFault(signature: string): Promise<string | undefined> {
  const [timestamp, requestId, appKey] = PARTS
  const headers = {
    'RT-AccessCode': appKey,
    'RT-RequestID': requestId,
    'RT-Timestamp': timestamp,
    'X-Signature': signature,
  }
  const results = await diagnose({
    headersText: Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
    body: BODY,
    operation: 'esim/order',
    appKey,
    secret: SECRET,
    serverTimeMs: Number(timestamp),
    isRequestIdUsed: async () => false,
  })
  return results.find(({ ok }) => ok === false)?.message
}
