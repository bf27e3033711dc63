import { makeIccid } from '@dealer-esim/contract'
import { waitUntil } from '@dealer-esim/gateway/test/harness/shop.ts'
import { expect, it } from 'vitest'
import { api, button, field, loadPage, navigate, type SharedState } from '../console-testbed.ts'

export function catalogueFlows(shared: SharedState): void {
  it('an import is previewed with its invalid rows, and an invalid file changes nothing', async () => {
    const { testbed, page } = shared
    const csv = await page.request.get(`${testbed.access.consoleUrl}/api/packages.csv?locationCode=AT`)
    const [head = '', ...rows] = (await csv.text()).trimEnd().split(/\r?\n/)
    await navigate(testbed, page, '/catalogue/import')
    const wrong = [head, ...rows.slice(0, 2), `${rows[2]?.replace(/,(DAY),/, ',CENTURY,')}`].join('\n')
    await preview(wrong)
    await page.locator('[data-sum="Errors"]').getByText('1').waitFor()
    await page.getByRole('table', { name: 'Errors' }).getByRole('cell', { name: '4', exact: true }).waitFor()
    expect(await button(page, 'Import').isDisabled()).toBe(true)
    const cheap = [head, rows[0]?.replace(',21.00,', ',0.01,')].join('\n')
    await preview(cheap)
    const change = page.getByRole('table', { name: 'Change' }).locator('[data-row=AT_10_30]')
    await change.getByText('Price in USD: USD 21.00 → USD 0.01 (−99.9%)').waitFor()
    await change.getByText('Falls by more than half').waitFor()
    await change.getByText('Below cost (USD 12.60)').waitFor()
    await page.getByRole('alert').getByText('Check 1 package').waitFor()
    const renamed = [head, rows[0]?.replace('Austria', 'Austria renamed')].join('\n')
    await preview(renamed)
    await page.locator('[data-sum="Changed"]').getByText('1').waitFor()
    await button(page, 'Import').click()
    await page.getByText('Imported: 0 new, 1 changed.').waitFor()
    await navigate(testbed, page, '/catalogue?keyword=renamed')
    await page.locator('[data-row]').getByText('Austria renamed').waitFor()
  })

  it('a package value that cannot be changed is shown as text, not as a field', async () => {
    const { testbed, page } = shared
    await navigate(testbed, page, '/packages/AT_10_30')
    await page.locator('[data-fixed=Code]').getByText('AT_10_30').waitFor()
    await page.locator('[data-fixed=Type]').getByText('With eSIM').waitFor()
    expect(await page.getByLabel('Code', { exact: true }).count()).toBe(0)
  })

  async function preview(csv: string): Promise<void> {
    await selectFile('packages.csv', csv)
    await button(shared.page, 'Preview changes').click()
  }

  async function selectFile(name: string, csv: string): Promise<void> {
    const file = { name, mimeType: 'text/csv', buffer: Buffer.from(csv) }
    await shared.page.locator('input[type=file]').setInputFiles(file)
  }

  /** A product that no package uses yet. */
  async function chooseProduct(code: string): Promise<void> {
    const dialog = shared.page.getByRole('dialog')
    await dialog.getByRole('combobox', { name: 'Supplier' }).selectOption('warehouse')
    await dialog.getByRole('combobox', { name: 'Product' }).selectOption('Another product…')
    await field(shared.page, 'Code of the product').fill(code)
  }

  it('a stock import shows its progress, and an invalid file is rejected with its line numbers', async () => {
    const { testbed, page } = shared
    await testbed.admin('supplier', 'add', 'warehouse', '--type', 'stock')
    // The node creates the supplier shortly after the command has ended.
    await waitUntil(
      async () => (await api<{ stockSuppliers: string[] }>(testbed, page, '/stock')).stockSuppliers.length > 0,
    )
    await loadPage(testbed, page, '/stock') // the console may have read the stock before
    await button(page, 'Import codes').click()
    const dialog = page.getByRole('dialog')
    await chooseProduct('JP-7')
    await selectFile('codes.csv', ['iccid,ac', codeLine(1), '8999,LPA:1$smdp.test$M-2'].join('\n'))
    await dialog.getByRole('button', { name: 'Import codes' }).click()
    await dialog.getByRole('alert').getByText('Nothing was imported').waitFor()
    await dialog.getByRole('table', { name: 'Problem' }).getByRole('cell', { name: '3', exact: true }).waitFor()

    const seen = await progressOf(async () => {
      await selectFile('codes.csv', ['iccid,ac', ...Array.from({ length: 5_000 }, (_, i) => codeLine(i))].join('\n'))
      await dialog.getByRole('button', { name: 'Import codes' }).click()
      await page.getByText('Imported: 5,000 codes.').waitFor()
    })
    expect(seen.some((text) => /^Checked and stored: [1-9]/.test(text))).toBe(true)
    await page.locator('[data-row="warehouse JP-7"]').getByText('5,000').waitFor()
  })

  it.each([
    [
      'a proxy’s error page',
      413,
      '<html><h1>413 Request Entity Too Large</h1></html>',
      'The gateway responded with status 413',
    ],
    ['JSON of something other than the gateway', 502, 'null', 'The gateway responded with status 502'],
    ['nothing', 503, '', 'The gateway responded with status 503'],
    ['an interrupted response', 200, '{"rows":2000}\n', 'The response was interrupted'],
    ['a page instead of the response', 200, '<html>Sign in to the network</html>', 'The response was interrupted'],
  ])('an import answered by %s is reported as failed, and can be sent again', async (_, status, body, message) => {
    const { testbed, page } = shared
    await loadPage(testbed, page, '/stock')
    await button(page, 'Import codes').click()
    const dialog = page.getByRole('dialog')
    await chooseProduct('JP-8')
    await selectFile('codes.csv', ['iccid,ac', codeLine(9_001)].join('\n'))
    await page.route('**/api/stock/import?*', (route) => route.fulfill({ status, body, contentType: 'text/html' }))
    await dialog.getByRole('button', { name: 'Import codes' }).click()
    await dialog.getByRole('alert').getByText(message).waitFor()
    await page.unroute('**/api/stock/import?*')
    await dialog.locator('button[type=submit][data-loading]').waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'hidden' })
  })

  /** Returns the progress texts that the dialog showed in the meantime. */
  async function progressOf(act: () => Promise<void>): Promise<string[]> {
    const { page } = shared
    await page.evaluate(`globalThis.progressSeen = [], new MutationObserver(() => {
      const text = document.querySelector('[role=dialog] [role=status]')?.textContent
      if (text) globalThis.progressSeen.push(text)
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`)
    await act()
    return (await page.evaluate('globalThis.progressSeen')) as string[]
  }
}

function codeLine(index: number): string {
  return `${makeIccid('89999', BigInt(index))},LPA:1$smdp.example.com$M-${index}`
}
