import { expect, it } from 'vitest'
import {
  api,
  button,
  chooseMore,
  copyable,
  field,
  heading,
  loadPage,
  navigate,
  type SharedState,
} from '../console-testbed.ts'

/** Codes, dialogs and input stay with their eSIM or dealer: nothing is carried over to another, and nothing is lost. */
export function contextFlows(shared: SharedState): void {
  const QR = 'QR code that installs this eSIM'
  const esims: { iccid: string; profileId: string }[] = []

  it('one eSIM’s codes are not shown on another eSIM’s page', async () => {
    const { testbed, page, dealer } = shared
    const packageInfoList = [{ packageCode: 'SANDBOX_OK', count: 2 }]
    const { orderNo } = await testbed.client(dealer).order({ transactionId: 'two-esims', packageInfoList })
    const delivered = async () => {
      const path = `/tenants/${dealer.tenantId}/orders/${orderNo}`
      return (await api<{ profiles: typeof esims }>(testbed, page, path)).profiles
    }
    await expect.poll(async () => (await delivered()).length).toBe(2)
    esims.push(...(await delivered()))
    const [first, second] = esims
    await navigate(testbed, page, `/tenants/${dealer.tenantId}/profiles/${first!.profileId}`)
    await chooseMore(page, 'Show codes and QR')
    await page.getByRole('img', { name: QR }).waitFor()
    const code = await copyable(page, 'Activation code').innerText()
    shared.secrets.push(code)
    await find(second!.iccid)
    expect(await page.getByRole('img', { name: QR }).count()).toBe(0)
    expect(await page.content()).not.toContain(code)
  })

  it('a dialog names its eSIM, and closes when the Back button opens another eSIM', async () => {
    const { page } = shared
    const [first, second] = esims
    await button(page, 'More').click()
    await page.getByRole('menuitem', { name: 'Cancel and refund' }).click()
    await page
      .getByRole('dialog', { name: /^Cancel / })
      .getByText(second!.iccid)
      .waitFor()
    await page.goBack()
    await shown(first!.iccid)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('money dialogs name their dealer, and close when the Back button opens another dealer', async () => {
    const { testbed, page, dealer } = shared
    const { tenantId } = await api<{ tenantId: string }>(testbed, page, '/tenants', {
      clientName: 'Beta Travel',
      currencyCode: 'USD',
    })
    const dialog = page.getByRole('dialog')
    await navigate(testbed, page, `/tenants/${dealer.tenantId}/wallet`)
    const name = await heading(page, /^Flow/).innerText()
    await navigate(testbed, page, `/tenants/${tenantId}/wallet`)
    await heading(page, 'Beta Travel').waitFor()
    for (const title of ['Propose adjustment', 'Top up']) {
      await button(page, title).click()
      await page.getByRole('dialog', { name: `${title}: Beta Travel` }).waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'hidden' })
    }
    await button(page, 'Top up').click()
    await dialog.getByRole('textbox', { name: /Amount/ }).fill('4711')
    await page.goBack()
    await heading(page, name).waitFor()
    await dialog.waitFor({ state: 'hidden' })
  })

  it('unsaved input in one settings card survives when another card is saved', async () => {
    const { testbed, page, dealer } = shared
    await navigate(testbed, page, `/tenants/${dealer.tenantId}/settings`)
    await field(page, 'Legal name').fill('Not saved yet')
    await field(page, 'Callback URL').fill('https://not-saved.example/')
    await field(page, 'Low-balance threshold').fill('7')
    const limits = page.locator('form').filter({ has: field(page, 'Low-balance threshold') })
    await limits.getByRole('button', { name: 'Save' }).click()
    // Formatted as an amount, so the card has been reset to the saved value.
    await expect.poll(() => field(page, 'Low-balance threshold').inputValue()).toBe('7.00')
    expect(await field(page, 'Legal name').inputValue()).toBe('Not saved yet')
    expect(await field(page, 'Callback URL').inputValue()).toBe('https://not-saved.example/')
  })

  it('leaving a page with unsaved settings asks first, and an allowlist error is shown at its field', async () => {
    const { page } = shared
    const dialog = page.getByRole('dialog', { name: 'Leave without saving?' })
    await page.getByRole('link', { name: 'Orders', exact: true }).click()
    await dialog.getByRole('button', { name: 'Stay on this page' }).click()
    await dialog.waitFor({ state: 'hidden' })
    expect(await field(page, 'Legal name').inputValue()).toBe('Not saved yet')
    await field(page, 'IP allowlist').fill('office\n203.0.113.7\n127.1')
    await button(page, 'Save').first().click()
    await page.getByText('“office”, “127.1” are neither addresses nor CIDR blocks').waitFor()
    expect(await field(page, 'IP allowlist').getAttribute('aria-invalid')).toBe('true')
    expect(await page.getByText('Something went wrong').count()).toBe(0)
    await page.getByRole('link', { name: 'Orders', exact: true }).click()
    await dialog.getByRole('button', { name: 'Leave' }).click()
    await heading(page, 'Orders').waitFor()
  })

  it('a page keeps its data and input when a refresh fails, and warns of outdated data', async () => {
    const { testbed, page, dealer } = shared
    const wallet = `/tenants/${dealer.tenantId}/wallet`
    await navigate(testbed, page, wallet)
    await button(page, 'Top up').click()
    const amount = page.getByRole('dialog').getByRole('textbox', { name: /Amount/ })
    await amount.fill('4711')
    const reads = `**/api/tenants/${dealer.tenantId}{,/**}`
    await page.route(reads, (route) => route.fulfill({ status: 503, json: { code: 'BUSY', message: 'Not just now.' } }))
    await refresh()
    await page.getByText('Not just now.').first().waitFor()
    expect(await amount.inputValue()).toBe('4711')
    await page.getByText('This page may be out of date').waitFor()
    await page.unroute(reads)
    await page.keyboard.press('Escape')
    await button(page, 'Try again').click()
    await page.getByText('This page may be out of date').waitFor({ state: 'hidden' })
    // Restores the page's clock.
    await loadPage(testbed, page, wallet)
  })

  it('a search keeps a space that was typed before a pause', async () => {
    const { testbed, page } = shared
    await navigate(testbed, page, '/tenants')
    const search = page.getByRole('searchbox', { name: 'Search by name or AppKey' })
    await search.pressSequentially('Beta ')
    await page.waitForURL(/q=Beta$/)
    await page.getByText('Beta Travel').waitFor()
    await search.pressSequentially('Travel')
    expect(await search.inputValue()).toBe('Beta Travel')
    await page.waitForURL(/q=Beta\+Travel$/)
  })

  /** Navigates with the finder, so that the page component stays and only its parameters change. */
  async function find(iccid: string): Promise<void> {
    const { page } = shared
    await button(page, /^Search: /).click()
    await page.getByRole('dialog').getByRole('textbox').fill(iccid)
    await page.getByRole('dialog').getByRole('button', { name: iccid }).click()
    await shown(iccid)
  }

  /** eSIMs of one package have the same title: only the technical details distinguish them. */
  async function shown(iccid: string): Promise<void> {
    await copyable(shared.page, 'ICCID').getByText(iccid).waitFor({ state: 'attached' })
  }

  /** Simulates a return to the window after a minute, which refreshes the data. */
  async function refresh(): Promise<void> {
    await shared.page.evaluate(`{
      const later = Date.now() + 60_000
      Date.now = () => later
      window.dispatchEvent(new Event('visibilitychange'))
    }`)
  }
}
