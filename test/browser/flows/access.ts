import { createHmac, randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import {
  api,
  button,
  copyable,
  enterPassword,
  field,
  heading,
  inviteAndSignIn,
  loadPage,
  navigate,
  PASSWORD,
  type SharedState,
  signIn,
} from '../console-testbed.ts'
import { loadingEnds } from '../console-tour.ts'

/** Runs first, because all other flows need a signed-in operator. */
export function firstSignIn(shared: SharedState): void {
  it('the first operator must choose a password before anything else is accessible', async () => {
    const { testbed, page } = shared
    const { consoleUser, consolePassword } = testbed.access
    await signIn(page, consoleUser, consolePassword)
    await heading(page, 'Choose a password').waitFor()
    await loadPage(testbed, page, '/tenants')
    await heading(page, 'Choose a password').waitFor()
    await field(page, 'Current password').fill(consolePassword)
    await field(page, 'New password').fill(PASSWORD)
    await button(page, 'Set password').click()
    await heading(page, 'Dealers').waitFor()
    const again = await testbed.open()
    await signIn(again, consoleUser, consolePassword)
    await again.getByRole('alert').getByText('wrong').waitFor()
    await again.context().close()
    shared.secrets.push(consolePassword, PASSWORD)
  })
}

export function accessFlows(shared: SharedState): void {
  const colleague = { email: 'second@factor.test', secret: '', spentCode: '', recovery: '' }

  it('an invited person follows the link and sets up two-factor authentication', async () => {
    const { testbed, page } = shared
    await loadPage(testbed, page, '/people')
    await button(page, 'Invite').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Invited Person')
    await dialog.getByRole('textbox', { name: 'E-mail address' }).fill(colleague.email)
    await dialog.getByRole('textbox', { name: 'Your password' }).fill('a guess')
    await dialog.getByRole('button', { name: 'Invite' }).click()
    await dialog.getByRole('alert').getByText('password is wrong').waitFor()
    await enterPassword(dialog)
    await dialog.getByRole('button', { name: 'Invite' }).click()
    const link = await dialog.locator('[data-value="Copy this invitation link"]').innerText()
    expect(await dialog.getByText('by e-mail').count()).toBe(0)
    await dialog.getByRole('button', { name: 'I have copied it' }).click()
    const other = await testbed.open(link.slice(testbed.access.consoleUrl.length))
    await field(other, 'New password').fill(PASSWORD)
    await button(other, 'Set password').click()
    // The password that was just chosen signs in as well, and leaves no message behind.
    await heading(other, 'Home').waitFor()
    await loadingEnds(other)
    expect(await other.getByRole('alert').count()).toBe(0)
    await navigate(testbed, other, '/account')
    // The dashboard, which stays until the page has loaded, has a button of the same name.
    await heading(other, 'Account').waitFor()
    await setUpSecondFactor(other)
    await other.context().close()
    shared.secrets.push(new URL(link).hash.slice(1), colleague.secret, colleague.recovery)
  })

  async function setUpSecondFactor(at: Page): Promise<void> {
    await button(at, 'Set up').first().click()
    const dialog = at.getByRole('dialog')
    await enterPassword(dialog)
    await dialog.getByRole('button', { name: 'Set up' }).click()
    colleague.secret = (await dialog.locator('code').first().innerText()).trim()
    colleague.spentCode = codeOf(colleague.secret)
    // As shown by authenticator apps.
    await dialog.getByRole('textbox', { name: 'Code' }).fill(colleague.spentCode.replace(/^.../, '$& '))
    await button(at, 'Turn on').click()
    await dialog.getByText('Recovery codes').first().waitFor()
    colleague.recovery = (await dialog.locator('code').allInnerTexts()).join(' ')
    await button(at, 'I have saved these codes').click()
  }

  it('a code is required at sign-in and before a secret is shown, and each code works once', async () => {
    const { testbed, dealer } = shared
    const [first = '', second = ''] = colleague.recovery.split(' ')
    const back = await testbed.open(`/tenants/${dealer.tenantId}/credentials`)
    await signIn(back, colleague.email, PASSWORD)
    await field(back, 'Code').fill(colleague.spentCode)
    await button(back, 'Sign in').click()
    await back.getByRole('alert').getByText('has already been used').waitFor()
    await field(back, 'Code').fill(first)
    await button(back, 'Sign in').click()
    await button(back, 'View').click()
    const dialog = back.getByRole('dialog')
    await enterPassword(dialog)
    await dialog.getByRole('textbox', { name: 'Code' }).fill(first)
    await dialog.getByRole('button', { name: 'View' }).click()
    await dialog.getByText('has already been used').waitFor()
    await dialog.getByRole('textbox', { name: 'Code' }).fill(second)
    await dialog.getByRole('button', { name: 'View' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await expect.poll(() => copyable(back, 'AppSecret').innerText()).toBe(dealer.appSecret)
    await back.context().close()
  })

  it('the password is required to create a link, change a role or status, or remove two-factor authentication', async () => {
    const { testbed, page } = shared
    const dialog = page.getByRole('dialog')
    const row = page.getByRole('row', { name: colleague.email })
    const change = async (item: string, submit = item) => {
      await button(page, 'Actions: Invited Person').click()
      await page.getByRole('menuitem', { name: item }).click()
      await enterPassword(dialog)
      await dialog.getByRole('button', { name: submit }).click()
    }
    await navigate(testbed, page, '/people')
    await change('Create password link', 'Create link')
    const link = await dialog.locator('[data-value="Copy this password link"]').innerText()
    shared.secrets.push(new URL(link).hash.slice(1))
    await dialog.getByRole('button', { name: 'I have copied it' }).click()
    await change('Remove two-factor authentication')
    await row.getByRole('cell', { name: 'No', exact: true }).waitFor()
    await change('Change role', 'Save')
    await dialog.waitFor({ state: 'hidden' })
    await change('Disable')
    await row.getByText('Disabled').waitFor()
    await change('Enable')
    await row.getByText('Active').waitFor()
  })

  it('a dealer’s people see only their own tenant, and other tenants’ pages do not exist for them', async () => {
    const { testbed, dealer } = shared
    const foreign = await demoDealerPages(shared)
    const theirPage = await inviteAndSignIn(shared, {
      email: 'admin@flow.test',
      role: 'DEALER_ADMIN',
      tenantId: dealer.tenantId,
    })
    for (const path of ['/', '/orders', '/profiles', '/webhooks', `/tenants/${dealer.tenantId}/wallet`]) {
      await navigate(testbed, theirPage, path)
      await loadingEnds(theirPage)
      expect(await theirPage.content()).not.toContain('Demo dealer')
    }
    for (const [path, id] of Object.entries(foreign)) {
      const seen: string[] = []
      for (const address of [path, path.replace(id, id.includes('-') ? randomUUID() : unknownOrderNo(id))]) {
        await loadPage(testbed, theirPage, address)
        await theirPage.getByRole('alert').getByText('There is no such').waitFor()
        await loadingEnds(theirPage)
        seen.push(await theirPage.locator('main').innerText())
      }
      expect([path, seen[0]]).toEqual([path, seen[1]])
    }
    await navigate(testbed, theirPage, `/tenants/${dealer.tenantId}/settings`)
    await button(theirPage, 'Add my address (127.0.0.1)').click()
    await expect.poll(() => field(theirPage, 'IP allowlist').inputValue()).toContain('127.0.0.1')
    await theirPage.context().close()
  })

  it('a page that a role may not open says whom to ask, and links back to the dashboard', async () => {
    const { testbed, dealer } = shared
    const staff = { email: 'staff@flow.test', role: 'DEALER_STAFF', tenantId: dealer.tenantId }
    const staffPage = await inviteAndSignIn(shared, staff)
    await navigate(testbed, staffPage, `/tenants/${dealer.tenantId}/settings`)
    await heading(staffPage, 'Settings').waitFor()
    await staffPage.getByRole('heading', { name: 'Endpoint' }).waitFor()
    // This role cannot edit what it may not save.
    await loadingEnds(staffPage)
    expect(
      await staffPage.locator('main :is(input, textarea, select):not([readonly], :disabled, [type=hidden])').count(),
    ).toBe(0)
    await closed(staffPage, 'Dealer staff', [
      ...['/tenants', '/catalogue', '/stock', '/suppliers', '/adjustments', '/people', '/audit', '/settings'],
      ...['/catalogue/import', '/add-package', '/packages/SANDBOX_OK'],
    ])
    const reader = { email: 'reader@flow.test', role: 'OPERATOR_READ_ONLY' }
    await closed(await inviteAndSignIn(shared, reader), 'Operator (read-only)', [
      ...['/catalogue/import', '/add-package', '/add-sale-rule', '/sale-rules-preview', '/add-supplier'],
    ])

    async function closed(page: Page, role: string, paths: string[]): Promise<void> {
      for (const path of paths) {
        await navigate(testbed, page, path)
        await heading(page, 'No access to this page').waitFor()
        await page.getByText(`Your role (${role}) may not open this page. Ask`).waitFor()
        expect([path, await button(page, 'Try again').count()]).toEqual([path, 0])
        await page.getByRole('link', { name: 'Go to the home page' }).waitFor()
        // Another page in between, so that the next refusal is not this one. The home page takes longer to load.
        await navigate(testbed, page, '/account')
        await heading(page, 'Account').waitFor()
      }
      await navigate(testbed, page, paths[0]!)
      await page.getByRole('link', { name: 'Go to the home page' }).click()
      await heading(page, 'Home').waitFor()
      await page.context().close()
    }
  })
}

/** Pages of the demo dealer, each with the id that others must not learn about. */
async function demoDealerPages({ testbed, page }: SharedState): Promise<Record<string, string>> {
  const demo = await api<{ tenants: { tenantId: string }[] }>(testbed, page, '/tenants?q=Demo')
  const tenantId = demo.tenants[0]?.tenantId ?? ''
  const client = testbed.client(testbed.access)
  const { orderNo } = await client.order({
    transactionId: 'another-dealer',
    packageInfoList: [{ packageCode: 'SANDBOX_OK', count: 1 }],
  })
  return { [`/tenants/${tenantId}/wallet`]: tenantId, [`/tenants/${tenantId}/orders/${orderNo}`]: orderNo }
}

/** An order number that does not exist: the last digit is changed. */
function unknownOrderNo(orderNo: string): string {
  return orderNo.slice(0, -1) + (orderNo.endsWith('1') ? '2' : '1')
}

/** Computes the code of an authenticator app (RFC 6238). */
export function codeOf(secret: string, timeMs = Date.now()): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret].map((character) => alphabet.indexOf(character).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(timeMs / 30_000)))
  const mac = createHmac('sha1', key).update(counter).digest()
  const code = mac.readUInt32BE(mac[19]! & 15) & 0x7fffffff
  return String(code % 1_000_000).padStart(6, '0')
}
