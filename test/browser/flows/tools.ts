import { randomUUID } from 'node:crypto'
import { signRequest } from '@dealer-esim/contract/node'
import { expect, it } from 'vitest'
import { button, field, loadPage, navigate, type SharedState } from '../console-testbed.ts'

export function toolFlows(shared: SharedState): void {
  it('the explorer sends a request that is signed in the browser', async () => {
    const { testbed, page, dealer } = shared
    await navigate(testbed, page, `/explorer?tenantId=${dealer.tenantId}`)
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.url() + JSON.stringify(request.headers()) + request.postData()))
    await field(page, 'AppSecret').fill(dealer.appSecret)
    await button(page, 'Save').click()
    await page.getByRole('combobox', { name: 'Operation' }).selectOption('account/balance')
    await button(page, 'Sign and send').click()
    await page.locator('[data-answer="200"]').waitFor()
    await page.getByText('"availableBalance"').waitFor()
    expect(sent.some((request) => request.includes('open-api/v1/account/balance'))).toBe(true)
    expect(sent.filter((request) => request.includes(dealer.appSecret))).toEqual([])
  })

  it('on a production gateway, the explorer asks before a request that debits a balance or ends an eSIM', async () => {
    const { testbed, page, dealer } = shared
    await page.route('**/console/api/session', async (route) => {
      const me = (await (await route.fetch()).json()) as object
      await route.fulfill({ json: { ...me, deployment: 'production' } })
    })
    await loadPage(testbed, page, `/explorer?tenantId=${dealer.tenantId}`)
    await field(page, 'AppSecret').fill(dealer.appSecret)
    await button(page, 'Save').click()
    const dialog = page.getByRole('dialog')
    for (const [operation, text] of [
      ['esim/topup', 'debits the balance'],
      ['esim/revoke', 'ends the service of an eSIM for good'],
    ] as const) {
      await page.getByRole('combobox', { name: 'Operation' }).selectOption(operation)
      await button(page, 'Sign and send').click()
      await dialog.getByText(text).waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'hidden' })
      expect(await page.locator('[data-answer]').count()).toBe(0)
    }
    await page.unroute('**/console/api/session')
    await loadPage(testbed, page, `/explorer?tenantId=${dealer.tenantId}`)
    await field(page, 'AppSecret').fill(dealer.appSecret)
    await button(page, 'Save').click()
  })

  it('the debugger explains what is wrong with a request', async () => {
    const { testbed, page, dealer } = shared
    await page.getByRole('link', { name: 'Signature debugger' }).click()
    const client = { appKey: dealer.appKey, secret: dealer.appSecret }
    await verdict(signed(client, '{}'), '{}', 'fine')
    await verdict(
      signed({ ...client, secret: 'another secret' }, '{}'),
      '{}',
      '101003',
      'signed with another AppSecret',
    )
    const body = '{"transactionId":"T-1"}'
    await verdict(signed(client, body), '{ "transactionId": "T-1" }', '101003', 'without spaces')
    const right = signed(client, body)
    const base64 = Buffer.from(right['X-Signature'] ?? '', 'hex').toString('base64')
    await verdict({ ...right, 'X-Signature': base64 }, body, '000102', '(Base64)')
    await verdict(signed({ ...client, secret: `${client.secret} ` }, body), body, '101003', '(a space)')
    await verdict(signed(client, '{}', Date.now() - 600_000), '{}', '101001', 'behind the gateway’s clock')
    const used = signed(client, '{}')
    const answer = await fetch(`${testbed.access.baseUrl}/open-api/v1/health`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...used },
      body: '{}',
    })
    expect(answer.status).toBe(200)
    await verdict(used, '{}', '101006', 'used before')
  })

  function signed(by: { appKey: string; secret: string }, body: string, time_ms = Date.now()): Record<string, string> {
    const parts = { timestamp: String(time_ms), requestId: randomUUID(), appKey: by.appKey }
    return {
      'RT-AccessCode': parts.appKey,
      'RT-RequestID': parts.requestId,
      'RT-Timestamp': parts.timestamp,
      'X-Signature': signRequest(by.secret, parts, body),
    }
  }

  async function verdict(headers: Record<string, string>, body: string, code: string, message = ''): Promise<void> {
    const { page } = shared
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    await field(page, 'Headers, one per line').fill(lines.join('\n'))
    await field(page, 'Body, exactly as sent').fill(body)
    await page.getByRole('combobox', { name: 'Operation' }).selectOption(body === '{}' ? 'health' : 'esim/query')
    await button(page, 'Find the problem').click()
    await page.locator(`[data-verdict="${code}"]`).waitFor()
    if (message) await page.locator('[data-check]').getByText(message).waitFor()
  }
}
