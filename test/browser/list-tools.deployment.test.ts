import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import { createDemo, type Demo } from './console-demo.ts'
import { api, button, type ConsoleTestbed, chooseFilter, navigate, startTestbed } from './console-testbed.ts'
import { DESKTOP, PHONE, violationsIn, visit } from './console-tour.ts'

/** Files of every list, filters by choice, changes of many orders, menus, and sorting on a phone. */
describe.skipIf(!isBrowserAvailable())('list files, filters and menus in a browser', () => {
  let testbed: ConsoleTestbed
  let demo: Demo
  let page: Page

  beforeAll(async () => {
    testbed = await startTestbed()
    demo = await createDemo(testbed)
    page = demo.operator
  }, 480_000)
  afterAll(() => testbed?.stop())

  const go = (path: string, on = page) => navigate(testbed, on, path)

  /** @param file a part of its address, where a page has several */
  async function download(path: string, file = '.csv', on = page): Promise<string[]> {
    await visit(testbed, { name: path, path, page: on })
    const link = on.getByRole('menu').locator(`a[download][href*="${file}"]`)
    const options = button(on, 'List options')
    await options.first().waitFor()
    for (const one of await options.all()) {
      await one.click()
      await on.getByRole('menu').waitFor()
      if ((await link.count()) > 0) break
      await on.keyboard.press('Escape')
      await on.getByRole('menu').waitFor({ state: 'detached' })
    }
    const waiting = on.waitForEvent('download')
    await link.click()
    // Otherwise the next call finds the menu that is closing.
    await on.getByRole('menu').waitFor({ state: 'detached' })
    return readFileSync((await (await waiting).path())!, 'utf8')
      .replace(/^\uFEFF/, '')
      .trimEnd()
      .split('\n')
  }

  it.each([
    ['/people', 'name,email,role'],
    ['/suppliers', 'supplier,type,paused'],
    ['/stock', 'product,supplier,available'],
    ['/stock/batches', 'batch,product,supplier'],
    ['/adjustments', 'time,dealer,amount'],
    ['/top-up-requests', 'time,dealer,amount'],
    ['/sale-rules', 'name,position,suppliers'],
    ['/catalogue/prices', 'name,displayName,rules'],
    ['/catalogue/prices/groups', 'name,plan,dealers'],
    ['/packages/JP_1_7/prices', 'dealer,price,currency'],
    ['/notices', 'time,kind,message'],
  ])('the list at %s is downloaded as a file', async (path, head) => {
    // An alert is raised some time after the event that it reports.
    await vi.waitFor(
      async () => {
        const [header = '', ...lines] = await download(path)
        expect([path, header.startsWith(head)]).toEqual([path, true])
        expect([path, lines.length > 0]).toEqual([path, true])
      },
      { timeout: 90_000, interval: 1_000 },
    )
  })

  it('a file is filtered like the page', async () => {
    const all = await download(`/tenants/${demo.tenantId}/wallet`, 'entries.csv')
    const orders = await download(`/tenants/${demo.tenantId}/wallet?kind=ORDER`, 'entries.csv?kind=ORDER')
    expect(orders.length).toBeLessThan(all.length)
    expect(new Set(orders.slice(1).map((line) => line.split(',')[2]))).toEqual(new Set(['ORDER']))
    const own = await download(`/tenants/${demo.tenantId}/prices?source=OWN`, 'source=OWN')
    expect(own).toHaveLength(2)
    const theirs = await download('/top-up-requests?status=REQUESTED', 'status=REQUESTED', demo.dealer)
    expect(theirs).toHaveLength(2)
  })

  it('orders can be filtered by the countries, suppliers and types in use, and dealers by tag', async () => {
    await go('/orders')
    await chooseFilter(page, 'Country', { label: 'Japan' })
    await page.waitForURL(/country=JP/)
    const { orders } = await api<{ orders: { orderNo: string }[] }>(testbed, page, '/orders?country=JP')
    await expect.poll(() => page.locator('.list [data-row]').count()).toBe(orders.length)
    await button(page, 'Remove filter: Country').click()
    await chooseFilter(page, 'Supplier', 'sandbox')
    await page.waitForURL(/supplier=sandbox/)
    await chooseFilter(page, 'Type', 'TOPUP')
    await page.getByText('No matching orders').waitFor()
    const url = `${testbed.access.consoleUrl}/api/tenants/${demo.tenantId}/tags`
    const headers = { origin: new URL(url).origin }
    await page.request.put(url, { headers, data: { tags: ['cruises'] } })
    await go('/tenants?status=ACTIVE')
    await chooseFilter(page, 'Tag', { label: 'cruises (1)' })
    await expect.poll(() => page.locator('.list [data-row]').count()).toBe(1)
  })

  it('selected orders get a note or an answer, and are not cancelled once a supplier has them', async () => {
    const { orders } = await api<{ orders: { orderNo: string; transactionId: string }[] }>(testbed, page, '/orders')
    const numberOf = (id: string) => orders.find((order) => order.transactionId === id)!.orderNo
    const [unknown, refused] = [numberOf('sandbox_unknown'), numberOf('sandbox_refused')]
    await go('/orders')
    for (const orderNo of [unknown, refused]) await page.getByRole('checkbox', { name: `Select: ${orderNo}` }).check()
    const dialog = page.getByRole('dialog')
    const close = () => dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.locator('[data-bulk]').getByRole('button', { name: 'Add note' }).click()
    await dialog.getByText('2 rows will be changed.').waitFor()
    await dialog.getByRole('textbox', { name: 'New note' }).fill('The supplier had an outage.')
    await dialog.getByRole('button', { name: 'Start' }).click()
    await dialog.locator('[data-bulk-progress]').getByText('2 of 2').waitFor()
    await close()
    for (const orderNo of [unknown, refused]) {
      const path = `/tenants/${demo.tenantId}/orders/${orderNo}/notes`
      const { notes } = await api<{ notes: { text: string }[] }>(testbed, page, path)
      expect(notes.map((note) => note.text)).toEqual(['The supplier had an outage.'])
    }
    await page.locator('[data-bulk]').getByRole('button', { name: 'Cancel and refund' }).click()
    await dialog.getByText('2 rows are skipped: can no longer be cancelled').waitFor()
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.locator('[data-bulk]').getByRole('button', { name: 'Resolve' }).click()
    await dialog.getByText('1 row is skipped: not under review').waitFor()
    await dialog.getByRole('textbox', { name: 'Evidence' }).fill('Ticket 4711: nothing was bought')
    const sent: string[] = []
    page.on('request', (request) => request.url().endsWith('/settle') && sent.push(request.postData() ?? ''))
    // Without an answer nothing is sent.
    await dialog.getByRole('button', { name: 'Start' }).click()
    await dialog.getByRole('combobox', { name: 'Supplier’s answer' }).selectOption('refused')
    await dialog.getByRole('button', { name: 'Start' }).click()
    await dialog.locator('[data-bulk-progress]').getByText('1 of 1').waitFor()
    expect(sent).toEqual([expect.stringContaining('"refused"')])
    await close()
    await page.locator(`[data-row="${unknown}"] [data-status=FAILED]`).waitFor()
  })

  it('selected dealers are suspended with a reason', async () => {
    const { tenants } = await api<{ tenants: { tenantId: string; clientName: string }[] }>(testbed, page, '/tenants')
    const { tenantId = '' } = tenants.find((one) => one.clientName === 'Northern Lights Travel') ?? {}
    await go('/tenants')
    await page.getByRole('checkbox', { name: `Select: ${tenantId}` }).check()
    await page.locator('[data-bulk]').getByRole('button', { name: 'Suspend' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('as agreed')
    await dialog.getByRole('button', { name: 'Start' }).click()
    await dialog.locator(`[data-bulk-row="${tenantId}"]`).getByText('Done').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.locator(`[data-row="${tenantId}"] [data-status=SUSPENDED]`).waitFor()
  })

  it('a list’s menus and pages have no serious accessibility violation, in light and dark, wide and narrow', async () => {
    const faults: string[] = []
    for (const [path, menu] of [
      ['/orders', 'List options'],
      ['/orders', 'Add filter'],
      ['/tenants', 'List options'],
      ['/people', 'Actions: Grace'],
      ['/adjustments', undefined],
    ] as const) {
      const found = await violationsIn(page, async () => {
        await page.keyboard.press('Escape')
        await page.getByRole('menu').waitFor({ state: 'detached' })
        await go(path)
        await page.locator('.list [data-row]').first().waitFor()
        if (!menu) return
        await button(page, menu).click()
        await page.getByRole('menu').waitFor()
      })
      faults.push(...found.map((fault) => `${path} ${menu}: ${fault}`))
    }
    await page.keyboard.press('Escape')
    expect(faults).toEqual([])
  })

  it('on a phone, a list is sorted with a selection field and reversed with a button', async () => {
    await page.setViewportSize(PHONE)
    await go('/orders')
    const order = page.getByRole('combobox', { name: 'Sort by' }).first()
    await order.selectOption({ label: 'Amount' })
    await page.waitForURL(/sort=amount/)
    await button(page, 'Ascending. Reverse the order').click()
    await page.waitForURL(/sort=-amount/)
    const { orders } = await api<{ orders: { orderNo: string }[] }>(testbed, page, '/orders?sort=-amount')
    const rows = () =>
      page.locator('.list [data-row]').evaluateAll((all) => all.map((row) => row.getAttribute('data-row')))
    await expect.poll(rows).toEqual(orders.map((row) => row.orderNo))
    await order.selectOption('')
    await expect.poll(() => new URL(page.url()).searchParams.get('sort')).toBe(null)
    // A list that is completely loaded in the browser.
    await go('/people')
    await order.selectOption({ label: 'Name' })
    const names = () => page.locator('.list').first().locator('[data-row] td:first-child').allInnerTexts()
    await expect.poll(async () => (await names()).length).toBeGreaterThan(1)
    const sorted = (await names()).toSorted((a, b) => a.localeCompare(b))
    await expect.poll(names).toEqual(sorted)
    await page.setViewportSize(DESKTOP)
    await order.waitFor({ state: 'hidden' })
  })

  it('no page has violated the content security policy or thrown an error', () => {
    expect(testbed.browserErrors).toEqual([])
  })
})
