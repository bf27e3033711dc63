import { createHmac } from 'node:crypto'
import { CLOCK_WINDOW_MS } from '@dealer-esim/contract'
import { expect, test } from 'vitest'
import type { Tenant } from '../tenants/tenant.ts'
import { checkRequest } from './admission.ts'

const NOW_MS = Date.parse('2026-11-20T13:00:00.000Z')
const APP_KEY = 'demo_app_key'
const SECRET = 'demo_app_secret'
const REQUEST_ID = '7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11'
const TENANT: Tenant = {
  ...{ tenantId: REQUEST_ID, appKey: APP_KEY, clientName: 'T', currencyCode: 'USD', status: 'ACTIVE', version: 1n },
  ...{ ipAllowlist: [], qpsLimit: null },
  secrets: [{ secretId: 's', secret: SECRET, validUntilMs: null, provenAtMs: NOW_MS }],
}

/** Of a request that was signed so long after the gateway's now. */
function verdictAt(offsetMs: number) {
  const timestamp = String(NOW_MS + offsetMs)
  const body = Buffer.from('{}')
  const signature = createHmac('sha256', SECRET)
    .update(timestamp + REQUEST_ID + APP_KEY + body)
    .digest('hex')
  const headers = { appKey: APP_KEY, requestId: REQUEST_ID, timestamp, signature }
  const judgement = checkRequest({ headers, body, address: '192.0.2.1' }, TENANT, NOW_MS)
  return judgement.ok ? 'ok' : judgement.code
}

test('the clock window is 300 s to either side, its edges included', () => {
  expect(CLOCK_WINDOW_MS).toBe(300_000)
  expect([-300_001, -300_000, 0, 300_000, 300_001].map(verdictAt)).toEqual(['101001', 'ok', 'ok', 'ok', '101001'])
})
