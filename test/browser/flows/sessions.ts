import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import {
  api,
  button,
  field,
  heading,
  inviteAndSignIn,
  loadPage,
  navigate,
  PASSWORD,
  type SharedState,
  signIn,
} from '../console-testbed.ts'

/** How sessions end, and what they leave in the browser. */
export function sessionFlows(shared: SharedState): void {
  it('signing out works from any page, and a failed sign-out is shown', async () => {
    const { testbed } = shared
    const person = { email: 'out@session.test', role: 'OPERATOR_STAFF' }
    const theirPage = await inviteAndSignIn(shared, person)
    await signOut(theirPage)
    await heading(theirPage, 'Sign in').waitFor()
    await signIn(theirPage, person.email, PASSWORD)
    await navigate(testbed, theirPage, '/orders')
    await heading(theirPage, 'Orders').waitFor()
    await theirPage.route('**/api/session', (route) => route.abort())
    await signOut(theirPage)
    await theirPage.getByText('Could not reach the gateway').waitFor()
    await theirPage.unroute('**/api/session')
    await signOut(theirPage)
    await heading(theirPage, 'Sign in').waitFor()
    await expect.poll(() => theirPage.url()).toBe(`${testbed.access.consoleUrl}/`)
    await theirPage.getByRole('navigation').first().waitFor({ state: 'detached' })
    await theirPage.context().close()
  })

  it('secrets are forgotten when the session ends, and all other data when another person signs in', async () => {
    const { testbed } = shared
    const next = { email: 'next@session.test', role: 'OPERATOR_READ_ONLY' }
    await (await inviteAndSignIn(shared, next)).context().close()
    const first = { email: 'first@session.test', role: 'OPERATOR_ADMIN' }
    const page = await inviteAndSignIn(shared, first)
    const { tenants } = await api<{ tenants: { tenantId: string }[] }>(testbed, page, '/tenants?q=Demo')
    const explorer = `/explorer?tenantId=${tenants[0]?.tenantId}`
    await page.evaluate('globalThis.seenByFirst = true')
    for (const [{ email }, path, title] of [
      [first, '/orders', 'Orders'],
      [next, '/tenants?q=none', 'Dealers'],
    ] as const) {
      await navigate(testbed, page, explorer)
      await field(page, 'AppSecret').fill('the secret of the first')
      await button(page, 'Save').click()
      await button(page, 'Forget AppSecret').waitFor()
      await endSession(page)
      await navigate(testbed, page, path)
      await heading(page, 'Sign in').waitFor()
      await signIn(page, email, PASSWORD)
      await heading(page, 'Sign in').waitFor({ state: 'hidden' })
      await heading(page, title).waitFor()
      await navigate(testbed, page, explorer)
      await field(page, 'AppSecret').waitFor()
      expect(await button(page, 'Forget AppSecret').count()).toBe(0)
      expect(await page.evaluate('globalThis.seenByFirst === true')).toBe(email === first.email)
    }
    await page.context().close()
  })

  it('a half-filled form survives the end of the session and a new sign-in', async () => {
    const { testbed } = shared
    const person = { email: 'form@session.test', role: 'OPERATOR_STAFF' }
    const page = await inviteAndSignIn(shared, person)
    await navigate(testbed, page, '/account')
    await field(page, 'Name').fill('Typed Before')
    // A call that is still running would end the session on the page before the click.
    await page.locator('main[aria-busy=false]').waitFor()
    await endSession(page)
    // Not by pointer: a background call may already have noticed the end of the session and covered the page.
    await button(page, 'Save').first().dispatchEvent('click')
    await heading(page, 'Sign in').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    // Shortcuts to other pages do not reach the page below.
    await button(page, 'Forgot password?').focus()
    for (const key of ['g', 'o']) await page.keyboard.press(key)
    expect(page.url()).toContain('/account')
    await signIn(page, person.email, PASSWORD)
    await heading(page, 'Sign in').waitFor({ state: 'hidden' })
    expect(await field(page, 'Name').inputValue()).toBe('Typed Before')
    await button(page, 'Save').first().click()
    await expect.poll(async () => (await api<{ name: string }>(testbed, page, '/session')).name).toBe('Typed Before')
    await page.context().close()
  })

  it('changing the password offers to delete access tokens, and reports what was ended', async () => {
    const { testbed } = shared
    const page = await inviteAndSignIn(shared, { email: 'tokens@session.test', role: 'OPERATOR_STAFF' })
    await api(testbed, page, '/account/tokens', { name: 'script', scope: 'READ', days: 1, password: PASSWORD })
    await navigate(testbed, page, '/account')
    await button(page, 'Change password').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/^Your password/).fill(PASSWORD)
    await dialog.getByLabel(/^New password/).fill(`${PASSWORD} 2`)
    await dialog.getByRole('checkbox', { name: 'Delete my access token too' }).check()
    await dialog.getByRole('button', { name: 'Set password' }).click()
    await page.getByText('Ended: 0 other sessions and 1 access token.').waitFor()
    await page.getByText('No access tokens').waitFor()
    await page.context().close()
  })

  it('automatic refreshes are marked as unattended once the page has been inactive for a while', async () => {
    const page = await inviteAndSignIn(shared, { email: 'away@session.test', role: 'OPERATOR_STAFF' })
    await page.clock.install()
    await page.reload()
    await heading(page, 'Home').waitFor()
    const refreshed = async (after_ms = 61_000) => {
      await page.locator('main[aria-busy=false]').waitFor()
      const next = page.waitForRequest((request) => request.url().includes('/api/dashboard'))
      await page.clock.fastForward(after_ms)
      // A timer that was set only after the clock had jumped needs another minute.
      const late = setTimeout(() => void page.clock.fastForward(61_000), 5_000)
      const request = await next
      clearTimeout(late)
      return request.headers()['x-unattended']
    }
    await page.mouse.click(5, 5)
    expect(await refreshed()).toBeUndefined()
    expect(await refreshed(5 * 60_000)).toBe('true')
    await page.mouse.click(5, 5)
    expect(await refreshed()).toBeUndefined()
    await page.context().close()
  })

  it('after two links are followed in one tab, the second link opens', async () => {
    const { testbed } = shared
    const [first, second] = [await invite('one@link.test'), await invite('two@link.test')]
    const page = await testbed.open(first)
    await page.getByText('one@link.test').waitFor()
    await loadPage(testbed, page, second)
    await page.getByText('two@link.test').waitFor()
    await field(page, 'New password').fill(PASSWORD)
    await button(page, 'Set password').click()
    await heading(page, 'Home').waitFor()
    await page.context().close()
  })

  /** Returns the link's path within the console. */
  async function invite(email: string): Promise<string> {
    const { testbed, page } = shared
    const invitation = { name: 'New Comer', tenantId: null, role: 'OPERATOR_STAFF', password: PASSWORD, email }
    const { link } = await api<{ link: string }>(testbed, page, '/people', invitation)
    shared.secrets.push(new URL(link).hash.slice(1))
    return link.slice(testbed.access.consoleUrl.length)
  }

  async function signOut(page: Page): Promise<void> {
    await button(page, 'Account').click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
  }

  /** Ends the session without the page knowing, as an idle timeout or another window does. */
  async function endSession(page: Page): Promise<void> {
    const url = `${shared.testbed.access.consoleUrl}/api/session`
    const answer = await page.request.delete(url, { headers: { origin: new URL(url).origin } })
    expect(answer.status()).toBe(200)
  }
}
