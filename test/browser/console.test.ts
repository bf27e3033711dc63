import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../packages/gateway/test/harness/database.ts'
import { browserIsThere } from './chromium.ts'
import { openWorld, type Stage } from './console-world.ts'
import { accessFlows, firstSignIn } from './flows/access.ts'
import { catalogueFlows } from './flows/catalogue.ts'
import { contextFlows } from './flows/context.ts'
import { credentialFlows } from './flows/credentials.ts'
import { keyboardFlows } from './flows/keyboard.ts'
import { moneyFlows } from './flows/money.ts'
import { orderFlows, settlingFlow } from './flows/orders.ts'
import { priceFlows } from './flows/prices.ts'
import { sessionFlows } from './flows/sessions.ts'
import { toolFlows } from './flows/tools.ts'
import { webhookFlows } from './flows/webhooks.ts'

/*
 * What people do on the console, in a real browser, one flow after the other on one gateway: starting either costs more
 * than most of the flows.
 */
describe.skipIf(!browserIsThere())('the console in a browser', () => {
  const stage = { dealer: { tenantId: '', appKey: '', appSecret: '' }, secrets: [] as string[] } as unknown as Stage
  let database: TestDatabase

  beforeAll(async () => {
    database = await createTestDatabase()
    stage.world = await openWorld({ databaseUrl: database.url })
    stage.page = await stage.world.open()
  })
  afterAll(async () => {
    await stage.world?.stop()
    await database?.drop()
  })

  firstSignIn(stage)
  credentialFlows(stage)
  moneyFlows(stage)
  orderFlows(stage)
  contextFlows(stage)
  keyboardFlows(stage)
  catalogueFlows(stage)
  priceFlows(stage)
  webhookFlows(stage)
  toolFlows(stage)
  accessFlows(stage)
  sessionFlows(stage)
  settlingFlow(stage)

  it('has done nothing on the way that its policy forbids', async () => {
    const { world, page } = stage
    const answer = await page.request.get(`${world.access.consoleUrl}/orders`)
    const policy = answer.headers()['content-security-policy'] ?? ''
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(world.complaints).toEqual([])
  })

  it('has logged no secret, code, password or link', () => {
    const log = stage.world.logText()
    expect(log).toContain('"msg":"ready"')
    expect(stage.secrets.filter((secret) => secret === '' || log.includes(secret))).toEqual([])
  })
})
