import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import {
  api,
  button,
  type ConsoleTestbed,
  copyable,
  enterPassword,
  field,
  heading,
  inviteAndSignIn,
  navigate,
  signInAsOperator,
  startTestbed,
} from './console-testbed.ts'

let testbed: ConsoleTestbed
/** Signed in as the operator. */
let page: Page
let tenant: { tenantId: string; clientName: string }

beforeAll(async () => {
  if (!isBrowserAvailable()) return
  testbed = await startTestbed()
  page = await testbed.open()
  await signInAsOperator(testbed, page)
  tenant = (await api<{ tenants: (typeof tenant)[] }>(testbed, page, '/tenants')).tenants[0]!
}, 240_000)
afterAll(() => testbed?.stop())

/** An operator looks at the console as a dealer sees it. */
describe.skipIf(!isBrowserAvailable())('an operator who views the console as a dealer', () => {
  const bar = () => page.getByRole('status').filter({ hasText: 'Nothing can be changed' })

  it('sees the dealer’s pages under a bar that stays on every page and in other tabs', async () => {
    const other = await page.context().newPage()
    await other.goto(page.url())
    await heading(other, 'Home').waitFor()
    await navigate(testbed, page, `/tenants/${tenant.tenantId}`)
    await button(page, 'View as dealer').click()
    await bar().getByText(tenant.clientName).waitFor()
    for (const way of [['Buy eSIMs'], ['Wallet'], ['Developers', 'API credentials'], ['Settings', 'Audit log']]) {
      for (const name of way) await page.getByRole('link', { name, exact: true }).first().click()
      await heading(page, way.at(-1)!).waitFor()
      await bar().waitFor()
    }
    expect(await page.getByRole('link', { name: 'Suppliers', exact: true }).count()).toBe(0)
    await page.locator('[data-row]').getByText('Console viewed as dealer').first().waitFor()
    await other.reload()
    await other.getByText('Nothing can be changed').waitFor()
    await other.close()
  })

  it('is refused purchases and the AppSecret, with a message that says how to continue', async () => {
    await page.getByRole('link', { name: 'Buy eSIMs', exact: true }).first().click()
    await page.locator('[data-place]').first().click()
    await page.locator('[data-offer]').first().click()
    await button(page, /^Buy 1 eSIM for /).click()
    await page.getByText('You are viewing the console as this dealer and cannot change anything').first().waitFor()
    expect((await api<{ orders: object[] }>(testbed, page, '/orders')).orders).toEqual([])
  })

  it('ends the view with one click and returns to the dealer’s page', async () => {
    await navigate(testbed, page, '/')
    await button(page, 'End view').click()
    await heading(page, tenant.clientName).waitFor()
    await page.getByRole('link', { name: 'Suppliers', exact: true }).waitFor()
    await bar().waitFor({ state: 'detached' })
  })
})

/** A dealer's administrator tries everything with the test twin. */
describe.skipIf(!isBrowserAvailable())('a dealer in test mode', () => {
  let dealer: Page

  beforeAll(async () => {
    const person = { email: 'owner@dealer.test', role: 'DEALER_ADMIN', tenantId: tenant.tenantId }
    dealer = await inviteAndSignIn({ testbed, page }, person)
    dealer.setDefaultTimeout(60_000)
  }, 240_000)

  const toggle = () => dealer.getByRole('switch', { name: 'Test mode' })
  const bar = () => dealer.getByRole('status').filter({ hasText: 'nothing here is real' })
  const link = (name: string) => dealer.getByRole('link', { name, exact: true }).first()
  const wallet = async (mode = '') =>
    (await api<{ balance: number }>(testbed, dealer, `${mode}/tenants/${tenant.tenantId}/wallet`)).balance

  it('creates the twin from the switch, and sees its AppKey once', async () => {
    await toggle().click({ force: true })
    await dealer.getByText('Your account has no test twin yet').waitFor()
    await button(dealer, 'Create test twin').click()
    const form = dealer.getByRole('dialog')
    await enterPassword(form)
    await form.getByRole('button', { name: 'Create test twin' }).click()
    await copyable(dealer, 'AppKey').filter({ hasText: '_test_' }).waitFor()
    await button(dealer, 'Download .txt').click()
    await dealer.getByRole('dialog').getByRole('button', { name: 'I have copied it' }).click()
    await heading(dealer, 'Test mode').waitFor()
  })

  it('buys in test mode with a traveller, and sees order, eSIM and e-mail there', async () => {
    const before = await wallet()
    await link('Buy eSIMs').click()
    await bar().waitFor()
    await dealer.getByRole('searchbox').fill('jap 1 gb')
    await dealer.keyboard.press('Enter')
    await dealer.locator('[data-offer=JP_1_7][data-named]').click()
    await field(dealer, 'E-mail address of the traveller').fill('mei@traveller.test')
    await button(dealer, /^Buy 1 eSIM for /).click()
    await dealer
      .getByText(/is ready$/)
      .first()
      .waitFor()
    await link('Orders').click()
    await expect.poll(() => dealer.locator('[data-row]').count()).toBe(1)
    await link('eSIMs').click()
    await dealer
      .getByText(/^89999/)
      .first()
      .waitFor()
    await link('Test e-mails').click()
    await dealer.getByRole('link', { name: /Japan/ }).click()
    const mail = dealer.frameLocator('iframe.mail-page')
    await mail.getByRole('link', { name: 'Install my eSIM' }).waitFor()
    await mail.getByRole('img').first().waitFor()
    expect(await wallet()).toBe(before)
    expect(await wallet('/test')).toBe(10_000_000 - 45_000)
    expect(testbed.browserErrors).toEqual([])
  })

  it('stays in test mode after a reload and in a copied link, and finds nothing of it after the switch', async () => {
    const copied = dealer.url()
    expect(copied).toMatch(/\/console\/test\/test-mails\?mail=/)
    await dealer.reload()
    await bar().waitFor()
    const other = await dealer.context().newPage()
    await other.goto(copied)
    await other.locator('iframe.mail-page').waitFor()
    await other.close()
    await link('Orders').click()
    await dealer.locator('[data-row]').first().getByRole('link').first().click()
    await heading(dealer, /./).waitFor()
    await toggle().click({ force: true })
    await heading(dealer, 'Orders').waitFor()
    await bar().waitFor({ state: 'detached' })
    expect(new URL(dealer.url()).pathname).toBe('/console/orders')
    await dealer.locator('#main[aria-busy=false]').waitFor()
    expect(await dealer.locator('[data-row]').count()).toBe(0)
    expect((await api<{ orders: object[] }>(testbed, dealer, '/orders')).orders).toEqual([])
  })

  it('shows the brands of the live account, which are changed outside of test mode', async () => {
    const brands = `/tenants/${tenant.tenantId}/brands`
    const { consoleUrl } = testbed.access
    const headers = { origin: new URL(consoleUrl).origin }
    await page.request.put(`${consoleUrl}/api${brands}/lotus`, { headers, data: { name: 'Lotus Travel' } })
    await dealer.goto(`${consoleUrl}/test${brands}`)
    await dealer.getByText('Brands are shared with live mode').waitFor()
    await button(dealer, /^Lotus Travel/).waitFor()
    for (const name of ['Add brand', 'Save', 'Delete brand'])
      expect(await dealer.getByRole('button', { name }).count()).toBe(0)
  })

  it('shows a page that is not part of test mode with a message, and no live data', async () => {
    await dealer.goto(`${testbed.access.consoleUrl}/test/top-up-requests`)
    await dealer.getByText('This is not part of test mode').first().waitFor()
  })
})
