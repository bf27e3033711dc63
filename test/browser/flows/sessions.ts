import { expect, it } from 'vitest'
import { api, heading, newcomer, type Stage } from '../console-world.ts'

/** How sessions end, and what is left of them in the browser. */
export function sessionFlows(stage: Stage): void {
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
}
