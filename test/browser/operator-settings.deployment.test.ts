import { createTestDatabase, type TestDatabase } from '@dealer-esim/gateway/test/harness/databases/database.ts'
import { type SmtpReceiver, startSmtpReceiver } from '@dealer-esim/gateway/test/harness/servers/smtp-receiver.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import {
  api,
  button,
  type ConsoleTestbed,
  field,
  heading,
  navigate,
  OPERATOR,
  PASSWORD,
  signInAsOperator,
  startTestbed,
} from './console-testbed.ts'
import { paymentFlows } from './flows/payments.ts'

/**
 * The operator's settings, payments that two people confirm, statements, and the tools of lists that are completely loaded.
 */
describe.skipIf(!isBrowserAvailable())('the operator’s settings, payments and short lists in a browser', () => {
  let database: TestDatabase
  let db: ReturnType<typeof createDb>
  let smtp: SmtpReceiver
  let testbed: ConsoleTestbed
  let page: Page
  const shared = {} as Parameters<typeof paymentFlows>[0]

  beforeAll(async () => {
    ;[database, smtp] = await Promise.all([createTestDatabase(), startSmtpReceiver()])
    db = createDb({ url: database.url, poolSize: 2, applicationName: 'browser test' })
    const env = { SMTP_URL: smtp.url, MAIL_FROM: 'esim@gateway.example' }
    testbed = await startTestbed({ databaseUrl: database.url, env })
    page = await testbed.open()
    await signInAsOperator(testbed, page)
    Object.assign(shared, { testbed, page, db, smtp })
  }, 480_000)
  afterAll(async () => {
    await testbed?.stop()
    await Promise.all([db?.close(), smtp?.close()])
    await database?.drop()
  })

  it('a recovery shows its actions without a pointer, wants a reason for a release, and then only what is still held', async () => {
    await db.query({
      text: `insert into restores (restore_id, backup_started_at, restored_at, prepared_at)
             values (gen_random_uuid(), now() - interval '2 hours', now() - interval '1 hour', now())`,
    })
    await db.query({
      text: `insert into supplier_list_checks (supplier, checked_at, unreadable, unreadable_entries, complete_at)
             values ('sandbox', now(), 2, '[]', now()) on conflict (supplier) do update set unreadable = 2, complete_at = now()`,
    })
    await navigate(testbed, page, '/recovery')
    const row = page.getByRole('row').filter({ hasText: '2 entries of its list could not be read' })
    await row.waitFor()
    await page.mouse.move(0, 0)
    const settle = row.getByRole('button', { name: 'Settle: sandbox' })
    const opacity = () => settle.evaluate((element) => getComputedStyle(element).opacity)
    await expect.poll(opacity).toBe('1')
    await button(page, 'Release all dealers').click()
    const reason = field(page, 'Why you release although this is in doubt')
    expect(await reason.evaluate((element: HTMLTextAreaElement) => element.required)).toBe(true)
    await reason.fill('nothing was sold since')
    await page.getByRole('dialog').getByRole('button', { name: 'Release', exact: true }).click()
    await page.getByText('The gateway is not in recovery.').waitFor()
    await page.getByText('Accepted doubts').waitFor()
    expect(await page.getByText('There are no suppliers.').count()).toBe(0)
    await navigate(testbed, page, '/')
  })

  it('limits for new dealers and alert recipients are set with errors at their fields, and audited', async () => {
    await page.getByRole('link', { name: 'Settings', exact: true }).click()
    await heading(page, 'Settings').waitFor()
    const limit = field(page, 'Requests per second for a new dealer')
    const emails = field(page, 'Recipients of the operator’s alerts')
    const save = limit.locator('xpath=ancestor::form').getByRole('button', { name: 'Save' })
    await limit.fill('many')
    await save.click()
    await page.getByText('Enter a whole number.').waitFor()
    await limit.fill('25')
    await emails.fill('ops@operator.test\nnight')
    await save.click()
    await page.getByText('Malformed: “night”').waitFor()
    expect(await emails.getAttribute('aria-invalid')).toBe('true')
    await emails.fill('ops@operator.test\nnight@operator.test')
    await save.click()
    await expect
      .poll(() => api(testbed, page, '/operator-settings'))
      .toMatchObject({ newDealerQpsLimit: 25, alertEmails: ['ops@operator.test', 'night@operator.test'] })
    const dealer = { clientName: 'Limited Travel', currencyCode: 'USD' }
    const { tenantId } = await api<{ tenantId: string }>(testbed, page, '/tenants', dealer)
    await navigate(testbed, page, `/tenants/${tenantId}/settings`)
    await expect.poll(() => field(page, 'Requests per second').inputValue()).toBe('25')
    await navigate(testbed, page, '/audit?action=operator.set_settings')
    await page.getByRole('row', { name: /Settings of the operator changed/ }).waitFor()
  })

  it('variables are shown with their source and without secrets', async () => {
    await navigate(testbed, page, '/settings')
    await page.getByRole('heading', { name: /^Environment variables · \d+ set$/ }).click()
    await page.getByRole('row', { name: 'SMTP_URL' }).first().waitFor()
    expect(await page.getByRole('row', { name: /^OIDC_ISSUER/ }).count()).toBe(0)
    await page.getByRole('switch', { name: 'Show those that are not set' }).click()
    const sources = await Promise.all(['^DEFAULT_QPS_LIMIT', '^OIDC_ISSUER'].map((name) => sourceOf(page, name)))
    expect([await sourceOf(page, '^SMTP_URL'), ...sources]).toEqual(['SECRET', 'DEFAULT', 'NOT_SET'])
    expect(await page.content()).not.toContain(smtp.url)
    await button(page, 'Send test e-mail').click()
    await page.getByText(`The mail server accepted an e-mail to ${OPERATOR}.`).waitFor()
    expect(smtp.mails).toContainEqual(
      expect.objectContaining({ to: OPERATOR, subject: 'Test e-mail from the eSIM console' }),
    )
  })

  it('a short list is counted and sorted, and a saved view keeps its order and columns', async () => {
    const invited = { email: 'zoe@operator.test', name: 'Zoe', role: 'OPERATOR_STAFF', tenantId: null }
    await api(testbed, page, '/people', { ...invited, password: PASSWORD })
    await navigate(testbed, page, '/people')
    await page.locator('[data-totals]').getByText('2 rows', { exact: true }).waitFor()
    const list = page.locator('.list').first()
    const names = () => list.locator('[data-row] td:first-child').allInnerTexts()
    const byName = list.getByRole('columnheader', { name: 'Name' }).getByRole('button')
    await byName.click()
    await byName.click()
    await expect.poll(names).toEqual(['Zoe', 'First operator'])
    await button(page, 'List options').first().click()
    await page.getByRole('menuitemcheckbox', { name: 'Last sign-in' }).click()
    await page.getByRole('menuitem', { name: 'Save this view' }).click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Newest names')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await navigate(testbed, page, '/people')
    await expect.poll(names).toEqual(['First operator', 'Zoe'])
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Newest names' }).click()
    await expect.poll(names).toEqual(['Zoe', 'First operator'])
    await list.getByRole('columnheader', { name: 'Last sign-in' }).waitFor({ state: 'detached' })
  })

  it('a list of amounts shows their sum in each currency', async () => {
    const { tenants } = await api<{ tenants: { tenantId: string; currencyCode: string }[] }>(testbed, page, '/tenants')
    const { tenantId = '' } = tenants[0] ?? {}
    for (const amount of [10_000, 5_000])
      await api(testbed, page, `/tenants/${tenantId}/adjustments`, {
        amount,
        reference: `fee ${amount}`,
        reason: 'a fee',
      })
    await navigate(testbed, page, '/adjustments')
    await page
      .locator('[data-totals]')
      .getByText(/^2 rows · USD\s1\.50$/)
      .waitFor()
  })

  describe('payments', () => paymentFlows(shared))

  it('no page has violated the content security policy or thrown an error', () => {
    expect(testbed.browserErrors).toEqual([])
  })
})

