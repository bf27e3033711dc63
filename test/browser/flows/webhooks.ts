import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { api, button, field, go, type Stage } from '../console-world.ts'

export function webhookFlows(stage: Stage): void {
  it('sets an endpoint that answers, and replays what was recorded before, with progress', async () => {
    const { world, page, dealer } = stage
    const receiver = await startReceiver()
    await go(world, page, `/webhooks?tenantId=${dealer.tenantId}`)
    await field(page, 'Callback URL').fill(`http://127.0.0.1:9/closed`)
    await button(page, 'Check and save').click()
    await page.getByRole('alert').first().waitFor()
    await field(page, 'Callback URL').fill(receiver.url)
    await button(page, 'Check and save').click()
    await page.getByText('Events are sent here.').waitFor()
    await button(page, 'Replay a range').click()
    await button(page, 'Replay').click()
    const replay = page.locator('[data-replay="DONE"]')
    await replay.waitFor()
    const [, done, all] = /(\d+) of (\d+)/.exec(await replay.innerText()) ?? []
    expect(Number(done)).toBeGreaterThan(0)
    expect(done).toBe(all)
    const unsent = `/events?tenantId=${dealer.tenantId}&state=UNSENT`
    expect((await api<{ events: unknown[] }>(world, page, unsent)).events).toEqual([])
    await expect
      .poll(() => new Set(receiver.types))
      .toEqual(new Set(['CHECK_HEALTH', 'ORDER_PAID', 'DELIVERY_UPDATED']))
    await page.reload()
    await page.getByRole('table', { name: 'Events' }).getByRole('link').first().click()
    await page.getByText('acknowledged').first().waitFor()
    const before = receiver.types.length
    await button(page, 'Send again').click()
    await expect.poll(() => receiver.types.length).toBeGreaterThan(before)
    receiver.server.close()
  })
}

async function startReceiver(): Promise<{ url: string; types: string[]; server: Server }> {
  const types: string[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      types.push((JSON.parse(Buffer.concat(parts).toString()) as { notifyType: string }).notifyType)
      response.end('thank you')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`, types, server }
}
