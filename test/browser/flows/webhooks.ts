import { startReceiver } from '@dealer-esim/gateway/test/webhooks/receiver.ts'
import { expect, it } from 'vitest'
import { api, button, field, loadPage, navigate, type SharedState } from '../console-testbed.ts'

export function webhookFlows(shared: SharedState): void {
  it('an endpoint that answers is saved, and earlier events are replayed with progress', async () => {
    const { testbed, page, dealer } = shared
    const receiver = await startReceiver()
    await navigate(testbed, page, `/webhooks/endpoint?tenantId=${dealer.tenantId}`)
    await field(page, 'Callback URL').fill(`http://127.0.0.1:9/closed`)
    await button(page, 'Check and save').click()
    await page.getByRole('alert').first().waitFor()
    await field(page, 'Callback URL').fill(receiver.url)
    await button(page, 'Check and save').click()
    await page.getByText('Events are sent here.').waitFor()
    await keepsInputDuringTest()
    await button(page, 'Replay events').click()
    await button(page, 'Replay').click()
    const replay = page.locator('[data-replay="DONE"]')
    await replay.waitFor()
    const [, done, all] = /(\d+) of (\d+)/.exec(await replay.innerText()) ?? []
    expect(Number(done)).toBeGreaterThan(0)
    expect(done).toBe(all)
    const unsent = `/events?tenantId=${dealer.tenantId}&state=UNSENT`
    const { events } = await api<{ events: { notifyType: string }[] }>(testbed, page, unsent)
    // The endpoint is not subscribed to events of other types.
    expect(events.filter(({ notifyType }) => ['ORDER_PAID', 'DELIVERY_UPDATED'].includes(notifyType))).toEqual([])
    await expect
      .poll(() => new Set(receiver.received.map(({ notifyType }) => notifyType)))
      .toEqual(new Set(['CHECK_HEALTH', 'ORDER_PAID', 'DELIVERY_UPDATED']))
    await loadPage(testbed, page, `/webhooks?tenantId=${dealer.tenantId}`)
    // Newer events may be of other types.
    const sent = page
      .getByRole('table', { name: 'Events' })
      .getByRole('link', { name: /^(Order paid|Delivery updated)$/ })
    await sent.first().click()
    await page.getByText('acknowledged').first().waitFor()
    const before = receiver.received.length
    await button(page, 'Send again').click()
    await expect.poll(() => receiver.received.length).toBeGreaterThan(before)
    await receiver.close()
  })

  async function keepsInputDuringTest(): Promise<void> {
    const { page } = shared
    const type = page.getByRole('checkbox', { name: 'Order paid' })
    await type.uncheck()
    const refreshed = page.waitForResponse((r) => r.url().endsWith('/endpoint') && r.request().method() === 'GET')
    await button(page, 'Send test').click()
    await (await refreshed).finished()
    await expect.poll(() => button(page, 'Send test').isEnabled()).toBe(true)
    expect(await type.isChecked()).toBe(false)
    await type.check()
  }
}
