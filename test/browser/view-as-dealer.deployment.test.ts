import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import {
  api,
  button,
  type ConsoleTestbed,
  heading,
  navigate,
  signInAsOperator,
  startTestbed,
} from './console-testbed.ts'

/** An operator looks at the console as a dealer sees it. */
describe.skipIf(!isBrowserAvailable())('an operator who views the console as a dealer', () => {
  let testbed: ConsoleTestbed
  let page: Page
  let tenant: { tenantId: string; clientName: string }

  beforeAll(async () => {
    testbed = await startTestbed()
    page = await testbed.open()
    page.setDefaultTimeout(15_000)
    await signInAsOperator(testbed, page)
    tenant = (await api<{ tenants: (typeof tenant)[] }>(testbed, page, '/tenants')).tenants[0]!
  })
  afterAll(() => testbed?.stop())

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
