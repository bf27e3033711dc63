import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SAMPLE_FILE } from '@dealer-esim/console/catalogue/import-files.ts'
import { makeIccid } from '@dealer-esim/contract'
import { createTestDatabase, type TestDatabase } from '@dealer-esim/gateway/test/harness/databases/database.ts'
import { adminJson } from '@dealer-esim/gateway/test/harness/processes/admin-process.ts'
import { freePort } from '@dealer-esim/gateway/test/harness/processes/free-port.ts'
import {
  SHARED_MASTER_KEY,
  startGateway,
  stopGateways,
} from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { createAuthority } from '@dealer-esim/gateway/test/harness/servers/certificates.ts'
import { type Receiver, startReceiver } from '@dealer-esim/gateway/test/webhooks/receiver.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable, launchChromium } from './chromium.ts'
import {
  api,
  button,
  type ConsoleTestbed,
  copyable,
  enterPassword,
  field,
  heading,
  navigate,
  PASSWORD,
  signInAsOperator,
  startTestbed,
} from './console-testbed.ts'
import { loadingEnds, violationsIn } from './console-tour.ts'
import { codeOf } from './flows/access.ts'

const FIVE_MINUTES_MS = 300_000

/** A new operator gets from an empty database to a delivered order in the browser, and uses the tools around it. */
describe.skipIf(!isBrowserAvailable())('a guided start', () => {
  let database: TestDatabase
  let testbed: ConsoleTestbed
  let page: Page
  let receiver: Receiver
  let totpSecret = ''

  beforeAll(async () => {
    database = await createTestDatabase()
    receiver = await startReceiver()
    testbed = await startTestbed({ databaseUrl: database.url })
    page = await testbed.open()
  })
  afterAll(async () => {
    await testbed?.stop()
    await receiver?.close()
    await database?.drop()
  })

  const step = (name: string) => page.locator(`[data-setup=${name}]`)
  const done = (name: string) => step(name).and(page.locator('[data-done=true]')).waitFor({ state: 'attached' })
  const act = (name: string) => step(name).getByRole('button').or(step(name).getByRole('link')).click()
  const dialog = () => page.getByRole('dialog')
  const link = (name: string) => page.getByRole('link', { name, exact: true })

  /** Each code of the authenticator works only once. */
  async function reauthenticate(): Promise<void> {
    await enterPassword(dialog())
    const code = dialog().getByRole('textbox', { name: 'Code' })
    if ((await code.count()) > 0) await code.fill(codeOf(totpSecret, Date.now() + 30_000))
  }

  it('invites a first dealer and delivers a test order in a few clicks', async () => {
    await signInAsOperator(testbed, page)
    await done('supplier')
    await done('catalogue')
    await act('dealer')
    await dialog().getByRole('textbox', { name: 'Name' }).fill('First Dealer')
    await dialog().getByRole('textbox', { name: 'E-mail address' }).fill('first@dealer.test')
    await reauthenticate()
    await dialog().getByRole('button', { name: 'Invite' }).click()
    await copyable(page, 'Copy this invitation link').waitFor()
    await button(page, 'I have copied it').click()
    await done('dealer')
    await act('testOrder')
    await reauthenticate()
    await dialog().getByRole('button', { name: 'Place order' }).click()
    await page.waitForURL(/orders\/[0-9A-Z]{26}$/)
    await page.locator('[data-step="STATUS"]').getByText('Order delivered').waitFor()
    await link('Home').click()
    await done('testOrder')
  })

  it('completes the list with a brand, an endpoint, go-live checks and a second factor', async () => {
    await step('brand').getByRole('link', { name: 'Set brand' }).click()
    await page.locator('input[name=name]').fill('Harbour')
    await page.locator('input[name=supportEmail]').fill('care@harbour.test')
    await button(page, 'Save').click()
    await page.waitForFunction(() => document.title.endsWith('Harbour'))
    await page.goto(testbed.access.consoleUrl)
    await done('brand')
    await act('webhook')
    await field(page, 'Callback URL').fill(receiver.url)
    await button(page, 'Check and save').click()
    await page.getByText('Events are sent here.').waitFor()
    await dialog().getByRole('button', { name: 'Close' }).click()
    await done('webhook')
    await act('goLive')
    await dialog().getByRole('button', { name: 'Run checks' }).click()
    await dialog().locator('[data-finding=OK]').first().waitFor()
    await loadingEnds(page)
    expect(await dialog().locator('[data-finding=FAULT]').count()).toBe(0)
    await dialog().getByRole('button', { name: 'Close' }).last().click()
    await done('goLive')
    await act('secondFactor')
    await dialog().getByRole('button', { name: 'Set up' }).click()
    await reauthenticate()
    await dialog().last().getByRole('button', { name: 'Set up' }).click()
    totpSecret = (await dialog().locator('code').first().innerText()).trim()
    await dialog().getByRole('textbox', { name: 'Code' }).fill(codeOf(totpSecret))
    await button(page, 'Turn on').click()
    // Escape must not close the step, or the codes would be lost.
    await button(page, 'I have saved these codes').waitFor()
    await page.keyboard.press('Escape')
    await button(page, 'Close without copying').waitFor()
    await button(page, 'I have saved these codes').click()
    await page.getByRole('dialog', { name: 'Protect your account' }).getByRole('button', { name: 'Close' }).click()
    await heading(page, 'Home').waitFor()
    await step('secondFactor').waitFor({ state: 'detached' })
  })

  it('shows an event with its dealer, status, headers and coloured body, and finds it by transactionId', async () => {
    const { orders } = await api<{ orders: { transactionId: string; tenantId: string }[] }>(testbed, page, '/orders')
    const [{ transactionId = '', tenantId = '' } = {}] = orders
    const client = testbed.client(testbed.access)
    const packageInfoList = [{ packageCode: 'SANDBOX_OK', count: 1 }]
    const { orderNo } = await client.order({ transactionId: 'seen-by-the-receiver', packageInfoList })
    await expect.poll(() => receiver.events.length).toBeGreaterThanOrEqual(2)
    await link('Developers').click()
    const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr')
    await page.getByRole('searchbox', { name: 'Order number or transactionId' }).fill(transactionId)
    await expect.poll(() => rows.count()).toBe(2)
    await page.getByRole('searchbox', { name: 'Order number or transactionId' }).fill('seen-by-the-receiver')
    await rows.getByText(orderNo).first().waitFor()
    await page.locator('[data-status=PAID]').waitFor()
    await rows.filter({ hasText: 'Order paid' }).getByRole('link').click()
    await link('Demo dealer').waitFor()
    await page.getByText('Request headers').click()
    const headers = page.locator('pre').filter({ hasText: 'webhook-signature' })
    const sent = receiver.events.at(-1)!.headers
    await headers.getByText(sent['rt-accesscode'] as string).waitFor()
    expect(await headers.innerText()).not.toContain(sent['x-signature'])
    await page.locator('.code-name', { hasText: '"notifyId"' }).waitFor()
    await navigate(testbed, page, `/webhooks/endpoint?tenantId=${tenantId}`)
    await page.getByText(/% of \d+ attempts were acknowledged/).waitFor()
    await page.getByRole('figure', { name: 'Response time' }).waitFor()
  })

  it('says when a failed event will be sent again', async () => {
    receiver.script = 503
    const client = testbed.client(testbed.access)
    await client.order({ transactionId: 'waiting', packageInfoList: [{ packageCode: 'SANDBOX_OK', count: 1 }] })
    await navigate(testbed, page, '/webhooks?q=waiting')
    await page
      .getByText(/^Waiting, next attempt in \d+ \w+$/)
      .first()
      .waitFor()
    receiver.script = 200
  })

  it('shows the explorer’s answer next to the request, as well as program code and earlier requests', async () => {
    await page.setViewportSize({ width: 1280, height: 860 })
    await navigate(testbed, page, '/explorer')
    await page.getByText('Select the dealer whose credentials').first().waitFor()
    const { tenants } = await api<{ tenants: { tenantId: string }[] }>(testbed, page, '/tenants?q=Demo')
    await navigate(testbed, page, `/explorer?tenantId=${tenants[0]!.tenantId}`)
    await field(page, 'AppSecret').fill(testbed.access.appSecret)
    await button(page, 'Save').click()
    await page.getByRole('combobox', { name: 'Operation' }).selectOption('package/list')
    const docs = page.getByRole('link', { name: 'Docs: package/list' })
    expect((await page.request.get((await docs.getAttribute('href'))!)).status()).toBe(200)
    expect(await page.locator('main').innerText()).not.toContain('`')
    await button(page, 'Sign and send').click()
    const answer = page.locator('[data-answer="200"]')
    const isBeside = async () => {
      const [shown, body] = [await answer.boundingBox(), await field(page, 'Body').boundingBox()]
      return shown!.x > body!.x + body!.width && shown!.y < body!.y
    }
    await expect.poll(isBeside).toBe(true)
    await page.getByRole('combobox', { name: 'Language' }).selectOption('python')
    await page.getByText('hashlib').first().waitFor()
    await page.getByRole('combobox', { name: 'Operation' }).selectOption('health')
    await page.reload()
    await page.locator('[data-history]').getByRole('button', { name: 'package/list' }).click()
    await expect.poll(() => field(page, 'Body').inputValue()).toContain('pageSize')
    const stored = JSON.stringify(await page.evaluate('({ ...localStorage })'))
    expect(stored).toContain('package/list')
    expect(stored).not.toContain(testbed.access.appSecret)
  })

  it('shows an eSIM’s history, and can query its supplier', async () => {
    await link('eSIMs').click()
    await page.getByRole('table', { name: 'eSIMs' }).getByRole('link').first().click()
    await page.locator('[data-step=DELIVERED]').waitFor()
    await page.locator('[data-step=INSTALL_BEFORE]').waitFor()
    await loadingEnds(page)
    expect(await page.locator('dd').allInnerTexts()).not.toContain('–')
    await button(page, 'Ask supplier now').click()
    await page.getByText(/^The supplier (reported|did not report)/).waitFor()
  })

  it('adds trial data to the console with one click, and removes the data with one click', async () => {
    const orders = async () =>
      (await api<{ tenants: { clientName: string }[] }>(testbed, page, '/tenants')).tenants.map((row) => row.clientName)
    const before = await orders()
    await page.route('**/api/dashboard?*', async (route) => {
      const answer = (await (await route.fetch()).json()) as object
      await route.fulfill({ json: { ...answer, orders: [] } })
    })
    await link('Home').click()
    await button(page, 'Fill with trial data').click()
    // It places orders and waits until they are delivered.
    await page.locator('[data-trial=READY]').waitFor({ timeout: 90_000 })
    await page.unroute('**/api/dashboard?*')
    expect((await orders()).filter((name) => name.endsWith('(trial)'))).toHaveLength(4)
    await link('Orders').click()
    await page.getByText('Nordic Roaming (trial)').first().waitFor()
    await link('Home').click()
    await button(page, 'Remove trial data').click()
    await dialog().getByRole('button', { name: 'Remove trial data' }).click()
    await page.locator('[data-trial=READY]').waitFor({ state: 'detached', timeout: 90_000 })
    expect(await orders()).toEqual(before)
  })

  it('links every page in the navigation to its documentation', async () => {
    const items = page.getByRole('navigation', { name: 'Main navigation' }).getByRole('link')
    for (const item of await items.all()) {
      await item.click()
      await loadingEnds(page)
      const docs = page.getByRole('link', { name: /^Docs: / }).first()
      expect((await page.request.get((await docs.getAttribute('href'))!)).status()).toBe(200)
    }
    expect(testbed.browserErrors).toEqual([])
  })
})