/** Where the value of a variable comes from. `name` is the beginning of its row. */
function sourceOf(page: Page, name: string): Promise<string | null> {
  return page
    .getByRole('row', { name: new RegExp(name) })
    .locator('[data-source]')
    .getAttribute('data-source')
}

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="4" fill="#b8336a"/></svg>`

describe.skipIf(!isBrowserAvailable())('the operator’s brand', () => {
  let testbed: ConsoleTestbed
  beforeAll(async () => {
    testbed = await startTestbed()
  })
  afterAll(() => testbed?.stop())

  it('is previewed while it is typed, and worn by console and sign-in page once it is saved', async () => {
    const page = await testbed.open()
    await signInAsOperator(testbed, page)
    await page.goto(`${testbed.access.consoleUrl}/brand`)
    await heading(page, 'Brand').waitFor()
    await page.locator('input[name=name]').fill('Meridian Mobile')
    await page.locator('input[name=accent]').fill('#F5B800')
    await page.locator('input[name=supportEmail]').fill('care@meridian.test')
    const file = { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(LOGO) }
    await page.locator('input[type=file]').first().setInputFiles(file)
    await page.getByText('White text cannot be read on this colour').waitFor()
    await page.locator('.brand-preview').getByText('Help from Meridian Mobile').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.waitForFunction(() => document.title.endsWith('Meridian Mobile'))
    const stranger = await testbed.open()
    await heading(stranger, 'Sign in').waitFor()
    expect(await stranger.title()).toBe('Sign in · Meridian Mobile')
    const button = stranger.getByRole('button', { name: 'Sign in' })
    const colours = await button.evaluate((element) => {
      const { backgroundColor, color } = getComputedStyle(element)
      return [backgroundColor, color]
    })
    expect(colours).toEqual(['rgb(245, 184, 0)', 'rgb(0, 0, 0)'])
    expect(testbed.browserErrors).toEqual([])
    const logo = stranger.locator('img').first()
    expect(await logo.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBeGreaterThan(0)
  })

  it('of a dealer is added, made the default and deleted in the same form, in which markup is text and a script is refused', async () => {
    const page = await testbed.open()
    await signInAsOperator(testbed, page)
    const { tenants } = await api<{ tenants: { tenantId: string }[] }>(testbed, page, '/tenants')
    const path = `/tenants/${tenants[0]!.tenantId}/brands`
    const brands = async () =>
      (await api<{ brandList: { brand: string; isDefault: boolean }[] }>(testbed, page, path)).brandList.map(
        ({ brand, isDefault }) => [brand, isDefault],
      )
    const add = async (brand: string, name: string, svg = LOGO) => {
      await button(page, 'Add brand').first().click()
      await page.locator('input[name=brand]').fill(brand)
      await page.locator('input[name=name]').fill(name)
      const file = { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(svg) }
      await page.locator('input[type=file]').first().setInputFiles(file)
      await button(page, 'Save').click()
    }
    await page.goto(testbed.access.consoleUrl + path)
    await page.getByText('Your travellers see this name: Meridian Mobile.').waitFor()
    await add('lotus', 'Lotus Travel')
    await button(page, /^Lotus Travel/).waitFor()
    const markup = '<img src=x onerror="document.title=1">'
    await add('outlet', markup, LOGO.replace('<circle', '<script>alert(1)</script><circle'))
    await page.getByRole('alert').getByText('The SVG contains a script').waitFor()
    await page.locator('.brand-preview').getByText(`Help from ${markup}`).waitFor()
    const file = { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(LOGO) }
    await page.locator('input[type=file]').first().setInputFiles(file)
    await button(page, 'Save').click()
    await button(page, markup).click()
    await button(page, 'Make default').click()
    await expect.poll(brands).toEqual([
      ['outlet', true],
      ['lotus', false],
    ])
    expect([await page.locator('img[src=x]').count(), await page.title()]).toEqual([0, expect.not.stringMatching(/^1/)])
    await button(page, 'Lotus Travel').click()
    await button(page, 'Delete brand').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete brand' }).click()
    await expect.poll(brands).toEqual([['outlet', true]])
    expect(testbed.browserErrors).toEqual([])
  })
})
