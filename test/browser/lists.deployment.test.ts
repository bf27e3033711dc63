import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import { createDemo, type Demo } from './console-demo.ts'
import {
  api,
  button,
  type ConsoleTestbed,
  chooseFilter,
  field,
  heading,
  navigate,
  startTestbed,
} from './console-testbed.ts'
import { transitionsEnd } from './console-tour.ts'

/** People use the console's lists: they sort, count, select, save, export, change many rows, and search. */
describe.skipIf(!isBrowserAvailable())('the console’s lists in a browser', () => {
  let testbed: ConsoleTestbed
  let demo: Demo
  let page: Page

  beforeAll(async () => {
    testbed = await startTestbed()
    demo = await createDemo(testbed)
    page = demo.operator
  }, 480_000)
  afterAll(() => testbed?.stop())

  const go = (path: string) => navigate(testbed, page, path)
  const rowIds = () =>
    page.locator('.list [data-row]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-row')))

  it('orders are counted, summed and sorted by a click on a header', async () => {
    await go('/orders')
    await page
      .locator('[data-totals]')
      .getByText(/^\d+ rows · (EUR\s[\d,.]+ · )?USD\s[\d,.]+/)
      .waitFor()
    const header = page.getByRole('columnheader', { name: 'Amount' })
    await header.getByRole('button').click()
    await page.locator('th[aria-sort=ascending]').waitFor()
    const { orders } = await api<{ orders: { orderNo: string }[] }>(testbed, page, '/orders?sort=amount')
    await expect.poll(rowIds).toEqual(orders.map((row) => row.orderNo))
    await header.getByRole('button').click()
    await page.locator('th[aria-sort=descending]').waitFor()
    await expect.poll(() => new URL(page.url()).searchParams.get('sort')).toBe('-amount')
  })

  it('a shorter list shows its total number of rows on every page, and its page size can be changed', async () => {
    const path = `/tenants/${demo.tenantId}/prices`
    const { count } = await api<{ count: number }>(testbed, page, `${path}/totals`)
    expect(count).toBeGreaterThan(25)
    const total = page.locator('[data-totals]').getByText(`${count.toLocaleString('en')} rows`, { exact: true })
    await go(path)
    await total.waitFor()
    await page.getByRole('combobox', { name: 'Page size' }).selectOption('25')
    await expect.poll(async () => (await rowIds()).length).toBe(25)
    const first = await rowIds()
    await button(page, 'Next page').click()
    await expect.poll(rowIds).not.toEqual(first)
    await total.waitFor()
    await page.route('**/api/notices/totals*', (route) => route.fulfill({ json: { count: 10_000, isComplete: false } }))
    await go('/notices')
    await page.locator('[data-totals]').getByText('10,000+ rows').waitFor()
    await page.unroute('**/api/notices/totals*')
  })

  it('a shorter list is sorted both ways by clicking its time column, and states its time zone', async () => {
    const path = `/tenants/${demo.tenantId}/wallet/entries`
    const { entries } = await api<{ entries: { walletVersion: number }[] }>(testbed, page, path)
    const versions = entries.map((row) => String(row.walletVersion))
    expect(versions.length).toBeGreaterThan(2)
    await go(`/tenants/${demo.tenantId}/wallet`)
    const list = page.locator('.list').last()
    const shown = () =>
      list.locator('[data-row]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-row')))
    await expect.poll(shown).toEqual(versions)
    const time = list.getByRole('columnheader', { name: 'Time' }).getByRole('button')
    await time.click()
    await expect.poll(shown).toEqual([...versions].reverse())
    // Its file always lists the oldest first.
    await button(page, 'List options').last().click()
    const file = page.getByRole('menuitem', { name: 'Export CSV' })
    expect(await file.getAttribute('href')).toContain('/wallet/entries.csv')
    expect((await page.request.get(await file.evaluate((link) => (link as HTMLAnchorElement).href))).status()).toBe(200)
    await page.keyboard.press('Escape')
    await time.click()
    await expect.poll(shown).toEqual(versions)
    await button(page, 'List options').last().click()
    const zone = await page.evaluate('Intl.DateTimeFormat().resolvedOptions().timeZone')
    await page.locator('[data-zone]').getByText(`Times in ${zone}`, { exact: true }).last().waitFor()
    await page.keyboard.press('Escape')
  })

  it('a column header that does not sort says why', async () => {
    await page.route('**/api/orders/totals*', async (route) => {
      const answer = await route.fetch()
      await route.fulfill({
        json: { ...(await answer.json()), isComplete: false, count: 10_000, sortable: ['createdAt'] },
      })
    })
    await go('/orders?status=DELIVERED')
    await page.locator('[data-totals]').getByText('10,000+ rows').waitFor()
    const header = page.getByRole('columnheader', { name: 'Amount' }).getByRole('button')
    expect(await header.getAttribute('aria-disabled')).toBe('true')
    await header.hover()
    await page.getByText('More than 10,000 rows match. Narrow the filter').waitFor()
    await page.unroute('**/api/orders/totals*')
  })

  it('columns, a period and a filter can be saved as a view, restored and deleted', async () => {
    await go('/orders')
    await chooseFilter(page, 'Period', 'last7')
    await button(page, 'List options').click()
    await page.getByRole('menuitemcheckbox', { name: 'Refunded' }).click()
    await page.getByRole('columnheader', { name: 'Refunded' }).waitFor()
    await page.getByRole('menuitem', { name: 'Save this view' }).click()
    await field(page, 'Name').fill('This week')
    await button(page, 'Save').click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    const saved = new URL(page.url()).search
    expect(saved).toContain('period=last7')
    await go('/orders')
    const tab = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'This week' })
    await tab.click()
    await page.getByRole('columnheader', { name: 'Refunded' }).waitFor()
    await expect.poll(() => new URL(page.url()).search).toBe(saved)
    await expect.poll(() => tab.getAttribute('aria-current')).toBe('page')
    await button(page, 'List options').click()
    await page.getByRole('menuitem', { name: 'Delete “This week”' }).click()
    await page.getByText('View deleted.').waitFor()
    await tab.waitFor({ state: 'detached' })
    await button(page, 'Undo').click()
    await page.getByText('View restored.').waitFor()
    await tab.waitFor()
  })

  it('the file is filtered and sorted like the list', async () => {
    await go('/orders?sort=amount&status=DELIVERED')
    await page.locator('[data-totals]').waitFor()
    const waiting = page.waitForEvent('download')
    await button(page, 'List options').click()
    await page.getByRole('menuitem', { name: 'Export CSV' }).click()
    const file = await waiting
    const lines = readFileSync((await file.path())!, 'utf8')
      .trimEnd()
      .split('\n')
    const { orders } = await api<{ orders: { orderNo: string }[] }>(
      testbed,
      page,
      '/orders?sort=amount&status=DELIVERED',
    )
    expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual(orders.map((row) => row.orderNo))
  })

  it('selected packages are taken off sale one by one, skipping those that are already off sale', async () => {
    await go('/catalogue?keyword=SANDBOX')
    const select = (code: string) => page.getByRole('checkbox', { name: `Select: ${code}` }).check()
    for (const code of ['SANDBOX_OK', 'SANDBOX_SLOW']) await select(code)
    await page.locator('[data-bulk]').getByText('2 selected').waitFor()
    await button(page, 'Take off sale').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('2 rows will be changed.').waitFor()
    await dialog.getByRole('button', { name: 'Start' }).click()
    await dialog.locator('[data-bulk-progress]').getByText('2 of 2').waitFor()
    await dialog.locator('[data-bulk-row=SANDBOX_OK]').getByText('Done').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.locator('[data-row=SANDBOX_SLOW] [data-status=OFF_SALE]').waitFor()
    const { entries } = await api<{ entries: { subject: string }[] }>(testbed, page, '/audit?action=package.change')
    expect(entries.slice(0, 2).map((entry) => entry.subject)).toEqual(['SANDBOX_SLOW', 'SANDBOX_OK'])
    await select('SANDBOX_REFUSED')
    await button(page, 'Put on sale').click()
    await dialog.getByText('1 row is skipped: On sale').waitFor()
    await page.route('**/api/packages/sale', (route) =>
      route.fulfill({ status: 409, json: { code: 'CATALOGUE_CHANGED', message: 'Somebody was faster.' } }),
    )
    await dialog.getByRole('button', { name: 'Start' }).click()
    await dialog.getByRole('alert').getByText('2 failed').waitFor()
    await dialog.locator('[data-bulk-row=SANDBOX_OK]').getByText('Somebody was faster.').waitFor()
    await page.unroute('**/api/packages/sale')
    await dialog.getByRole('button', { name: 'Close' }).last().click()
  })

  it('selected dealers get a price plan, and selected events are sent again', async () => {
    await go('/tenants')
    await page.getByRole('checkbox', { name: `Select: ${demo.tenantId}` }).check()
    await button(page, 'Change plan').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox', { name: 'Plan' }).selectOption('GOLD')
    await dialog.getByRole('button', { name: 'Start' }).click()
    await dialog.locator('[data-bulk-progress]').getByText('1 of 1').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    const path = `/tenants/${demo.tenantId}/price-assignment`
    expect((await api<{ planName: string }>(testbed, page, path)).planName).toBe('GOLD')
    await go(`/webhooks?q=${demo.orderNo}`)
    const rows = page.getByRole('table', { name: 'Events' }).locator('[data-row]')
    await rows.first().waitFor()
    await expect.poll(async () => [...new Set(await rows.locator('td.mono').allInnerTexts())]).toEqual([demo.orderNo])
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    await page.locator('[data-bulk]').getByRole('button', { name: 'Send again' }).click()
    await dialog.getByText(/will be changed/).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })

  it('keyboard shortcuts open pages, move between rows and list the shortcuts, but not during typing', async () => {
    await go('/')
    await heading(page, 'Home').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('o')
    await heading(page, 'Orders').waitFor()
    await page.locator('.list [data-row]').first().waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    await expect
      .poll(() =>
        page.evaluate(`document.activeElement.closest('[data-row]') === document.querySelector('[data-row]')`),
      )
      .toBe(true)
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/orders\/[0-9A-Z]{26}$/)
    await page.keyboard.press('?')
    await page.getByRole('table', { name: 'Keyboard shortcuts' }).getByText('Go to Orders').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.keyboard.press('/')
    const finder = field(page, 'Search')
    await finder.fill('gj')
    expect(await finder.inputValue()).toBe('gj')
    for (const [text, kind] of [
      ['SANDBOX_OK', 'Package'],
      ['sandbox', 'Supplier'],
      ['admin@localhost', 'Person'],
      ['new dealer', 'Action'],
    ] as const) {
      await finder.fill(text)
      await page.getByRole('dialog').getByText(kind, { exact: true }).first().waitFor()
    }
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'New dealer' }).waitFor()
    await page.keyboard.press('Escape')
  })

  it('the sample file can be imported, and errors are shown with their values and as a file', async () => {
    await go('/catalogue/import')
    await button(page, 'Columns, sample file and guide').click()
    await transitionsEnd(page)
    const sample = page.waitForEvent('download')
    await button(page, 'Download a sample file').click()
    const text = readFileSync((await (await sample).path())!, 'utf8')
    await drop(text)
    await button(page, 'Preview changes').click()
    await page.locator('[data-sum=New]').getByText('2').waitFor()
    await drop(text.replace('1GB', 'one gig').replaceAll('sandbox', 'nobody'))
    await button(page, 'Preview changes').click()
    await page.getByRole('table', { name: 'Errors' }).getByRole('cell', { name: 'one gig' }).waitFor()
    await page.getByText('These suppliers do not exist yet: nobody').waitFor()
    const errors = page.waitForEvent('download')
    await button(page, 'Download errors').click()
    expect(readFileSync((await (await errors).path())!, 'utf8')).toContain('"volume","SAMPLE_JP_1_7","one gig"')
  })

  /** Drops a file on the page, as from a folder of the desktop. */
  async function drop(text: string): Promise<void> {
    const data = await page.evaluateHandle(
      `(() => { const data = new DataTransfer(); data.items.add(new File([${JSON.stringify(text)}], 'p.csv')); return data })()`,
    )
    await page.dispatchEvent('.drop', 'drop', { dataTransfer: data })
  }

  it('a page without a connection says that it is offline, and keeps what it shows', async () => {
    await go('/orders')
    await page.locator('.list [data-row]').first().waitFor()
    await page.context().setOffline(true)
    await page.locator('[data-offline]').waitFor()
    await expect.poll(() => page.locator('.list [data-row]').count()).toBeGreaterThan(0)
    await page.context().setOffline(false)
    await page.locator('[data-offline]').waitFor({ state: 'hidden' })
  })

  it('on a phone, each row takes two lines and the filters take one', async () => {
    await page.setViewportSize({ width: 390, height: 800 })
    await go('/orders')
    const row = page.locator('.list [data-row]').first()
    await row.waitFor()
    await expect.poll(async () => (await row.boundingBox())?.height).toBeLessThan(80)
    for (const part of ['main', 'value', 'status']) await row.locator(`[data-phone=${part}]`).waitFor()
    await chooseFilter(page, 'Status', 'DELIVERED')
    await page.waitForURL(/status=DELIVERED/)
    await go(`/tenants/${demo.tenantId}/wallet`)
    const movement = page.getByRole('table', { name: 'Statement' }).locator('[data-row]').first()
    await movement.waitFor()
    await expect.poll(async () => (await movement.boundingBox())?.height).toBeLessThan(80)
    await movement.locator('[data-phone=value]').waitFor()
    // A value that is missing gives its place to the name.
    await go('/profiles')
    const esim = page.locator('.list [data-row]:has([data-phone=value][data-none])').first()
    await esim.waitFor()
    await esim.locator('[data-phone=value]').waitFor({ state: 'hidden' })
    await expect.poll(async () => (await esim.boundingBox())?.height).toBeLessThan(80)
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  it('no list has violated the content security policy or thrown an error', () => {
    expect(testbed.browserErrors).toEqual([])
  })
})
