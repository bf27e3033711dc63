import { createHmac, randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { signRequest } from '@dealer-esim/contract/node'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../packages/gateway/test/harness/database.ts'
import { browserIsThere } from './chromium.ts'
import {
  button,
  type ConsoleWorld,
  copyable,
  enter,
  field,
  go,
  heading,
  OPERATOR,
  openWorld,
  PASSWORD,
} from './console-world.ts'

let world: ConsoleWorld
let database: TestDatabase
/** Where the first operator is signed in. */
let page: Page
/** Made by the first of the flows, used by those after it. */
const dealer = { tenantId: '', appKey: '', appSecret: '' }

describe.skipIf(!browserIsThere())('the console in a browser', () => {
  beforeAll(async () => {
    database = await createTestDatabase()
    world = await openWorld(database.url)
    page = await world.open()
  })
  afterAll(async () => {
    await world?.stop()
    await database?.drop()
  })

  it('lets the first operator in only after an own password is chosen', async () => {
    await enter(page, world.access.consoleUser, world.access.consolePassword)
    await heading(page, 'Choose a password').waitFor()
    await go(world, page, '/tenants')
    await heading(page, 'Choose a password').waitFor()
    await field(page, 'Present password').fill(world.access.consolePassword)
    await field(page, 'New password').fill(PASSWORD)
    await button(page, 'Set password').click()
    await heading(page, 'Dealers').waitFor()
    const again = await world.open()
    await enter(again, world.access.consoleUser, world.access.consolePassword)
    await again.getByRole('alert').getByText('wrong').waitFor()
    await again.context().close()
  })

  it('creates a dealer whose secret is shown once, works, and is reset with and without grace', async () => {
    await button(page, 'New dealer').first().click()
    await page.getByRole('dialog').getByLabel('Name').fill('Flow Travel')
    await button(page, 'Create dealer').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Copy the AppSecret now').waitFor()
    dealer.appKey = await copyable(page, 'AppKey').innerText()
    const first = await copyable(page, 'AppSecret').innerText()
    await button(page, 'I have copied it').click()
    await heading(page, 'Flow Travel').waitFor()
    dealer.tenantId = /tenants\/([0-9a-f-]+)/.exec(page.url())?.[1] ?? ''
    expect(await page.content()).not.toContain(first)

    const health = (appSecret: string) =>
      world
        .client({ appKey: dealer.appKey, appSecret })
        .health()
        .then((answer) => answer.status)
        .catch((error: { code: string }) => error.code)
    expect(await health(first)).toBe('UP')
    const second = await resetSecret('1 hour')
    expect([await health(first), await health(second)]).toEqual(['UP', 'UP'])
    const third = await resetSecret('no longer: it ends now')
    expect([await health(first), await health(second), await health(third)]).toEqual(['101003', '101003', 'UP'])
    dealer.appSecret = third
  })

  async function resetSecret(grace: string): Promise<string> {
    await page.getByRole('link', { name: 'API credentials' }).click()
    await button(page, 'Reset').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox', { name: 'The old one works for' }).click()
    await page.getByRole('option', { name: grace }).click()
    await dialog.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Reset' }).click()
    await dialog.getByText('Copy the AppSecret now').waitFor()
    const secret = await dialog.locator('[data-value="AppSecret"]').innerText()
    await button(page, 'I have copied it').click()
    await dialog.waitFor({ state: 'hidden' })
    return secret
  }

  it('shows a secret again only to who knows the password, and writes that down', async () => {
    expect(await copyable(page, 'AppSecret').innerText()).toMatch(/^•+$/)
    await button(page, 'View').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Your password' }).fill('not the password')
    await dialog.getByRole('button', { name: 'View' }).click()
    await dialog.getByText('The password is wrong').waitFor()
    await dialog.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'View' }).click()
    await dialog.waitFor({ state: 'hidden' })
    expect(await copyable(page, 'AppSecret').innerText()).toBe(dealer.appSecret)
    const stored = await page.evaluate('JSON.stringify([localStorage, sessionStorage, location.href, document.cookie])')
    expect(stored).not.toContain(dealer.appSecret)
    await go(world, page, '/audit?action=tenant.view_secret')
    await page.locator('[data-row]').first().waitFor()
    expect(await page.locator('[data-row]').count()).toBe(1)
    expect(await page.locator('[data-row]').innerText()).toContain(OPERATOR)
    expect(await page.content()).not.toContain(dealer.appSecret)
  })

  it('changes allowlist and QPS limit for the very next request', async () => {
    const client = world.client(dealer)
    const code = () =>
      client.balance().then(
        () => '000000',
        (error: { code: string }) => error.code,
      )
    await go(world, page, `/tenants/${dealer.tenantId}/settings`)
    await save('IP allowlist', '203.0.113.7')
    expect(await code()).toBe('101002')
    await field(page, 'IP allowlist').fill('203.0.113.7')
    await button(page, /Add my address/).click()
    await saved(() => button(page, 'Save').first().click())
    expect(await code()).toBe('000000')
    await save('Requests per second', '1')
    const codes = await Promise.all(Array.from({ length: 6 }, code))
    expect(codes).toContain('101007')
    await save('Requests per second', '')
  })

  async function save(label: string, value: string): Promise<void> {
    await field(page, label).fill(value)
    await saved(() => button(page, 'Save').first().click())
  }

  async function saved(act: () => Promise<void>): Promise<void> {
    const answer = page.waitForResponse((response) => response.url().endsWith('/settings'))
    await act()
    expect((await answer).status()).toBe(200)
    // The form is made anew from what was saved.
    await page.waitForLoadState('networkidle')
  }

  it('tops a wallet up, which account/balance says at once', async () => {
    await go(world, page, `/tenants/${dealer.tenantId}/wallet`)
    await button(page, 'Top up').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: /Amount/ }).fill('1250.50')
    await dialog.getByRole('textbox', { name: 'Reference of the payment' }).fill('bank 4711')
    await dialog.getByRole('button', { name: 'Top up' }).click()
    await page.locator('[data-balance="12505000"]').waitFor()
    expect((await world.client(dealer).balance()).balance).toBe(12_505_000)
    await page.locator('[data-row="1"]').getByText('bank 4711').waitFor()
  })

  it('follows an order through its timeline, from the debit to the eSIM', async () => {
    const transactionId = `browser-${Date.now()}`
    const packages = await world.client(dealer).packages({ pageSize: 1 })
    const packageCode = packages.packageList[0]!.packageCode
    await world.client(dealer).order({ transactionId, packageInfoList: [{ packageCode, count: 2 }] })
    await go(world, page, `/orders?q=${transactionId}`)
    await page.getByRole('link', { name: transactionId }).click()
    await heading(page, transactionId).waitFor()
    await page.locator('h1 ~ * [data-status="DELIVERED"], [data-status="DELIVERED"]').first().waitFor()
    await page.locator('[data-step="STATUS"]').getByText('Order is delivered').waitFor()
    const kinds = await page
      .locator('[data-step]')
      .evaluateAll((all) => all.map((one) => one.getAttribute('data-step')))
    expect(new Set(kinds)).toEqual(new Set(['STATUS', 'DEBIT', 'EVENT', 'ATTEMPT']))
    await page.getByRole('table', { name: 'eSIMs delivered' }).getByRole('link').first().click()
    expect(await page.content()).not.toContain('LPA:1$')
    await button(page, 'Show codes and QR').click()
    await page.getByRole('img', { name: 'QR code that installs this eSIM' }).waitFor()
    expect(await copyable(page, 'Activation code').innerText()).toMatch(/^LPA:1\$/)
    await go(world, page, '/audit?action=profile.view_codes')
    await page.locator('[data-row]').first().waitFor()
  })

  it('previews an import, names the rows that are wrong, and imports nothing of them', async () => {
    const csv = await page.request.get(`${world.access.consoleUrl}/api/packages.csv?locationCode=AT`)
    const [head = '', ...rows] = (await csv.text()).trimEnd().split(/\r?\n/)
    const nameAt = head.replace('\uFEFF', '').split(',').indexOf('duration')
    expect(nameAt).toBeGreaterThan(-1)
    await go(world, page, '/catalogue/import')
    const wrong = [head, ...rows.slice(0, 2), `${rows[2]?.replace(/,(DAY),/, ',CENTURY,')}`].join('\n')
    await choose(wrong)
    await page.locator('[data-sum="Errors"]').getByText('1').waitFor()
    await page.getByRole('table', { name: 'Errors' }).getByRole('cell', { name: '4', exact: true }).waitFor()
    expect(await button(page, 'Import').isDisabled()).toBe(true)
    const renamed = [head, rows[0]?.replace('Austria', 'Austria renamed')].join('\n')
    await choose(renamed)
    await page.locator('[data-sum="Changed"]').getByText('1').waitFor()
    await button(page, 'Import').click()
    await page.getByText('Imported: 0 new, 1 changed.').waitFor()
    await go(world, page, '/catalogue?keyword=renamed')
    await page.locator('[data-row]').getByText('Austria renamed').waitFor()
  })

  async function choose(csv: string): Promise<void> {
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'packages.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
    await button(page, 'Show what would change').click()
  }

  it('sets an endpoint that answers, and replays what was recorded before, with progress', async () => {
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
    await page.locator('[data-replay="DONE"]').waitFor()
    const unsent = await page.request.get(
      `${world.access.consoleUrl}/api/events?tenantId=${dealer.tenantId}&state=UNSENT`,
    )
    expect((await unsent.json()).events).toEqual([])
    await expect
      .poll(() => new Set(receiver.types))
      .toEqual(new Set(['CHECK_HEALTH', 'ORDER_PAID', 'DELIVERY_UPDATED']))
    await page.reload()
    await page.getByRole('table', { name: 'Events' }).getByRole('link').first().click()
    await page.getByText('acknowledged').first().waitFor()
    receiver.server.close()
  })

  it('invites a person, who sets up a second factor that sign-ins then ask for', async () => {
    const email = 'second@factor.test'
    const other = await invited('/people', email)
    await go(world, other, '/account')
    await button(other, 'Set up').click()
    const dialog = other.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Set up' }).click()
    const secret = await dialog.locator('code').first().innerText()
    await dialog.getByRole('textbox', { name: 'Code' }).fill(codeOf(secret))
    await button(other, 'Turn on').click()
    await dialog.getByText('Recovery codes').first().waitFor()
    const recovery = await dialog.locator('code').first().innerText()
    await button(other, 'I have kept them').click()
    await other.context().close()

    const back = await world.open()
    await enter(back, email, PASSWORD)
    await field(back, 'Code').fill(codeOf(secret))
    await button(back, 'Sign in').click()
    await back.getByRole('alert').getByText('used before').waitFor()
    await field(back, 'Code').fill(recovery)
    await button(back, 'Sign in').click()
    await heading(back, 'Dashboard').waitFor()
    await back.context().close()
  })

  /** Invites somebody on a page with people, follows the link, and signs in. */
  async function invited(path: string, email: string): Promise<Page> {
    await go(world, page, path)
    await button(page, 'Invite').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Invited Person')
    await dialog.getByRole('textbox', { name: 'E-mail address' }).fill(email)
    await dialog.getByRole('button', { name: 'Invite' }).click()
    const link = await dialog.locator('[data-value="Hand this link over"]').innerText()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    const other = await world.open()
    await other.goto(link)
    await field(other, 'New password').fill(PASSWORD)
    await button(other, 'Set password').click()
    await enter(other, email, PASSWORD)
    await heading(other, 'Dashboard').waitFor()
    return other
  }

  it('shows a dealer’s people their own tenant, and nothing that hints at others', async () => {
    const demo = await page.request.get(`${world.access.consoleUrl}/api/tenants?q=Demo`)
    const foreign = (await demo.json()).tenants[0].tenantId as string
    const theirs = await invited(`/tenants/${dealer.tenantId}/people`, 'admin@flow.test')
    for (const path of ['', '/orders', '/profiles', '/webhooks', `/tenants/${dealer.tenantId}/wallet`]) {
      await go(world, theirs, path)
      await theirs.waitForLoadState('networkidle')
      expect(await theirs.content()).not.toContain('Demo dealer')
    }
    const seen: string[] = []
    for (const tenantId of [foreign, randomUUID()]) {
      await go(world, theirs, `/tenants/${tenantId}/wallet`)
      await theirs.getByText('There is no such tenant.').waitFor()
      seen.push(await theirs.locator('main').innerText())
    }
    expect(seen[0]).toBe(seen[1])
    await theirs.context().close()
  })

  it('sends a request from the explorer, and the debugger names what is wrong with one', async () => {
    await go(world, page, `/explorer?tenantId=${dealer.tenantId}`)
    await field(page, 'AppSecret').fill(dealer.appSecret)
    await button(page, 'Save').click()
    await page.getByRole('combobox', { name: 'Operation' }).selectOption('account/balance')
    await button(page, 'Sign and send').click()
    await page.locator('[data-answer="200"]').waitFor()
    await page.getByText('"availableBalance"').waitFor()

    await page.getByRole('link', { name: 'Signature debugger' }).click()
    const client = { appKey: dealer.appKey, secret: dealer.appSecret }
    await verdict(signed(client, '{}'), '{}', 'fine')
    await verdict(signed({ ...client, secret: 'another secret' }, '{}'), '{}', '101003', 'probably another one')
    const body = '{"transactionId":"T-1"}'
    await verdict(signed(client, body), '{ "transactionId": "T-1" }', '101003', 'without spaces')
    await verdict(signed(client, '{}', Date.now() - 600_000), '{}', '101001', 'behind the gateway’s clock')
    const used = signed(client, '{}')
    const answer = await fetch(`${world.access.baseUrl}/open-api/v1/health`, {
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

  async function verdict(headers: Record<string, string>, body: string, code: string, words = ''): Promise<void> {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    await field(page, 'Headers, one a line').fill(lines.join('\n'))
    await field(page, 'Body, exactly as it was sent').fill(body)
    await page.getByRole('combobox', { name: 'Operation' }).selectOption(body === '{}' ? 'health' : 'esim/query')
    await button(page, 'Find the fault').click()
    await page.locator(`[data-verdict="${code}"]`).waitFor()
    if (words) await page.locator('[data-check]').getByText(words).waitFor()
  }

  it('answers no page, script or style that its policy forbids', async () => {
    const answer = await page.request.get(`${world.access.consoleUrl}/orders`)
    const policy = answer.headers()['content-security-policy'] ?? ''
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(world.complaints).toEqual([])
  })
})

/** RFC 6238 by hand: what an authenticator app would show. */
function codeOf(secret: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret.trim()].map((character) => alphabet.indexOf(character).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const mac = createHmac('sha1', key).update(counter).digest()
  const code = mac.readUInt32BE(mac[19]! & 15) & 0x7fffffff
  return String(code % 1_000_000).padStart(6, '0')
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
