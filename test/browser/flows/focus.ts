import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { button, type ConsoleTestbed, enterPassword, loadPage } from '../console-testbed.ts'
import { transitionsEnd } from '../console-tour.ts'

interface FocusState {
  testbed: ConsoleTestbed
  operator: Page
  dealer: Page
  tenantId: string
}

/** After each kind of dialog, the focus is where the person continues, never on the page as a whole. */
export function focusFlows(shared: () => FocusState): void {
  const focused = (page: Page) =>
    page.evaluate<string>(
      `document.activeElement === document.body ? 'body' : document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent`,
    )
  /** The focus reaches the element, and is still there when everything that closes has faded out. */
  const expectFocus = async (page: Page, expected: unknown) => {
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => focused(page)).toEqual(expected)
    await page.getByRole('menu').waitFor({ state: 'detached' })
    await transitionsEnd(page)
    expect(await focused(page)).toEqual(expected)
  }
  const openMenu = async (page: Page) => {
    const actions = page.getByRole('button', { name: /^Actions: / }).last()
    await actions.click()
    return { name: await actions.getAttribute('aria-label'), item: page.getByRole('menuitem', { name: 'Change role' }) }
  }

  it('the focus returns to the button that opened a dialog, or that opened the dialog’s menu', async () => {
    const { testbed, operator, tenantId } = shared()
    await loadPage(testbed, operator, `/tenants/${tenantId}/people`)
    await button(operator, 'Invite').first().click()
    await operator.getByRole('dialog').waitFor()
    await operator.keyboard.press('Escape')
    await expectFocus(operator, 'Invite')
    const { name, item } = await openMenu(operator)
    await item.click()
    await operator.getByRole('dialog').waitFor()
    await operator.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await expectFocus(operator, name)
  })

  it('the focus returns to a menu’s button even if the menu fades out more slowly than its dialog closes', async () => {
    const { testbed, operator, tenantId } = shared()
    await loadPage(testbed, operator, `/tenants/${tenantId}/people`)
    const { name, item } = await openMenu(operator)
    await item.waitFor()
    await transitionsEnd(operator)
    // The menu begins to fade out with a frame.
    await operator.evaluate(`held = []
      shownFrame = requestAnimationFrame
      requestAnimationFrame = (draw) => held.push(draw)`)
    await item.click()
    await operator.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await operator.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await operator.getByRole('menu').count()).toBe(1)
    await expect.poll(() => focused(operator)).toBe(name)
    await operator.evaluate(`requestAnimationFrame = shownFrame
      held.forEach((draw) => requestAnimationFrame(draw))`)
    await expectFocus(operator, name)
  })

  it('the focus returns when the finder or the list of keyboard shortcuts closes', async () => {
    const { operator } = shared()
    await button(operator, 'Invite').first().focus()
    for (const key of ['Control+k', '?']) {
      await operator.keyboard.press(key)
      await operator.getByRole('dialog').waitFor()
      await operator.keyboard.press('Escape')
      await expectFocus(operator, 'Invite')
    }
  })

  it('the focus stays in the guide when an inner dialog closes, and Escape closes the guide', async () => {
    const { testbed, operator } = shared()
    await loadPage(testbed, operator, '/')
    await operator.locator('[data-setup=secondFactor]').getByRole('button').click()
    const guide = operator.getByRole('dialog', { name: 'Protect your account' })
    await guide.getByRole('button', { name: 'Set up' }).click()
    await operator.getByRole('dialog', { name: 'Authenticator app' }).waitFor()
    await operator.keyboard.press('Escape')
    await operator.getByRole('dialog', { name: 'Authenticator app' }).waitFor({ state: 'detached' })
    await guide.waitFor()
    await expect.poll(() => focused(operator)).toBe('Set up')
    expect(await operator.evaluate(`document.activeElement.closest('[role=dialog]') !== null`)).toBe(true)
    await operator.keyboard.press('Escape')
    await expectFocus(operator, 'Set up')
    await operator.locator('[data-setup=secondFactor]').getByRole('button').click()
    await guide.getByRole('button', { name: 'Done' }).click()
    await expectFocus(operator, expect.not.stringMatching(/^body$/))
  })

  it('the focus is on the result after a purchase', async () => {
    const { testbed, dealer } = shared()
    await loadPage(testbed, dealer, '/buy')
    await dealer.locator('[data-place=JP]').click()
    await dealer.locator('[data-offer=JP_1_7]').click()
    await button(dealer, /^Buy 1 eSIM for/).click()
    await dealer.getByText('1 of 1 eSIM delivered').waitFor({ timeout: 60_000 })
    await expectFocus(dealer, expect.stringContaining('1 of 1 eSIM delivered'))
  })

  it('the focus moves to the page after a dialog whose opener no longer exists', async () => {
    const { testbed, operator } = shared()
    await loadPage(testbed, operator, '/account')
    await button(operator, 'Create token').click()
    const dialog = operator.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Token name' }).fill('For the focus')
    await enterPassword(dialog)
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await button(operator, 'I have copied it').click()
    await expectFocus(operator, expect.not.stringMatching(/^body$/))
  })
}
