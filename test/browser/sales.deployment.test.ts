import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import { waitForSales } from './console-demo.ts'
import {
  api,
  type ConsoleTestbed,
  heading,
  inviteAndSignIn,
  loadPage,
  navigate,
  signInAsOperator,
  startTestbed,
} from './console-testbed.ts'
import { loadingEnds } from './console-tour.ts'

/** How an operator sees sales and earnings. */
describe.skipIf(!isBrowserAvailable())('sales in the console', () => {
  let testbed: ConsoleTestbed
  let page: Page
  let tenantId: string
  const today = new Date().toISOString().slice(0, 10)

  beforeAll(async () => {
    testbed = await startTestbed()
    page = await testbed.open()
    await signInAsOperator(testbed, page)
    const { tenants } = await api<{ tenants: { tenantId: string }[] }>(testbed, page, '/tenants')
    tenantId = tenants[0]!.tenantId
    const client = testbed.client(testbed.access)
    for (const [packageCode, count] of [
      ['JP_1_7', 3],
      ['DE_1_7', 1],
      ['SANDBOX_REFUSED', 1],
    ] as const) {
      await client.order({ transactionId: `sold-${packageCode}`, packageInfoList: [{ packageCode, count }] })
    }
    await waitForSales(testbed, page, 4)
  }, 480_000)
  afterAll(() => testbed?.stop())

  it('the dashboard shows revenue and margin for today, yesterday and the period', async () => {
    // The page was shown before the orders were placed.
    await loadPage(testbed, page, '/')
    const card = page.locator('[data-sales]').first()
    await card.waitFor()
    const { totals } = await api<{ totals: { revenue: number }[] }>(
      testbed,
      page,
      `/sales?by=day&from=${today}&to=${today}`,
    )
    const revenue = (totals[0]!.revenue / 10_000).toFixed(2)
    // Today and the period have the same revenue.
    await expect.poll(async () => (await card.innerText()).split(revenue).length - 1).toBe(2)
    await expect.poll(() => card.innerText()).toMatch(/Today[\s\S]*Margin[\s\S]*Yesterday[\s\S]*Period/)
    await page.getByRole('combobox', { name: 'Period' }).selectOption('yesterday')
    // A day without sales keeps its cards, and its plots keep their height.
    await page.getByText('No data for this period.').first().waitFor()
    await card.waitFor()
    const heights = () =>
      page.locator('figure.bars').evaluateAll((plots) => new Set(plots.slice(1).map((plot) => plot.clientHeight)).size)
    await expect.poll(heights).toBe(1)
  })

  const shownOrders = () =>
    page.locator('.list [data-row]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-row')))
  const ordersOf = async (transactionId: string) => {
    const { orders } = await api<{ orders: { orderNo: string }[] }>(testbed, page, `/orders?q=${transactionId}`)
    return orders.map(({ orderNo }) => orderNo)
  }

  it('a number in the breakdown by package links to the underlying orders', async () => {
    await navigate(testbed, page, '/sales')
    await page.getByText('Package', { exact: true }).click()
    const row = page.getByRole('row').filter({ hasText: 'Japan' })
    await row.locator('td[data-label=Sold]').getByRole('link', { name: '3' }).click()
    await heading(page, 'Orders').waitFor()
    await expect.poll(shownOrders).toEqual(await ordersOf('sold-JP_1_7'))
  })

  it('the map contains a link for each country with sales, and a supplier’s orders can be listed', async () => {
    await navigate(testbed, page, '/sales?by=country')
    const japan = page.locator('[data-country=JP]')
    await japan.waitFor()
    await expect.poll(() => page.locator('[data-country]').count()).toBeGreaterThanOrEqual(2)
    await expect.poll(() => japan.getAttribute('aria-label')).toMatch(/^Japan: 3 sold, revenue USD/)
    await japan.focus()
    await page.keyboard.press('Enter')
    await heading(page, 'Orders').waitFor()
    await expect.poll(shownOrders).toEqual(await ordersOf('sold-JP_1_7'))
    await expect.poll(() => new URL(page.url()).searchParams.get('country')).toBe('JP')
  })

  it('the figures follow changes to the period, and an empty period is shown as empty', async () => {
    await navigate(testbed, page, '/sales')
    const period = page.getByRole('combobox', { name: 'Period' })
    await period.selectOption('yesterday')
    await page.getByText('No sales in this period').waitFor()
    await period.selectOption('custom')
    await page.getByLabel('To', { exact: true }).fill(today)
    await page.locator('[data-totals=USD]').waitFor()
    await period.selectOption('today')
    await expect.poll(() => new URL(page.url()).search).toBe('?period=today')
    await page.locator('[data-totals=USD]').waitFor()
  })

  it('the page’s CSV file contains the same figures', async () => {
    const link = page.getByRole('link', { name: 'Export CSV' })
    const csv = await (await page.request.get((await link.getAttribute('href'))!)).text()
    expect(csv.split('\n')[1]).toMatch(new RegExp(`^${today},USD,5,`))
  })

  it('the dashboard’s notes on balances and suppliers link to the dealers and the supplier', async () => {
    await navigate(testbed, page, '/')
    await page.locator('main a[href*="by=balances"]').click()
    await page.getByRole('table', { name: 'Balances' }).waitFor()
    await navigate(testbed, page, '/')
    await page.locator('main').getByRole('link', { name: 'sandbox', exact: true }).last().click()
    await heading(page, 'sandbox').waitFor()
  })

  it('balances are listed with the number of days that they will last, and link to the dealer', async () => {
    await navigate(testbed, page, '/sales?by=balances')
    await page.locator('td[data-label=Lasts]').first().waitFor()
    await expect.poll(() => page.locator('td[data-label=Lasts]').first().innerText()).toMatch(/\d+ days/)
    await page.locator('tbody tr').first().getByRole('link').first().click()
    await page.locator('[data-totals=USD]').waitFor()
    await page.locator('[data-days-left]').waitFor()
    await page.locator('[data-latest-order]').first().waitFor()
    const activity = page.getByRole('heading', { name: 'Activity' }).locator('xpath=ancestor::section')
    await expect.poll(() => activity.innerText()).toMatch(/33.3% of 3 in 30 days/)
    // Settings that have no value are not listed.
    await loadingEnds(page)
    expect(await page.getByText('Tax ID').count()).toBe(0)
  })

  it('an order shows its cost and margin to an operator, but not to the dealer', async () => {
    const { orders } = await api<{ orders: { orderNo: string; entryNo: number }[] }>(
      testbed,
      page,
      '/orders?q=sold-JP_1_7',
    )
    const path = `/tenants/${tenantId}/orders/${orders[0]!.orderNo}`
    await navigate(testbed, page, path)
    await page.locator('[data-margin]').waitFor()
    await expect.poll(() => page.getByText('Cost in the catalogue').count()).toBe(3) // the sandbox states no charge
    const dealer = await inviteAndSignIn({ testbed, page }, { email: 'm@dealer.test', role: 'DEALER_ADMIN', tenantId })
    await navigate(testbed, dealer, path)
    await dealer.locator('[data-number]', { hasText: `#${orders[0]!.entryNo}` }).waitFor()
    await loadingEnds(dealer)
    expect(await dealer.locator('[data-margin]').count()).toBe(0)
    expect(await dealer.getByText('Cost in the catalogue').count()).toBe(0)
    expect(await dealer.getByRole('link', { name: 'Sales' }).count()).toBe(0)
    expect(testbed.browserErrors).toEqual([])
  })
})
