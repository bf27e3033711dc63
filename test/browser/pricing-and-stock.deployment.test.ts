import { makeIccid } from '@dealer-esim/contract'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import {
  api,
  button,
  type ConsoleTestbed,
  chooseMore,
  copyable,
  enterPassword,
  field,
  heading,
  navigate,
  signInAsOperator,
  startTestbed,
} from './console-testbed.ts'

/** An operator edits packages, prices them and manages stock, using only the browser. */
describe.skipIf(!isBrowserAvailable())('packages, price plans and stock in the console', () => {
  let testbed: ConsoleTestbed
  let page: Page
  let tenantId: string

  beforeAll(async () => {
    testbed = await startTestbed()
    page = await testbed.open()
    await signInAsOperator(testbed, page)
    tenantId = (await api<{ tenants: { tenantId: string }[] }>(testbed, page, '/tenants')).tenants[0]!.tenantId
  })
  afterAll(() => testbed?.stop())

  const dialog = () => page.getByRole('dialog')
  const select = (name: string) => page.getByRole('combobox', { name, exact: true })
  const supplierRow = (number: number) => page.locator(`[data-supplier="${number}"]`)

  it('a new package shows each error at its field, and an edited package asks before it is left', async () => {
    await navigate(testbed, page, '/catalogue')
    await page.getByRole('link', { name: 'New package' }).click()
    await field(page, 'Code').fill('JP_TEST')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Japan test')
    await select('Status').selectOption('On sale')
    await page.getByRole('combobox', { name: 'Countries' }).fill('Japan')
    await page.getByRole('option', { name: 'Japan (JP)' }).click()
    await page.keyboard.press('Escape')
    await field(page, 'Currency').first().fill('usd')
    await page.getByRole('textbox', { name: 'Price', exact: true }).fill('4.50')
    await page.getByRole('textbox', { name: 'Days', exact: true }).fill('week')
    await button(page, 'Create package').click()
    await page.getByText('Enter a whole number.').waitFor()
    await page.getByRole('textbox', { name: 'Days', exact: true }).fill('7')
    await button(page, 'Create package').click()
    await page.getByText(/A package on sale needs 1 to 10 suppliers/).waitFor()
    await button(page, 'Add supplier').click()
    await supplierRow(1).getByRole('combobox', { name: 'Supplier' }).selectOption('sandbox')
    await supplierRow(1).getByRole('combobox', { name: 'Product' }).fill('JP_1_7')
    await supplierRow(1).getByRole('textbox', { name: 'Cost' }).fill('3')
    await supplierRow(1).getByRole('textbox', { name: 'Currency' }).fill('USD')
    await page.getByText('Margin USD 1.50 (33.3%)').waitFor()
    await button(page, 'Create package').click()
    await heading(page, 'Japan test').waitFor()
    const { packageList } = await testbed.client(testbed.access).packages({ packageCode: 'JP_TEST' })
    expect(packageList).toMatchObject([{ price: 45_000, volume: 1024 ** 3, duration: 7 }])

    await page.getByRole('textbox', { name: 'Data volume', exact: true }).fill('2')
    await page.getByRole('link', { name: 'Orders', exact: true }).click()
    await button(page, 'Stay on this page').click()
    await button(page, 'Save').click()
    await page.getByText('Saved. This applies from the next order.').waitFor()
    await page.getByRole('link', { name: 'Orders', exact: true }).click()
    await heading(page, 'Orders').waitFor()
  })

  it('an edit to a package that somebody else has changed is refused until the current version is loaded', async () => {
    await navigate(testbed, page, '/packages/JP_TEST')
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    await name.fill('Overwritten')
    await testbed.admin('package', 'set', 'JP_TEST', '--name', 'Changed elsewhere')
    await button(page, 'Save').click()
    await page.getByText('This package has changed in the meantime').waitFor()
    await button(page, 'Load current version').click()
    await expect.poll(() => name.inputValue()).toBe('Changed elsewhere')
  })

  it('a package is taken off sale and put on sale again on its page, once its form is saved', async () => {
    await navigate(testbed, page, '/packages/JP_TEST')
    await page.getByText('On sale: dealers can order it.').waitFor()
    await chooseMore(page, 'Take off sale')
    await dialog().getByRole('button', { name: 'Take off sale' }).click()
    await page.getByText('Not on sale: dealers cannot order it.').waitFor()
    await expect.poll(() => page.getByRole('combobox', { name: 'Status' }).inputValue()).toBe('OFF_SALE')
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    const stored = await name.inputValue()
    await name.fill('Typed')
    await page.getByText('Save your changes first').waitFor()
    expect(await button(page, 'Put on sale').isDisabled()).toBe(true)
    await name.fill(stored)
    await button(page, 'Put on sale').click()
    await page.getByText('On sale: dealers can order it.').waitFor()
    expect(await page.getByText('This package has changed in the meantime').count()).toBe(0)
  })

  it('a dated rule for a country is previewed before it is saved, and explained on the package page', async () => {
    await navigate(testbed, page, '/catalogue/prices')
    await button(page, 'New plan').click()
    await dialog().getByRole('textbox', { name: 'Name', exact: true }).fill('GOLD')
    await dialog().getByRole('textbox', { name: 'Display name' }).fill('Gold partners 2026')
    await button(page, 'New plan').last().click()
    await heading(page, 'Gold partners 2026').waitFor()
    await button(page, 'Set rule').click()
    await dialog().getByRole('combobox', { name: 'Packages' }).selectOption('A country or region')
    await dialog().getByRole('combobox', { name: 'Country or region' }).fill('Japan')
    await page.getByRole('option', { name: 'Japan (JP)' }).click()
    await field(page, 'Percentage').fill('-150')
    await button(page, 'Preview the effect').click()
    await dialog()
      .getByText(/would make prices negative/)
      .waitFor()
    await field(page, 'Percentage').fill('-50')
    await field(page, 'Currency of the preview').fill('US')
    await button(page, 'Preview the effect').click()
    await dialog().getByText('Enter a currency code such as USD.').waitFor()
    await field(page, 'Currency of the preview').fill('usd')
    await button(page, 'Preview the effect').click()
    await dialog()
      .getByText(/would be sold below (its|their) cost/)
      .waitFor()
    await dialog().locator('[data-preview] [data-row]').first().waitFor()
    await page.route('**/price-plans/*/preview', async (route) => {
      const answer = (await (await route.fetch()).json()) as object
      await route.fulfill({ json: { ...answer, unknownCosts: 3, otherDealers: 1 } })
    })
    await button(page, 'Preview the effect').click()
    await dialog().getByText('3 packages have no known cost in USD').waitFor()
    await dialog().getByText('1 dealer with this plan pays in another currency').waitFor()
    await page.unroute('**/price-plans/*/preview')
    await field(page, 'Percentage').fill('-10')
    const nextYear = `${new Date().getFullYear() + 1}-06-01T00:00`
    await dialog().getByLabel('Valid from').fill(nextYear)
    await dialog().getByRole('button', { name: 'Set rule' }).click()
    await page.getByRole('cell', { name: 'Packages of Japan', exact: true }).waitFor()
    await page.getByRole('cell', { name: /^From Jun 1/ }).waitFor()

    await button(page, /^Remove rule: Packages of Japan/).click()
    await button(page, 'Preview the effect').click()
    const removal = dialog().locator('[data-preview]')
    await removal.getByRole('row', { name: /JP_TEST.*4\.05.*4\.50.*1\.50.*33\.3%/ }).waitFor()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('cell', { name: 'Packages of Japan', exact: true }).waitFor()
    await button(page, 'Add dealer').click()
    await dialog().getByRole('combobox', { name: 'Dealer' }).click()
    await page.getByRole('option').first().click()
    await dialog().getByRole('button', { name: 'Add dealer' }).click()
    await button(page, /^Remove .* from the plan$/).waitFor()

    await navigate(testbed, page, '/packages/JP_TEST/prices')
    await page.locator('[data-row=USD]').getByText('USD 1.50 (33.3%)').waitFor()
    const row = page.locator(`[data-row="${tenantId}"]`)
    await row.getByText('List price').waitFor()
    await row.getByText('USD 1.50 (33.3%)').waitFor()
    await row.getByRole('button', { name: /^Why\? / }).click()
    await dialog().getByText('Not valid yet').waitFor()
    await dialog().getByText('This is the price').waitFor()
    await dialog().getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('combobox', { name: 'Dealer' }).click()
    await page.getByRole('option').first().click()
    await page.getByLabel('At', { exact: true }).fill(nextYear)
    await page.locator('[data-explanation]').getByText('USD 4.05').first().waitFor()
  })

  it('a fixed price is previewed in its own currency', async () => {
    await navigate(testbed, page, '/catalogue/prices/plans/GOLD')
    await button(page, 'Set rule').click()
    await dialog().getByRole('combobox', { name: 'Packages' }).selectOption('One package')
    await dialog().getByRole('combobox', { name: 'Package', exact: true }).fill('JP_TEST')
    await page.getByRole('option', { name: /^JP_TEST: / }).click()
    await dialog().getByRole('combobox', { name: 'Rule type' }).selectOption('Fixed price')
    await dialog().getByRole('textbox', { name: 'Price', exact: true }).fill('4')
    expect(await field(page, 'Currency of the preview').count()).toBe(0)
    await dialog().getByRole('textbox', { name: 'Currency' }).fill('eur')
    const sent = page.waitForRequest('**/price-plans/*/preview')
    await button(page, 'Preview the effect').click()
    expect((await sent).postDataJSON()).toMatchObject({ rule: { price: 40_000 }, currencyCode: 'EUR' })
    await dialog().getByRole('button', { name: 'Cancel' }).click()
  })

  it('codes are imported for a chosen product, and each fault states its column and value', async () => {
    await testbed.admin('supplier', 'add', 'cards', '--type', 'stock')
    await testbed.admin('package', 'set', 'JP_TEST', '--supplier', 'cards:JP1')
    await navigate(testbed, page, '/stock')
    const product = page.locator('[data-row="cards JP1"]')
    await product.getByText('0', { exact: true }).waitFor()
    await product.getByRole('link', { name: 'JP_TEST' }).waitFor()
    await button(page, 'Import codes').click()
    await dialog().getByRole('combobox', { name: 'Supplier' }).selectOption('cards')
    await dialog().getByRole('combobox', { name: 'Product' }).selectOption('JP1')
    await dialog().getByRole('textbox', { name: 'Name of the batch' }).fill('First delivery')
    await dialog()
      .getByLabel('Expires')
      .fill(new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10))
    await selectFile('iccid,ac\n123,LPA:1$smdp.example.com$X\n')
    await dialog().getByRole('button', { name: 'Import codes' }).click()
    const fault = dialog().getByRole('row', { name: /This is not a valid ICCID/ })
    await fault.getByText('123', { exact: true }).waitFor()
    // A file with other columns raises a question.
    await selectFile(['SIM,Code', codeLine(1), codeLine(2)].join('\n'))
    await dialog().getByRole('button', { name: 'Import codes' }).click()
    await dialog().getByRole('combobox', { name: 'SIM' }).selectOption('iccid')
    await dialog().getByRole('combobox', { name: 'Code', exact: true }).selectOption('ac')
    await dialog().getByRole('button', { name: 'Read these columns' }).click()
    await page.getByText('Imported: 2 codes.').waitFor()
    await product.getByText('2', { exact: true }).waitFor()
  })

  it('a batch shows its expiry and alerts, and exports activation codes only after the password', async () => {
    await page.getByRole('link', { name: 'Batches' }).click()
    const batch = page.getByRole('row', { name: /First delivery/ })
    await batch.getByText(/\(2 within 30 days\)/).waitFor()
    const act = async (name: string | RegExp) => {
      await button(page, 'Actions: First delivery').click()
      await page.getByRole('menuitem', { name, exact: true }).click()
    }
    await act(/^(Set alert|Alert: )/)
    await dialog().getByRole('spinbutton').fill('5')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().waitFor({ state: 'hidden' })
    await button(page, 'Actions: First delivery').click()
    await page.getByRole('menuitem', { name: 'Alert: 5 days before' }).waitFor()
    await page.keyboard.press('Escape')
    await act('Change expiry')
    await dialog()
      .getByLabel('Unsold codes expire on')
      .fill(new Date(Date.now() + 60 * 86_400_000).toISOString().slice(0, 10))
    await dialog().getByRole('button', { name: 'Save' }).click()
    await page.getByText('Changed for 2 codes.').waitFor()
    await expect.poll(() => batch.getByText(/within 30 days/).count()).toBe(0)
    const exported = async (act: () => Promise<void>) => {
      const [download] = await Promise.all([page.waitForEvent('download'), act()])
      const parts: Buffer[] = []
      for await (const part of await download.createReadStream()) parts.push(part as Buffer)
      return Buffer.concat(parts).toString()
    }
    const states = await exported(() => act('Export'))
    expect(states).toContain('AVAILABLE')
    expect(states).not.toContain('LPA:1')
    await act('Export with activation codes')
    await enterPassword(page)
    const codes = await exported(() => dialog().getByRole('button', { name: 'With activation codes' }).click())
    expect(codes).toContain('LPA:1$smdp.example.com$M-1')
  })

  it('a code is found by its ICCID, and shown on demand with an audit entry', async () => {
    await page.getByRole('link', { name: 'Find a code' }).click()
    const iccid = makeIccid('89997', 1n)
    await page.getByRole('searchbox', { name: 'ICCID' }).fill(iccid)
    await page.getByRole('cell', { name: iccid, exact: true }).waitFor()
    expect(await page.content()).not.toContain('LPA:1')
    await button(page, `Show code: ${iccid}`).click()
    await dialog().getByRole('button', { name: 'Show code' }).click()
    expect(await copyable(page, 'Activation code').innerText()).toBe('LPA:1$smdp.example.com$M-1')
    await dialog().getByRole('button', { name: 'Close' }).last().click()
    await navigate(testbed, page, '/audit')
    await page.locator('[data-row]').getByText('Activation code in stock shown').first().waitFor()
  })

  it('an unset setting shows the value that applies, and an allowlist error names its lines', async () => {
    await navigate(testbed, page, `/tenants/${tenantId}/settings`)
    const limit = field(page, 'Requests per second')
    await expect.poll(() => limit.getAttribute('placeholder')).toBe('100: the gateway’s default')
    await field(page, 'IP allowlist').fill('203.0.113.7\noffice\n127.1')
    await button(page, 'Save').first().click()
    await page.getByText(/See line 2, 3\./).waitFor()
    expect(await page.getByText('Something went wrong').count()).toBe(0)
  })

  async function selectFile(text: string): Promise<void> {
    const file = { name: 'codes.csv', mimeType: 'text/csv', buffer: Buffer.from(text) }
    await page.locator('input[type=file]').setInputFiles(file)
  }
})

function codeLine(index: number): string {
  return `${makeIccid('89997', BigInt(index))},LPA:1$smdp.example.com$M-${index}`
}
