import { createTestDatabase, type TestDatabase } from '@dealer-esim/gateway/test/harness/databases/database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import { type SharedState, startTestbed } from './console-testbed.ts'
import { accessFlows, firstSignIn } from './flows/access.ts'
import { catalogueFlows } from './flows/catalogue.ts'
import { contextFlows } from './flows/context.ts'
import { credentialFlows } from './flows/credentials.ts'
import { dealerFlows } from './flows/dealer.ts'
import { esimFlows } from './flows/esims.ts'
import { keyboardFlows } from './flows/keyboard.ts'
import { moneyFlows } from './flows/money.ts'
import { orderFlows, reviewFlows } from './flows/orders.ts'
import { priceFlows } from './flows/prices.ts'
import { sessionFlows } from './flows/sessions.ts'
import { setupFlows } from './flows/setup.ts'
import { supplierFlows } from './flows/suppliers.ts'
import { toolFlows } from './flows/tools.ts'
import { webhookFlows } from './flows/webhooks.ts'

/*
 * People use the console in a real browser. All flows run on one gateway, one after another, because starting a
 * gateway and a browser takes longer than most flows.
 */
describe.skipIf(!isBrowserAvailable())('the console in a browser', () => {
  const shared = {
    dealer: { tenantId: '', appKey: '', appSecret: '' },
    secrets: [] as string[],
  } as unknown as SharedState
  let database: TestDatabase

  beforeAll(async () => {
    database = await createTestDatabase()
    shared.testbed = await startTestbed({ databaseUrl: database.url })
    shared.page = await shared.testbed.open()
  })
  afterAll(async () => {
    await shared.testbed?.stop()
    await database?.drop()
  })

  firstSignIn(shared)
  credentialFlows(shared)
  setupFlows(shared)
  moneyFlows(shared)
  orderFlows(shared)
  dealerFlows(shared)
  esimFlows(shared)
  contextFlows(shared)
  keyboardFlows(shared)
  supplierFlows(shared)
  catalogueFlows(shared)
  priceFlows(shared)
  webhookFlows(shared)
  toolFlows(shared)
  accessFlows(shared)
  sessionFlows(shared)
  reviewFlows(shared)

  it('does not violate the content security policy in any flow', async () => {
    const { testbed, page } = shared
    const answer = await page.request.get(`${testbed.access.consoleUrl}/orders`)
    const policy = answer.headers()['content-security-policy'] ?? ''
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(testbed.browserErrors).toEqual([])
  })

  it('logs no secret, code, password or link', () => {
    const log = shared.testbed.logText()
    expect(log).toContain('"msg":"ready"')
    expect(shared.secrets.filter((secret) => secret === '' || log.includes(secret))).toEqual([])
  })
})
