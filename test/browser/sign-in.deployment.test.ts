import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAlert } from '@dealer-esim/gateway/alerts/create-alert.ts'
import { createTestDatabase, type TestDatabase } from '@dealer-esim/gateway/test/harness/databases/database.ts'
import { freePort } from '@dealer-esim/gateway/test/harness/processes/free-port.ts'
import { type SmtpReceiver, startSmtpReceiver } from '@dealer-esim/gateway/test/harness/servers/smtp-receiver.ts'
import { type ProviderServer, startProvider } from '@dealer-esim/gateway/test/http/console/sign-in/provider-server.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import {
  api,
  button,
  type ConsoleTestbed,
  enterPassword,
  field,
  heading,
  loadPage,
  navigate,
  PASSWORD,
  signIn,
  signInAsOperator,
  startTestbed,
} from './console-testbed.ts'
import { loadingEnds, transitionsEnd } from './console-tour.ts'

/* Every way to sign in, in a real browser: a mailed link, a passkey, and an OpenID Connect provider. */
describe.skipIf(!isBrowserAvailable())('signing in', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-sign-in-'))
  let database: TestDatabase
  let smtp: SmtpReceiver
  let provider: ProviderServer
  let testbed: ConsoleTestbed
  let operator: Page

  beforeAll(async () => {
    const port = await freePort()
    ;[database, smtp, provider] = await Promise.all([
      createTestDatabase(),
      startSmtpReceiver(),
      startProvider([`http://127.0.0.1:${port}/console/signed-in`]),
    ])
    writeFileSync(join(folder, 'secret'), provider.client.secret)
    const env = {
      ...{ PORT: String(port), SMTP_URL: smtp.url, MAIL_FROM: 'esim@gateway.example' },
      ...{ OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: provider.client.id, OIDC_NAME: 'Example Login' },
      OIDC_CLIENT_SECRET_FILE: join(folder, 'secret'),
    }
    testbed = await startTestbed({ databaseUrl: database.url, env })
    operator = await testbed.open()
    await signInAsOperator(testbed, operator)
  })
  afterAll(async () => {
    await testbed?.stop()
    await Promise.all([provider?.close(), smtp?.close()])
    await database?.drop()
    rmSync(folder, { recursive: true })
  })

  /** Invites a person, who chooses a password without a browser. */
  async function invite(email: string): Promise<void> {
    const invitation = { email, name: 'New Comer', tenantId: null, role: 'OPERATOR_STAFF', password: PASSWORD }
    const { link } = await api<{ link: string }>(testbed, operator, '/people', invitation)
    const page = await testbed.open()
    await api(testbed, page, '/link/password', { token: new URL(link).hash.slice(1), password: PASSWORD })
    await page.context().close()
  }

  it('a forgotten password is replaced through a mailed link, which signs the person in immediately', async () => {
    await invite('forgetful@people.test')
    const page = await testbed.open()
    await button(page, 'Forgot password?').click()
    await field(page, 'E-mail address').fill('forgetful@people.test')
    await button(page, 'Send link').click()
    await page.getByRole('status').getByText('a link is on its way').waitFor()
    const isLink = (mail: { subject: string }) => mail.subject.startsWith('Choose a new password')
    await expect.poll(() => smtp.mails.find(isLink)?.to).toBe('forgetful@people.test')
    const { text, html } = smtp.mails.find(isLink)!
    const link = /\n(http\S+)\n/.exec(text)![1]!
    expect(html).toContain(`href="${link}"`)
    await page.goto(link)
    await field(page, 'New password').fill(`${PASSWORD} again`)
    await button(page, 'Set password').click()
    await heading(page, 'Home').waitFor()
    await loadingEnds(page)
    expect(await page.locator('.mantine-Notification-root').count()).toBe(0)
    await page.context().close()
  })

  it('an invitation shows its link, and says that the link is also mailed', async () => {
    await navigate(testbed, operator, '/people')
    await button(operator, 'Invite').first().click()
    const dialog = operator.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Mailed Person')
    await dialog.getByRole('textbox', { name: 'E-mail address' }).fill('mailed@people.test')
    await enterPassword(dialog)
    await dialog.getByRole('button', { name: 'Invite' }).click()
    await dialog.getByText('It is also sent to mailed@people.test by e-mail.').waitFor()
    const link = await dialog.locator('[data-value="Copy this invitation link"]').innerText()
    await dialog.getByRole('button', { name: 'I have copied it' }).click()
    const mail = () => smtp.mails.find(({ to }) => to === 'mailed@people.test')
    await expect.poll(() => mail()?.text).toContain(link)
  })

  it('an added passkey is enough to sign in, and replaces the password', async () => {
    await invite('keys@people.test')
    // Browsers do not allow passkeys at a bare IP address.
    const atAddress = await testbed.open()
    await heading(atAddress, 'Sign in').waitFor()
    await button(atAddress, 'Sign in with Example Login').waitFor()
    await loadingEnds(atAddress)
    expect(await button(atAddress, 'Sign in with a passkey').count()).toBe(0)
    await atAddress.context().close()
    const consoleUrl = testbed.access.consoleUrl.replace('127.0.0.1', 'localhost')
    const page = await testbed.open()
    await page.goto(consoleUrl)
    await addAuthenticator(page)
    await signIn(page, 'keys@people.test', PASSWORD)
    await heading(page, 'Home').waitFor()
    await page.goto(`${consoleUrl}/account`)
    await button(page, 'Add passkey').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Test laptop')
    await enterPassword(dialog)
    await dialog.getByRole('button', { name: 'Add passkey' }).click()
    await dialog.getByText('Recovery codes').first().waitFor()
    const [recovery = ''] = await dialog.locator('code').allInnerTexts()
    await button(page, 'I have saved these codes').click()
    await page.getByText('Test laptop').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])

    await signOut(page)
    await button(page, 'Sign in with a passkey').click()
    await heading(page, 'Account').waitFor()
    await button(page, 'Create token').click()
    await dialog.getByRole('textbox', { name: 'Token name' }).fill('By passkey')
    await dialog.getByRole('button', { name: 'Use passkey instead' }).click()
    await dialog.getByText('Your identity is confirmed').waitFor()
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.locator('[data-value="Access token"]').waitFor()
    await button(page, 'I have copied it').click()

    const { tenants } = await api<{ tenants: { tenantId: string }[] }>(testbed, operator, '/tenants')
    await page.goto(`${consoleUrl}/tenants/${tenants[0]!.tenantId}/credentials`)
    await button(page, 'Reset').click()
    await dialog.getByRole('button', { name: 'Use passkey instead' }).click()
    await dialog.getByText('Your identity is confirmed').waitFor()
    await dialog.getByRole('button', { name: 'Reset' }).click()
    await dialog.locator('[data-value="AppSecret"]').waitFor()
    await button(page, 'I have copied it').click()
    await page.goto(`${consoleUrl}/account`)
    await heading(page, 'Account').waitFor()

    await signOut(page)
    await signIn(page, 'keys@people.test', PASSWORD)
    await page.getByRole('alert').getByText('Use your passkey').waitFor()
    await field(page, 'Recovery code').fill(recovery)
    await button(page, 'Sign in').click()
    await heading(page, 'Account').waitFor()
    await page.context().close()
  })

  it('a person whose role requires a second factor sets one up before anything else', async () => {
    await invite('required@people.test')
    await navigate(testbed, operator, '/people')
    await button(operator, 'Require: Operator staff').click()
    const dialog = operator.getByRole('dialog')
    await enterPassword(dialog)
    await dialog.getByRole('button', { name: 'Require' }).click()
    await button(operator, 'Make optional: Operator staff').waitFor()
    expect(await accessibilityFaults(operator)).toEqual([])

    const page = await testbed.open('/orders')
    await page.goto(`${testbed.access.consoleUrl.replace('127.0.0.1', 'localhost')}/orders`)
    await addAuthenticator(page)
    await signIn(page, 'required@people.test', PASSWORD)
    await heading(page, 'Set up a second factor').waitFor()
    await expect.poll(() => button(page, 'Continue').isDisabled()).toBe(true)
    expect(await accessibilityFaults(page)).toEqual([])
    await button(page, 'Add passkey').click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Key')
    await enterPassword(page.getByRole('dialog'))
    await page.getByRole('dialog').getByRole('button', { name: 'Add passkey' }).click()
    await button(page, 'I have saved these codes').click()
    await button(page, 'Continue').click()
    await heading(page, 'Orders').waitFor()
    await page.context().close()
    // The way back through the command line.
    await testbed.admin('people', 'second-factor', 'OPERATOR_STAFF', '--optional')
  })

  it('a person signs in through the provider, confirms there, and signs out of both', async () => {
    await invite('sso@people.test')
    provider.people.set('subject-sso', { email: 'sso@people.test', email_verified: true })
    provider.current = 'subject-sso'
    const page = await testbed.open('/account')
    await button(page, 'Sign in with Example Login').click()
    // Back on the page where the person began.
    await heading(page, 'Account').waitFor()
    await expect.poll(() => new URL(page.url()).search).toBe('')
    await button(page, 'Create token').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Token name' }).fill('By provider')
    await dialog.getByRole('button', { name: 'Sign in again with Example Login' }).click()
    await dialog.getByText('Your identity is confirmed').waitFor()
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.locator('[data-value="Access token"]').waitFor()
    await button(page, 'I have copied it').click()
    await button(page, 'Account').click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.waitForURL(`${provider.issuer}/session/end**`)
    await page.context().close()
  })

  it('an administrator unlinks the account of an address that now belongs to a different account', async () => {
    provider.people.set('subject-successor', { email: 'sso@people.test', email_verified: true })
    provider.current = 'subject-successor'
    const page = await testbed.open()
    await button(page, 'Sign in with Example Login').click()
    await page.getByRole('alert').getByText('Ask an administrator to unlink the earlier one.').waitFor()
    await loadPage(testbed, operator, '/people')
    const actions = operator.getByRole('row', { name: /sso@people\.test/ }).getByRole('button', { name: /^Actions/ })
    await actions.click()
    await operator.getByRole('menuitem', { name: 'Unlink sign-in provider' }).click()
    const dialog = operator.getByRole('dialog')
    await enterPassword(dialog)
    await dialog.getByRole('button', { name: 'Unlink sign-in provider' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await loadingEnds(operator)
    await actions.click()
    await operator.getByRole('menuitem', { name: 'Change role' }).waitFor()
    await operator.getByRole('menuitem', { name: 'Unlink sign-in provider' }).waitFor({ state: 'detached' })
    await operator.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Back to sign-in' }).click()
    await button(page, 'Sign in with Example Login').click()
    await heading(page, 'Home').waitFor()
    await page.context().close()
  })

  it('a sign-in that the provider or the gateway refuses says why', async () => {
    provider.people.set('subject-stranger', { email: 'stranger@people.test', email_verified: true })
    provider.current = 'subject-stranger'
    const page = await testbed.open()
    await button(page, 'Sign in with Example Login').click()
    await page.getByRole('alert').getByText('There is no account for stranger@people.test').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('link', { name: 'Back to sign-in' }).click()
    await heading(page, 'Sign in').waitFor()
    await loadPage(testbed, page, '/signed-in?code=x&state=y')
    await page.getByRole('alert').getByText('took too long').waitFor()
    await page.context().close()
  })

  it('the navigation shows the number of alerts, and each alert links to its subject', async () => {
    const db = createDb({ url: database.url, poolSize: 1, applicationName: 'test' })
    const alert = { kind: 'UNDER_REVIEW', message: 'Orders under review: 1.' } as const
    await db.tx(async (tx) => createAlert(tx, systemIds, alert))
    await db.close()
    await loadPage(testbed, operator, '/notices')
    await operator.getByRole('link', { name: 'Alerts: 1 unread' }).waitFor()
    await operator.getByRole('link', { name: /^Open: Orders under review/ }).click()
    await heading(operator, 'Orders').waitFor()
    await expect.poll(() => new URL(operator.url()).searchParams.get('status')).toBe('UNDER_REVIEW')
    await navigate(testbed, operator, '/account')
    const choice = operator.getByRole('checkbox', { name: 'Under review' })
    await expect.poll(() => choice.isChecked()).toBe(true)
    await choice.click()
    await expect
      .poll(async () => (await api<{ mutedAlerts: string[] }>(testbed, operator, '/session')).mutedAlerts)
      .toEqual(['UNDER_REVIEW'])
  })

  it('no flow has violated the content security policy', () => {
    expect(testbed.browserErrors).toEqual([])
  })
})

/** A device that keeps passkeys, verifies its user and is always touched (Chromium's virtual authenticator). */
async function addAuthenticator(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
      ...{ isUserVerified: true, automaticPresenceSimulation: true },
    },
  })
}

async function signOut(page: Page): Promise<void> {
  await button(page, 'Account').click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await heading(page, 'Sign in').waitFor()
  // Signing out returns to the dashboard; the tests continue on the account page.
  await page.goto(page.url().replace(/\/console\/?.*$/, '/console/account'))
  await heading(page, 'Sign in').waitFor()
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Serious violations in light and dark. */
async function accessibilityFaults(page: Page): Promise<string[]> {
  const faults: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await transitionsEnd(page)
    await page.evaluate(axe)
    const run = `axe.run().then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))`
    faults.push(...((await page.evaluate(run)) as string[]))
  }
  return faults
}
