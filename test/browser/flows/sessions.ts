import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { api, button, enter, field, go, heading, load, newcomer, PASSWORD, type Stage } from '../console-world.ts'

/** How sessions end, and what is left of them in the browser. */
export function sessionFlows(stage: Stage): void {
  it('signs out of any page at once, and says so where it cannot', async () => {
    const { world } = stage
    const person = { email: 'out@session.test', role: 'OPERATOR_STAFF' }
    const theirs = await newcomer(stage, person)
    await signOut(theirs)
    await heading(theirs, 'Sign in').waitFor()
    await enter(theirs, person.email, PASSWORD)
    await go(world, theirs, '/orders')
    await heading(theirs, 'Orders').waitFor()
    await theirs.route('**/api/session', (route) => route.abort())
    await signOut(theirs)
    await theirs.getByText('The gateway cannot be reached').waitFor()
    await theirs.unroute('**/api/session')
    await signOut(theirs)
    await heading(theirs, 'Sign in').waitFor()
    expect(theirs.url()).toBe(`${world.access.consoleUrl}/`)
    expect(await theirs.getByRole('navigation').count()).toBe(0)
    await theirs.context().close()
  })

  it('tells the gateway of its own refreshing once nobody has touched the page for a while', async () => {
    const page = await newcomer(stage, { email: 'away@session.test', role: 'OPERATOR_STAFF' })
    await page.clock.install()
    await page.reload()
    await heading(page, 'Dashboard').waitFor()
    const refreshed = async (after_ms = 61_000) => {
      await page.locator('main[aria-busy=false]').waitFor()
      const next = page.waitForRequest((request) => request.url().includes('/api/dashboard'))
      await page.clock.fastForward(after_ms)
      return (await next).headers()['x-unattended']
    }
    await page.mouse.click(5, 5)
    expect(await refreshed()).toBeUndefined()
    expect(await refreshed(5 * 60_000)).toBe('true')
    await page.mouse.click(5, 5)
    expect(await refreshed()).toBeUndefined()
    await page.context().close()
  })

  it('opens the second of two links that are followed in one tab', async () => {
    const { world } = stage
    const [first, second] = [await invite('one@link.test'), await invite('two@link.test')]
    const page = await world.open(first)
    await page.getByText('one@link.test').waitFor()
    await load(world, page, second)
    await page.getByText('two@link.test').waitFor()
    await field(page, 'New password').fill(PASSWORD)
    await button(page, 'Set password').click()
    await enter(page, 'two@link.test', PASSWORD)
    await heading(page, 'Dashboard').waitFor()
    await page.context().close()
  })

  /** @returns where the link leads, below the console. */
  async function invite(email: string): Promise<string> {
    const { world, page } = stage
    const invitation = { name: 'New Comer', tenantId: null, role: 'OPERATOR_STAFF', password: PASSWORD, email }
    const { link } = await api<{ link: string }>(world, page, '/people', invitation)
    stage.secrets.push(new URL(link).hash.slice(1))
    return link.slice(world.access.consoleUrl.length)
  }

  async function signOut(page: Page): Promise<void> {
    await button(page, 'Account').click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
  }
}