/** A test deployment as an operator installs it, over TLS: no dealer, and the link to its first person. */
describe.skipIf(!isBrowserAvailable())('a new test deployment', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-first-start-'))
  let database: TestDatabase
  let browser: Browser
  let page: Page
  let invitation: string

  beforeAll(async () => {
    database = await createTestDatabase()
    const port = await freePort()
    const { cert, key } = createAuthority('Test authority').issue('localhost')
    const files = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') }
    writeFileSync(files.TLS_CERT_FILE, cert)
    writeFileSync(files.TLS_KEY_FILE, key)
    const env = { ...files, DEPLOYMENT: 'test', PORT: String(port), PUBLIC_URL: `https://localhost:${port}` }
    await startGateway({ databaseUrl: database.url, env })
    const first = ['people', 'create', '--email', 'ada@operator.test', '--name', 'Ada']
    const adminEnv = { ...env, DATABASE_URL: database.url, MASTER_KEY: SHARED_MASTER_KEY }
    invitation = (await adminJson<{ link: string }>(first, adminEnv)).link
    browser = await launchChromium()
    const context = await browser.newContext({ locale: 'en-US', ignoreHTTPSErrors: true })
    page = await context.newPage()
  }, FIVE_MINUTES_MS)
  afterAll(async () => {
    await browser?.close()
    await stopGateways()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  const step = (name: string) => page.locator(`[data-setup=${name}]`)
  const done = (name: string) => step(name).and(page.locator('[data-done=true]')).waitFor({ state: 'attached' })
  const act = (name: string) => step(name).getByRole('button').or(step(name).getByRole('link')).click()
  const dialog = () => page.getByRole('dialog')

  it(
    'goes from the first link to a delivered order in the browser',
    async () => {
      await page.goto(invitation)
      await field(page, 'New password').fill(PASSWORD)
      await button(page, 'Set password').click()
      for (const name of ['supplier', 'catalogue', 'dealer', 'testOrder', 'webhook'])
        await step(name).and(page.locator('[data-done=false]')).waitFor()

      await act('supplier')
      await dialog().getByRole('combobox', { name: 'Type' }).click()
      await page.getByRole('option', { name: 'Stock of codes' }).click()
      expect(await violationsIn(page)).toEqual([])
      await dialog().getByRole('textbox', { name: 'Name' }).fill('codes')
      await enterPassword(dialog())
      await dialog().getByRole('button', { name: 'Add supplier' }).click()
      await dialog().getByText('codes was added and tested').waitFor()
      // Its test has failed: it has no codes yet. The step is done once the supplier works.
      await dialog().locator('[data-state=failing]').waitFor()
      expect(await violationsIn(page)).toEqual([])
      await dialog().getByRole('button', { name: 'Close' }).last().click()
      await step('supplier').and(page.locator('[data-done=false]')).waitFor()
      await importCode(page)
      await page.getByRole('link', { name: 'Suppliers', exact: true }).click()
      await page.locator('[data-row=codes]').getByRole('button', { name: 'Test' }).click()
      await page.locator('[data-row=codes]').locator('[data-state=working]').waitFor()
      await page.getByRole('link', { name: 'Home', exact: true }).click()
      await done('supplier')

      await act('catalogue')
      await page.locator('input[type=file]').waitFor({ state: 'attached' })
      expect(await violationsIn(page)).toEqual([])
      const file = { name: 'packages.csv', mimeType: 'text/csv', buffer: Buffer.from(SAMPLE_FILE) }
      await page.locator('input[type=file]').setInputFiles(file)
      await button(page, 'Preview changes').click()
      await page.locator('[data-sum=New]').getByText('2').waitFor()
      await dialog().getByRole('button', { name: 'Import', exact: true }).click()
      await page.getByText('Imported: 2 new, 0 changed.').waitFor()
      await dialog().waitFor({ state: 'detached' })
      await done('catalogue')

      await act('dealer')
      await dialog().getByLabel('Name').fill('First Travel')
      await button(page, 'Create dealer').click()
      await dialog().getByText('Copy the AppSecret now').waitFor()
      await button(page, 'I have copied it').click()
      await dialog().getByRole('textbox', { name: 'Name' }).fill('Grace')
      await dialog().getByRole('textbox', { name: 'E-mail address' }).fill('grace@dealer.test')
      await enterPassword(dialog())
      await dialog().getByRole('button', { name: 'Invite' }).click()
      await copyable(page, 'Copy this invitation link').waitFor()
      await button(page, 'I have copied it').click()
      await dialog()
        .getByRole('textbox', { name: /Amount/ })
        .fill('500')
      await dialog().getByRole('textbox', { name: 'Payment reference' }).fill('first payment')
      await dialog().getByRole('button', { name: 'Top up' }).click()
      await done('dealer')

      await act('testOrder')
      await enterPassword(dialog())
      await dialog().getByRole('button', { name: 'Place order' }).click()
      await page.waitForURL(/orders\/[0-9A-Z]{26}$/)
      await page.locator('[data-step="STATUS"]').getByText('Order delivered').waitFor()
      expect(new URL(page.url()).pathname).toContain('/orders/')
    },
    FIVE_MINUTES_MS,
  )
})

/** Imports one activation code for the supplier `codes`. */
async function importCode(page: Page): Promise<void> {
  const address = new URL(
    'api/stock/import?supplier=codes&productCode=P',
    await page.evaluate<string>('document.baseURI'),
  )
  const data = `iccid,ac\n${makeIccid('89001234', 1n)},LPA:1$smdp.example.com$A\n`
  const headers = { origin: address.origin, 'content-type': 'text/csv' }
  const answer = await page.request.post(address.href, { headers, data })
  if (!answer.ok()) throw new Error(await answer.text())
}
