import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { HELD, UNSETTLED } from '@dealer-esim/wholesalers/unsettled.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import {
  api,
  button,
  type ConsoleTestbed,
  enterPassword,
  field,
  heading,
  navigate,
  PASSWORD,
  signInAsOperator,
  startTestbed,
} from './console-testbed.ts'
import { loadingEnds } from './console-tour.ts'
import { listFaults } from './first-screen.ts'
import { Hands } from './flows/hands.ts'

/** The type of the supplier of a trial. */
const TRIAL_TYPE = 'esim-access'
/** An eSIM that is not delivered immediately is queried for half a minute. */
const VERIFIED_WITHIN_MS = 60_000

/** A new operator sells from a wholesaler's account, on a fresh local gateway and using only the browser. */
describe.skipIf(!isBrowserAvailable())('selling a wholesaler’s catalogue', () => {
  let testbed: ConsoleTestbed
  let page: Page
  let simulator: Simulator | undefined

  beforeAll(async () => {
    testbed = await startTestbed({ isTrial: true })
    page = await testbed.open()
    await signInAsOperator(testbed, page)
  })
  afterAll(async () => {
    await testbed?.stop()
    await simulator?.close()
  })

  it('the catalogue is read on demand, and its products are listed with costs', async () => {
    const products = /\/supplier-products(\?|$)/
    await page.route(products, (route) => route.fulfill({ json: { products: [], nextCursor: null, searchedTo: null } }))
    await navigate(testbed, page, '/products')
    await page.getByText('The catalogues that were read list no products.').waitFor()
    await page.unroute(products)
    // Another person reads the catalogue: this page shows its products too.
    await api(testbed, page, '/suppliers/trial/sync', {})
    await page.getByRole('columnheader', { name: 'Cost, USD' }).waitFor()
    const trial = page.locator('[data-sync=trial]')
    const listed = async () => Number((await trial.getByText(/\d+ products/).innerText()).match(/(\d+) products/)?.[1])
    await expect.poll(listed).toBeGreaterThan(100)
    await page.locator('main .list [data-row]').first().waitFor()
    await loadingEnds(page)
    expect(await listFaults(page)).toEqual([])
    await trial.click()
    await trial.getByRole('button', { name: 'Read now' }).click()
    await page.locator('[data-sync=trial][data-outcome=DONE]').waitFor()
    await page.goBack()
    const first = page.locator('tbody tr').first()
    await first.locator('[data-label=Cost] .amount').waitFor()
    await first.getByRole('button').click()
    await page.getByRole('table', { name: 'Cost over time' }).getByText(/USD/).waitFor()
    await page.keyboard.press('Escape')
  })

  it('a rule’s mistakes are reported at their inputs, and nothing is sold before the preview is applied', async () => {
    await page.getByRole('link', { name: 'Sale rules' }).first().click()
    await page.getByRole('link', { name: 'Add rule' }).first().click()
    await field(page, 'Name of the rule').fill('Everything')
    await field(page, 'Suppliers, in order').fill('trial')
    await field(page, 'Countries (codes)').fill('JP XX')
    await button(page, 'Save and preview').click()
    await page.getByText('XX is not an ISO 3166-1 alpha-2 country code').first().waitFor()
    await field(page, 'Countries (codes)').fill('')
    await button(page, 'Save and preview').click()
    await heading(page, 'Preview').waitFor()
    await page.getByRole('button', { name: /^Apply \d+ changes$/ }).waitFor()
    await page.locator('tbody tr td[data-label=Margin]').first().waitFor()
    const cells = page.locator('tbody tr td[data-label=Margin]')
    await expect.poll(() => cells.count()).toBeGreaterThan(100)
    await loadingEnds(page)
    const margins = await cells.allInnerTexts()
    for (const text of margins) expect(Number(text.match(/USD\s([\d.,]+)/)?.[1])).toBeGreaterThan(0)
    expect(margins.filter((text) => text.includes('−'))).toEqual([])
  })

  it('the applied packages are in the catalogue, and a second preview does not change anything', async () => {
    await page.getByRole('button', { name: /^Apply \d+ changes$/ }).click()
    await heading(page, 'Catalogue').waitFor()
    await navigate(testbed, page, '/sale-rules')
    await page.locator('[data-row=Everything]').getByText('Applied', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Preview and apply' }).click()
    await page.getByText('Nothing would change').waitFor()
  })

  it('a rule form says what the rule will sell before it is saved', async () => {
    await navigate(testbed, page, '/sale-rules/Everything')
    const effect = page.getByRole('status').filter({ hasText: /margin/ })
    await effect.getByText(/\d+ packages from/).waitFor()
    const [, packages] = /(\d+) packages from/.exec(await effect.innerText()) ?? []
    await page.getByLabel('Countries (codes)').fill('JP')
    await expect
      .poll(async () => Number(/(\d+) package/.exec(await effect.innerText())?.[1]))
      .toBeLessThan(Number(packages))
    await page.getByLabel('Percent added to the cost').fill('x')
    await page
      .getByRole('status')
      .filter({ hasText: /percent/i })
      .waitFor()
    await page.getByLabel('Percent added to the cost').fill('25')
    await page.getByLabel('Countries (codes)').fill('')
  })

  it('a package can be released from its rule in the catalogue', async () => {
    const packageCode = await soldPackage()
    const ofRule = async () => {
      const { rules } = await api<{ rules: { packages: number }[] }>(testbed, page, '/sale-rules')
      return rules[0]!.packages
    }
    const before = await ofRule()
    await navigate(testbed, page, `/catalogue?keyword=${packageCode}`)
    await page.getByRole('checkbox', { name: `Select: ${packageCode}`, exact: true }).check()
    await page.locator('[data-bulk]').getByRole('button', { name: 'Separate from sale rule' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('No sale rule changes these packages any more').waitFor()
    await dialog.getByRole('button', { name: 'Start' }).click()
    await dialog.locator(`[data-bulk-row="${packageCode}"]`).getByText('Done').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Separate from sale rule')
    expect(await ofRule()).toBe(before - 1)
  })

  it('a package from the wholesaler is sold and delivered', async () => {
    const packageCode = await soldPackage()
    await navigate(testbed, page, '/tenants')
    await page.getByRole('link', { name: 'Demo dealer' }).click()
    await page.waitForURL(/\/tenants\/[0-9a-f-]{36}$/)
    const tenantId = new URL(page.url()).pathname.split('/').at(-1)
    await navigate(testbed, page, `/explorer?tenantId=${tenantId}`)
    await field(page, 'AppSecret').fill(testbed.access.appSecret)
    await button(page, 'Save').click()
    await page.getByRole('combobox', { name: 'Operation' }).selectOption('esim/order')
    const body = { transactionId: 'first-wholesale-order', packageInfoList: [{ packageCode, count: 1 }] }
    await field(page, 'Body').fill(JSON.stringify(body))
    await button(page, 'Sign and send').click()
    await page.locator('[data-answer="200"]').waitFor()
    await navigate(testbed, page, '/orders?q=first-wholesale-order')
    await page.locator('tbody tr').getByRole('link').first().click()
    await page.locator('main').getByText('Delivered', { exact: true }).first().waitFor()
    await navigate(testbed, page, '/suppliers/trial')
    await page.locator('[data-state=working]').waitFor()
  })

  it('the wholesaler’s page shows its costs, and one confirmed purchase verifies the wholesaler', async () => {
    const packageCode = await soldPackage()
    await navigate(testbed, page, '/suppliers/trial')
    await page.getByText('Spent', { exact: true }).waitFor()
    const lists = [...HELD[TRIAL_TYPE]!, ...UNSETTLED[TRIAL_TYPE]!]
    for (const text of lists) await page.getByRole('listitem').getByText(text, { exact: true }).waitFor()
    await button(page, 'Verify with a purchase').click()
    const dialog = page.getByRole('dialog')
    const cheapest = dialog.getByRole('button', { name: /^Buy for USD \d+\.\d+, then cancel$/ })
    await cheapest.waitFor()
    await field(page, 'Product').fill(packageCode)
    await dialog.locator('input[name=password]').fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Show the price' }).click()
    await dialog.getByText(/This is a real purchase/).waitFor()
    await cheapest.click()
    await page.getByText('Verified with a purchase').waitFor({ timeout: VERIFIED_WITHIN_MS })
    await button(page, 'Verify with a purchase').waitFor({ state: 'detached' })
    for (const text of lists) expect(await page.getByText(text, { exact: true }).count()).toBe(0)
  })

  it('from a wholesaler’s account to its packages on sale takes at most 8 clicks and 5 fields', async () => {
    simulator = await createSimulator('esim-access')
    const { accessCode = '', secretKey = '' } = simulator.credentials
    await navigate(testbed, page, '/suppliers')
    const hands = new Hands(page)
    const setting = (name: string) => page.locator(`[name="config.${name}"]`)
    await hands.click(page.getByRole('link', { name: 'Add supplier' }).first())
    await hands.click(page.getByRole('combobox', { name: 'Type' }))
    await hands.click(page.getByRole('option', { name: 'eSIM Access' }))
    // Only here: a second supplier of this type, which is a simulator.
    await page.locator('input[name=supplier]').fill('second')
    await page.getByRole('button', { name: 'Advanced' }).click()
    await setting('url').fill(simulator.url)
    await hands.fill(setting('accessCode'), accessCode)
    await hands.fill(setting('secretKey'), secretKey)
    await hands.fill(setting('dailySpendLimit.amount'), '100')
    await hands.fill(setting('dailySpendLimit.currencyCode'), 'USD')
    await enterPassword(page)
    await hands.click(page.getByRole('button', { name: 'Add supplier' }))
    const row = page.locator('[data-sync=second]')
    await hands.click(row.getByRole('button', { name: 'Sell products' }))
    const dialog = page.getByRole('dialog')
    await hands.fill(dialog.getByLabel('Percent added to the cost'), '30')
    await dialog
      .getByRole('status')
      .getByText(/\d+ packages from USD/)
      .waitFor()
    await hands.click(dialog.getByRole('button', { name: 'Preview' }))
    const put = dialog.getByRole('button', { name: /^Put \d+ packages on sale$/ })
    await put.waitFor()
    const packages = Number(/\d+/.exec(await put.innerText()))
    await hands.click(put)
    await dialog.waitFor({ state: 'detached' })
    expect(packages).toBeGreaterThanOrEqual(300)
    const { rules } = await api<{ rules: { ruleName: string; packages: number }[] }>(testbed, page, '/sale-rules')
    expect(rules.find(({ ruleName }) => ruleName === 'second')).toMatchObject({ packages })
    const { clicks, fields } = hands.count()
    expect(clicks).toBeLessThanOrEqual(8)
    expect(fields).toBeLessThanOrEqual(5)
  })

  /** The code of a package that is bought from the wholesaler. */
  async function soldPackage(): Promise<string> {
    await navigate(testbed, page, '/products?sold=YES')
    const code = page.locator('tbody tr td[data-label="Sold as"]').first()
    await code.waitFor()
    return (await code.innerText()).split(' ')[0]!
  }
})
