import type { Dashboard } from '@dealer-esim/gateway/http/console/home/dashboard.ts'
import { expect, it } from 'vitest'
import { api, heading, inviteAndSignIn, navigate, type SharedState } from '../console-testbed.ts'
import { loadingEnds } from '../console-tour.ts'

/** The console as a dealer's own people see it. */
export function dealerFlows(shared: SharedState): void {
  it('a dealer’s dashboard begins with the balance, and does not show operator-only actions', async () => {
    const { testbed, page: operator, dealer } = shared
    // Sales are summed every few seconds.
    const spent = async () => (await api<Dashboard>(testbed, operator, `/dashboard?tenantId=${dealer.tenantId}`)).sales
    await expect.poll(async () => (await spent()).length, { timeout: 60_000 }).toBeGreaterThan(0)
    const person = { email: 'portal@dealer.test', role: 'DEALER_STAFF', tenantId: dealer.tenantId }
    const page = await inviteAndSignIn(shared, person)
    const { balance } = await testbed.client(dealer).balance()
    await page.locator(`[data-balance="${balance}"]`).waitFor()
    await expect.poll(() => page.locator('main h2').first().innerText()).toBe('Balance')
    await loadingEnds(page)
    expect(await page.getByText('Action needed').count()).toBe(0)
    // Orders were paid today, so there is spend on which to base a forecast.
    const days = Number(await page.locator('[data-days-left]').getAttribute('data-days-left'))
    expect(days).toBeGreaterThan(0)
    await page.getByText('No URL is set.').waitFor()
    const { orders } = await api<{ orders: { orderNo: string; entryNo: number }[] }>(
      testbed,
      operator,
      `/orders?tenantId=${dealer.tenantId}`,
    )
    const shown = () =>
      page.locator('[data-latest-order]').evaluateAll((nodes) => nodes.map((node) => node.dataset.latestOrder))
    await expect.poll(shown).toEqual(orders.slice(0, 3).map((order) => order.orderNo))
    await page.locator('[data-latest-order]').getByRole('link').first().click()
    await page.locator('[data-number]', { hasText: `#${orders[0]!.entryNo}` }).waitFor()
    await navigate(testbed, page, '/')
    await heading(page, 'Home').waitFor()
    await page.locator(`[data-balance="${balance}"]`).waitFor()
    await loadingEnds(page)
    expect(await page.locator('[data-setup]').count()).toBe(0)
    await page.context().close()
  })

  it('a new dealer’s empty lists show its people what they can do', async () => {
    const { testbed, page: operator } = shared
    const created = { clientName: 'Nothing yet', currencyCode: 'USD' }
    const { tenantId } = await api<{ tenantId: string }>(testbed, operator, '/tenants', created)
    const page = await inviteAndSignIn(shared, { email: 'new@dealer.test', role: 'DEALER_STAFF', tenantId })
    await navigate(testbed, page, '/orders')
    await heading(page, 'Orders').waitFor()
    await page.getByRole('main').getByText('Buy your first eSIMs here').waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Buy eSIMs' }).waitFor()
    await navigate(testbed, page, `/tenants/${tenantId}/wallet`)
    await page.getByText('Your payments, orders and refunds appear here.').waitFor()
    await page.context().close()
  })

  it('the dealer’s page offers operators no purchase, because they cannot buy for a dealer', async () => {
    const { testbed, page, dealer } = shared
    await navigate(testbed, page, `/tenants/${dealer.tenantId}`)
    await page.locator('[data-balance]').waitFor()
    await loadingEnds(page)
    expect(await page.getByRole('link', { name: 'Buy eSIMs' }).count()).toBe(0)
  })

  it('repeated polls of an order under review share one timeline line, and an attempt names its event', async () => {
    const { testbed, page, dealer } = shared
    const path = `/orders?tenantId=${dealer.tenantId}&q=unanswered`
    const { orders } = await api<{ orders: { orderNo: string }[] }>(testbed, page, path)
    await navigate(testbed, page, `/tenants/${dealer.tenantId}/orders/${orders[0]!.orderNo}`)
    const polls = page.locator('[data-step=ATTEMPT]').filter({ hasText: /about eSIM/ })
    await expect.poll(() => polls.locator('[data-repeats]').count(), { timeout: 60_000 }).toBeGreaterThan(0)
    await polls.filter({ hasText: 'eSIMs 1–2' }).first().waitFor()
    // Milliseconds are shown on hover.
    const time = polls.first().locator('time').first()
    expect(await time.innerText()).toMatch(/\d:\d\d:\d\d/)
    await time.hover()
    await page
      .getByRole('tooltip')
      .filter({ hasText: /:\d\d\.\d{3}/ })
      .waitFor()
  })
}
