import type { Locator } from 'playwright-core'
import { expect, it } from 'vitest'
import {
  api,
  button,
  copyable,
  enterPassword,
  field,
  heading,
  navigate,
  OPERATOR,
  type SharedState,
} from '../console-testbed.ts'

/** A name that would run as a script if it were not escaped. */
const DEALER_NAME = 'Flow <img src=x onerror=alert(1)> Travel'

const ENDS_NOW = 'Stops working immediately'
const ROTATION = 'Works for 24 more hours'

export function credentialFlows(shared: SharedState): void {
  it('two clicks in one frame create one dealer', async () => {
    const { testbed, page } = shared
    await navigate(testbed, page, '/tenants')
    await button(page, 'New dealer').first().click()
    await page.getByRole('dialog').getByLabel('Name').fill('Clicked twice')
    await clickTwice(button(page, 'Create dealer'))
    await page.getByRole('dialog').getByText('Copy the AppSecret now').waitFor()
    shared.secrets.push(await copyable(page, 'AppSecret').innerText())
    await button(page, 'I have copied it').click()
    await page.getByRole('dialog', { name: 'Invite' }).getByRole('button', { name: 'Cancel' }).click()
    await heading(page, 'Clicked twice').waitFor()
    const found = await api<{ tenants: object[] }>(testbed, page, '/tenants?q=Clicked')
    expect(found.tenants).toHaveLength(1)
  })

  /** As with a worn mouse: the second click comes before the page can show that it accepted the first. */
  async function clickTwice(submit: Locator): Promise<void> {
    await submit.evaluate((element: HTMLElement) => {
      element.click()
      element.click()
    })
  }

  it('a new dealer’s secret is shown once, works, and can be reset with or without a grace period', async () => {
    const { testbed, page, dealer } = shared
    await navigate(testbed, page, '/tenants')
    await button(page, 'New dealer').first().click()
    await page.getByRole('dialog').getByLabel('Name').fill(DEALER_NAME)
    await button(page, 'Create dealer').click()
    await page.getByRole('dialog').getByText('Copy the AppSecret now').waitFor()
    dealer.appKey = await copyable(page, 'AppKey').innerText()
    const first = await copyable(page, 'AppSecret').innerText()
    await button(page, 'I have copied it').click()
    // Invitation and first payment are the next steps, and can wait.
    await page.getByRole('dialog', { name: 'Invite' }).getByRole('button', { name: 'Cancel' }).click()
    await heading(page, DEALER_NAME).waitFor()
    dealer.tenantId = /tenants\/([0-9a-f-]+)/.exec(page.url())?.[1] ?? ''
    expect(await page.content()).not.toContain(first)

    const health = (appSecret: string) =>
      testbed
        .client({ appKey: dealer.appKey, appSecret })
        .health()
        .then((answer) => answer.status)
        .catch((error: { code: string }) => error.code)
    expect(await health(first)).toBe('UP')
    const second = await resetSecret()
    expect([await health(first), await health(second)]).toEqual(['UP', 'UP'])
    const third = await resetSecret(ENDS_NOW)
    expect([await health(first), await health(second), await health(third)]).toEqual(['101003', '101003', 'UP'])
    dealer.appSecret = third
    shared.secrets.push(first, second, third)
  })

  /** Without an argument, keeps the preselected option: a rotation with a grace period. */
  async function resetSecret(grace?: string): Promise<string> {
    const { page } = shared
    await page.getByRole('link', { name: 'API credentials' }).click()
    await button(page, 'Reset').click()
    const dialog = page.getByRole('dialog')
    const choice = dialog.getByRole('combobox', { name: 'Old secret' })
    expect(await choice.inputValue()).toBe(ROTATION)
    await dialog.getByText('Both secrets work until then').waitFor()
    expect(await dialog.getByRole('alert').count()).toBe(0)
    if (grace !== undefined) {
      await choice.click()
      await page.getByRole('option', { name: grace }).click()
      await dialog.getByRole('alert').getByText('calls fail until it uses the new one').waitFor()
    }
    await enterPassword(dialog)
    await dialog.getByRole('button', { name: 'Reset' }).click()
    await dialog.getByText('Copy the AppSecret now').waitFor()
    const secret = await dialog.locator('[data-value="AppSecret"]').innerText()
    await button(page, 'I have copied it').click()
    await dialog.waitFor({ state: 'hidden' })
    return secret
  }

  it('a secret is shown again only after the password is entered, and the view is audited', async () => {
    const { testbed, page, dealer } = shared
    // Leaving the page ends the confirmation of the last five minutes.
    await page.reload()
    expect(await copyable(page, 'AppSecret').innerText()).toMatch(/^•+$/)
    await button(page, 'View').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Your password' }).fill('not the password')
    await dialog.getByRole('button', { name: 'View' }).click()
    await dialog.getByText('The password is wrong').waitFor()
    await enterPassword(dialog)
    await dialog.getByRole('button', { name: 'View' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await expect.poll(() => copyable(page, 'AppSecret').innerText()).toBe(dealer.appSecret)
    const stored = await page.evaluate('JSON.stringify([localStorage, sessionStorage, location.href, document.cookie])')
    expect(stored).not.toContain(dealer.appSecret)
    await navigate(testbed, page, '/audit?action=tenant.view_secret')
    await page.getByRole('table', { name: 'Audit log' }).locator('[data-row]').first().waitFor()
    await expect.poll(() => page.locator('[data-row]').count()).toBe(1)
    expect(await page.locator('[data-row]').innerText()).toContain(OPERATOR)
    expect(await page.content()).not.toContain(dealer.appSecret)
  })

  it('allowlist and QPS limit changes apply to the next request', async () => {
    const { testbed, page, dealer } = shared
    const client = testbed.client(dealer)
    const code = () =>
      client.balance().then(
        () => '000000',
        (error: { code: string }) => error.code,
      )
    await navigate(testbed, page, `/tenants/${dealer.tenantId}/settings`)
    await save('IP allowlist', '203.0.113.7')
    expect(await code()).toBe('101002')
    // Not offered to operators: the dealer does not call from their address.
    expect(await button(page, /Add my address/).count()).toBe(0)
    await save('IP allowlist', '203.0.113.7 127.0.0.1')
    expect(await code()).toBe('000000')
    await save('Requests per second', '1')
    const codes = await Promise.all(Array.from({ length: 20 }, code))
    expect(codes).toContain('101007')
    await save('Requests per second', '')
  })

  async function save(label: string, value: string): Promise<void> {
    await field(shared.page, label).fill(value)
    await saved(() => button(shared.page, 'Save').first().click())
  }

  async function saved(act: () => Promise<void>): Promise<void> {
    const { page } = shared
    const answer = page.waitForResponse((response) => response.url().endsWith('/settings'))
    // The form is reset to the saved values once they are reloaded.
    const refreshed = page.waitForResponse((response) => response.url().endsWith(`/tenants/${shared.dealer.tenantId}`))
    await act()
    expect((await answer).status()).toBe(200)
    await (await refreshed).finished()
  }
}
