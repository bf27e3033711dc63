import { expect, it } from 'vitest'
import { api, button, copyable, enterPassword, heading, navigate, type SharedState } from '../console-testbed.ts'
import { loadingEnds } from '../console-tour.ts'

interface Setup {
  steps: Record<string, boolean>
  dealer: { tenantId: string }
}

/** The guided start: from the checklist on the dashboard to a delivered order, without leaving the browser. */
export function setupFlows(shared: SharedState): void {
  const step = (name: string) => shared.page.locator(`[data-setup=${name}]`)
  const act = (name: string) => step(name).getByRole('button').or(step(name).getByRole('link')).click()
  const dialog = () => shared.page.getByRole('dialog')

  it('the checklist shows what is done, and helps to create, invite and fund the first dealer', async () => {
    const { testbed, page } = shared
    const real = await api<Setup>(testbed, page, '/setup')
    expect(real.steps).toMatchObject({
      supplier: true,
      catalogue: true,
      dealer: false,
      testOrder: false,
      goLive: false,
    })
    // As on a gateway without a dealer.
    await page.route('**/api/setup', (route) => route.fulfill({ json: { ...real, dealer: null } }))
    await navigate(testbed, page, '/')
    await heading(page, 'Home').waitFor()
    await step('supplier').and(page.locator('[data-done=true]')).waitFor({ state: 'attached' })
    await step('dealer').and(page.locator('[data-done=false]')).waitFor()
    await act('dealer')
    await dialog().getByLabel('Name').fill('Guided Travel')
    await button(page, 'Create dealer').click()
    await dialog().getByText('Copy the AppSecret now').waitFor()
    shared.secrets.push(await copyable(page, 'AppSecret').innerText())
    await button(page, 'I have copied it').click()
    await dialog().getByRole('textbox', { name: 'Name' }).fill('First Dealer')
    await dialog().getByRole('textbox', { name: 'E-mail address' }).fill('first@guided.test')
    await enterPassword(dialog())
    await dialog().getByRole('button', { name: 'Invite' }).click()
    const link = await copyable(page, 'Copy this invitation link').innerText()
    shared.secrets.push(new URL(link).hash.slice(1))
  })

  it('a dialog with a one-time link asks before it closes if the link was not copied or downloaded', async () => {
    const { testbed, page } = shared
    expect(await dialog().getByRole('button', { name: 'Cancel' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await dialog().getByRole('alert').getByText('Close without copying?').waitFor()
    await copyable(page, 'Copy this invitation link').waitFor()
    const download = page.waitForEvent('download')
    await dialog().getByRole('button', { name: 'Download .txt' }).click()
    expect((await download).suggestedFilename()).toBe('link.txt')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Top up: Guided Travel' }).waitFor()
    await dialog()
      .getByRole('textbox', { name: /Amount/ })
      .fill('500')
    await dialog().getByRole('textbox', { name: 'Payment reference' }).fill('first payment')
    await dialog().getByRole('button', { name: 'Top up' }).click()
    await dialog().waitFor({ state: 'hidden' })
    await page.unroute('**/api/setup')
    await navigate(testbed, page, '/tenants')
    await heading(page, 'Dealers').waitFor()
    await navigate(testbed, page, '/')
    await step('dealer').and(page.locator('[data-done=true]')).waitFor({ state: 'attached' })
  })

  it('a test order is signed with only the password, and its delivery is shown on the order page', async () => {
    const { testbed, page } = shared
    await act('testOrder')
    await dialog().getByText('Orders one SANDBOX_OK for Guided Travel').waitFor()
    await enterPassword(dialog())
    await dialog().getByRole('button', { name: 'Place order' }).click()
    await page.waitForURL(/orders\/[0-9A-Z]{26}$/)
    await page.locator('[data-step="STATUS"]').getByText('Order delivered').waitFor()
    await navigate(testbed, page, '/')
    await step('testOrder').and(page.locator('[data-done=true]')).waitFor({ state: 'attached' })
  })

  it('the go-live checks and the forms of the other steps open on the dashboard', async () => {
    const { page } = shared
    await act('goLive')
    await dialog().getByRole('button', { name: 'Run checks' }).click()
    await dialog().locator('[data-finding=OK]').first().waitFor()
    await dialog().getByRole('button', { name: 'Close' }).last().click()
    await dialog().waitFor({ state: 'hidden' })
    await act('secondFactor')
    await dialog().getByRole('heading', { name: 'Passkeys' }).waitFor()
    await dialog().getByRole('button', { name: 'Close' }).click()
    await act('webhook')
    await dialog().getByRole('textbox', { name: 'Callback URL' }).waitFor()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'hidden' })
    await heading(page, 'Home').waitFor()
  })

  it('the checklist no longer appears once it is dismissed', async () => {
    const { testbed, page } = shared
    await navigate(testbed, page, '/')
    await button(page, 'Hide this list').click()
    await step('goLive').waitFor({ state: 'hidden' })
    await page.reload()
    await heading(page, 'Home').waitFor()
    await loadingEnds(page)
    expect(await step('goLive').count()).toBe(0)
  })
}
