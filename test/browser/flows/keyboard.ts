import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { button, heading, loadPage, navigate, type SharedState } from '../console-testbed.ts'
import { loadingEnds } from '../console-tour.ts'

export function keyboardFlows(shared: SharedState): void {
  it('a URL with a malformed id shows that the page was not found', async () => {
    const { testbed, page, dealer } = shared
    for (const path of ['/tenants/abc/wallet', '/tenants/abc', `/tenants/${dealer.tenantId}/orders/1`]) {
      await loadPage(testbed, page, path)
      await heading(page, 'Page not found').waitFor()
      expect(await page.getByRole('alert').count()).toBe(0)
    }
    await loadPage(testbed, page, `/tenants/${randomUUID()}`)
    await page.getByRole('alert').getByText('There is no such tenant').waitFor()
    expect(await button(page, 'Try again').count()).toBe(0)
  })

  it('the navigation is grouped by task, and each entry shows its pages as tabs', async () => {
    const { testbed, page } = shared
    await navigate(testbed, page, '/')
    const navigation = page.getByRole('navigation', { name: 'Main navigation' })
    await expect
      .poll(() => navigation.getByRole('link').allInnerTexts())
      .toEqual(['Home', 'Orders', 'eSIMs', 'Dealers', 'Products', 'Suppliers', 'Money', 'Developers', 'Settings'])
    await navigation.getByRole('link', { name: 'Products' }).click()
    await heading(page, 'Catalogue').waitFor()
    const tabs = page.getByRole('navigation', { name: 'Pages of this section' })
    await expect
      .poll(() => tabs.getByRole('link').allInnerTexts())
      .toEqual(['Catalogue', 'Prices', 'Sale rules', 'Stock', 'Supplier products'])
    await tabs.getByRole('link', { name: 'Prices' }).click()
    await heading(page, 'Prices').waitFor()
    await expect.poll(() => navigation.locator('a[data-active]').allInnerTexts()).toEqual(['Products'])
    await page.getByRole('link', { name: /^Alerts/ }).click()
    await heading(page, 'Alerts').waitFor()
  })

  it('the whole navigation fits into a window 480 pixels high', async () => {
    const { testbed, page } = shared
    const { width, height } = page.viewportSize()!
    onTestFinished(() => page.setViewportSize({ width, height }))
    await page.setViewportSize({ width, height: 480 })
    await navigate(testbed, page, '/')
    await heading(page, 'Home').waitFor()
    await expect.poll(() => page.evaluate(NAVIGATION_CUT_OFF)).toBe(0)
  })

  it('the skip link jumps to the content, and the focus is visible', async () => {
    const { testbed, page } = shared
    await navigate(testbed, page, '/tenants')
    await heading(page, 'Dealers').waitFor()
    await page.getByRole('link', { name: 'Skip to content' }).focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(`document.getElementById('main').contains(document.activeElement)`)).toBe(true)
    const row = page.getByRole('table', { name: 'Dealers' }).getByRole('link').first()
    for (const target of [page.getByRole('link', { name: 'Suppliers' }), button(page, 'Account'), row]) {
      await target.focus()
      await page.keyboard.press('Shift+Tab')
      await page.keyboard.press('Tab')
      expect([await focused(page), await page.evaluate(OUTLINE)]).toEqual([expect.any(String), 'solid'])
    }
  })

  it('a dialog focuses its first field, keeps the focus, and returns it on Escape', async () => {
    const { testbed, page } = shared
    await navigate(testbed, page, '/tenants')
    await heading(page, 'Dealers').waitFor()
    await loadingEnds(page)
    await opensAndReturns(page, 'New dealer', async (dialog) => {
      await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('clientName')
      for (let times = 0; times < 8; times++) {
        await page.keyboard.press('Tab')
        expect(await dialog.evaluate((node) => node.contains(node.ownerDocument.activeElement))).toBe(true)
      }
    })
    await opensAndReturns(page, 'Search: Find an order, a dealer, “refund”', async () => {
      await expect.poll(() => focused(page)).toBe('Search')
    })
    await navigate(testbed, page, '/audit')
    await heading(page, 'Audit log').waitFor()
    await page.locator('[data-row] button').first().focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await expect.poll(() => page.evaluate(`document.activeElement.closest('[data-row]') !== null`)).toBe(true)
  })

  it('a menu works with the arrow keys, and returns the focus on Escape', async () => {
    const { testbed, page } = shared
    await navigate(testbed, page, '/people')
    await heading(page, 'People').waitFor()
    await loadingEnds(page)
    await button(page, 'Account').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem').first().waitFor()
    // The menu handles keys only after its opening transition.
    const afterArrow = async () => {
      await page.keyboard.press('ArrowDown')
      return page.evaluate(`document.activeElement.getAttribute('role')`)
    }
    await expect.poll(afterArrow).toBe('menuitem')
    await page.keyboard.press('Escape')
    await page.getByRole('menuitem').first().waitFor({ state: 'hidden' })
    await expect.poll(() => focused(page)).toBe('Account')
  })
}

async function opensAndReturns(
  page: Page,
  name: string,
  within: (dialog: ReturnType<Page['getByRole']>) => Promise<void>,
) {
  const dialog = page.getByRole('dialog')
  await button(page, name).focus()
  await page.keyboard.press('Enter')
  await dialog.waitFor()
  await within(dialog)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  await expect.poll(() => focused(page)).toBe(name)
}

/** The accessible name of the focused element. */
async function focused(page: Page): Promise<string> {
  return (await page.evaluate(
    `document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.slice(0, 99).trim()`,
  )) as string
}

const NAVIGATION_CUT_OFF = `(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector('.navigation'))`
const OUTLINE = `getComputedStyle(document.activeElement).outlineStyle`
