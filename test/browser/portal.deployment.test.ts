import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SmtpReceiver, startSmtpReceiver } from '@dealer-esim/gateway/test/harness/servers/smtp-receiver.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import {
  api,
  button,
  type ConsoleTestbed,
  chooseMore,
  field,
  heading,
  inviteAndSignIn,
  navigate,
  PASSWORD,
  signInAsOperator,
  startTestbed,
} from './console-testbed.ts'
import { DESKTOP, PHONE, transitionsEnd } from './console-tour.ts'
import { focusFlows } from './flows/focus.ts'
import { announced } from './flows/hands.ts'

/** A dealer without developers buys and pays, and the operator does its part, using only the browser. */
describe.skipIf(!isBrowserAvailable())('a dealer without an integration', () => {
  let testbed: ConsoleTestbed
  let operator: Page
  let dealer: Page
  let tenantId: string

  const balance = async () => (await api<{ balance: number }>(testbed, dealer, `/tenants/${tenantId}/wallet`)).balance
  const orders = async () => (await api<{ orders: object[] }>(testbed, dealer, '/orders')).orders

  beforeAll(async () => {
    testbed = await startTestbed()
    operator = await testbed.open()
    await signInAsOperator(testbed, operator)
    const { tenants } = await api<{ tenants: { tenantId: string }[] }>(testbed, operator, '/tenants')
    tenantId = tenants[0]!.tenantId
    const person = { email: 'shop@dealer.test', role: 'DEALER_STAFF', tenantId }
    dealer = await inviteAndSignIn({ testbed, page: operator }, person)
  }, 240_000)
  afterAll(() => testbed?.stop())

  it('finds a package by typing, and sees the total and the balance before buying', async () => {
    await dealer.getByRole('link', { name: 'Buy eSIMs' }).first().click()
    await heading(dealer, 'Buy eSIMs').waitFor()
    await dealer.waitForURL(/order=/)
    await dealer.getByRole('searchbox').fill('jap 1 gb')
    await dealer.keyboard.press('Enter')
    await dealer.locator('[data-offer=JP_1_7][data-named]').click()
    await button(dealer, 'One more').click()
    await button(dealer, 'Buy 2 eSIMs for USD 9.00').waitFor()
    await dealer.getByRole('status').filter({ hasText: 'Japan · 1 GB · 7 days. Total USD 9.00' }).waitFor()
    expect(await orders()).toEqual([])
  })

  it('puts packages for several places into one purchase, sorts the list, and takes one out again', async () => {
    await dealer.getByRole('searchbox').fill('europe')
    await dealer.locator('[data-place=Europe]').click()
    await dealer.getByRole('combobox', { name: 'Order' }).selectOption('By price')
    const prices = dealer.locator('.offer-prices b')
    const isSorted = async () => {
      const amounts = (await prices.allInnerTexts()).map((text) => Number(text.replace(/[^\d.]/g, '')))
      return amounts.length > 1 && amounts.every((amount, index) => index === 0 || amounts[index - 1]! <= amount)
    }
    await expect.poll(isSorted).toBe(true)
    await dealer.locator('[data-offer]').last().click()
    await button(dealer, /^Buy 3 eSIMs for/).waitFor()
    await dealer.getByRole('button', { name: /^Remove Europe/ }).click()
    await button(dealer, 'Buy 2 eSIMs for USD 9.00').waitFor()
  })

  it('buys only once with a double click, sees the eSIMs arrive, and sees the same order after a reload', async () => {
    const before = await balance()
    await button(dealer, 'Buy 2 eSIMs for USD 9.00').dblclick()
    await dealer.getByText('2 of 2 eSIMs delivered').waitFor({ timeout: 60_000 })
    await heading(dealer, 'Japan · 1 GB · 7 days is ready').waitFor()
    expect(await balance()).toBe(before - 90_000)
    expect(await orders()).toHaveLength(1)
    await dealer.reload()
    await dealer.getByText('2 of 2 eSIMs delivered').waitFor()
    expect(await orders()).toHaveLength(1)
    expect(await balance()).toBe(before - 90_000)
  })

  it('hands over an eSIM from the ticket at the top of its page, and finds the codes under More', async () => {
    const link = () => dealer.locator('.ticket').getByRole('textbox', { name: 'Link for the traveller' })
    await dealer.getByRole('img', { name: 'QR code of the traveller’s page' }).waitFor()
    await expect.poll(() => link().inputValue()).not.toBe('')
    const first = await link().inputValue()
    expect((await fetch(first)).status).toBe(200)
    await dealer.locator('[data-esim]').last().getByRole('button', { name: 'Hand over' }).click()
    await expect.poll(() => link().inputValue()).not.toBe(first)
    // This gateway sends no e-mail, so it does not offer to.
    expect(await dealer.getByRole('form', { name: 'Send by e-mail' }).count()).toBe(0)
    await dealer.locator('[data-esim]').first().getByRole('link').click()
    await dealer.locator('.ticket').waitFor()
    await expect.poll(() => link().inputValue()).toBe(first)
    await chooseMore(dealer, 'Show codes and QR')
    const [download] = await Promise.all([
      dealer.waitForEvent('download'),
      dealer.getByRole('link', { name: 'Download QR (PNG)' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^esim-\d+\.png$/)
    expect(
      readFileSync(await download.path())
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG')
  })

  it('prints the traveller’s card from a page of its own', async () => {
    const [card] = await Promise.all([
      dealer.waitForEvent('popup'),
      dealer.locator('.ticket').getByRole('link', { name: 'Print card' }).click(),
    ])
    await card.getByRole('img', { name: 'QR code that installs the eSIM' }).waitFor()
    expect(new URL(card.url()).search).toBe('?card')
    await card.close()
  })

  it('sees how to pay once an operator administrator has entered the payment details', async () => {
    await operator.getByRole('link', { name: 'Money' }).click()
    await operator.getByRole('link', { name: 'Payments and statements' }).click()
    const card = operator.locator('[data-currency=USD]')
    await card.getByRole('textbox', { name: 'Bank details' }).fill('IBAN GB00 1234\nBank of Test')
    await card.getByRole('button', { name: 'Save' }).click()
    const dialog = operator.getByRole('dialog')
    await dialog.getByLabel('Current password').or(dialog.getByLabel('Password')).first().fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await dealer.getByRole('link', { name: 'Wallet', exact: true }).first().click()
    await dealer.getByRole('link', { name: 'Top-up requests' }).click()
    await dealer.getByText('IBAN GB00 1234').waitFor()
    // Above the requests, on the first screen of a desk and of a phone.
    for (const size of [DESKTOP, PHONE]) {
      await dealer.setViewportSize(size)
      await transitionsEnd(dealer)
      const details = await dealer.getByText('IBAN GB00 1234').boundingBox()
      const requests = await dealer.locator('main .list').boundingBox()
      expect(details!.y + details!.height).toBeLessThan(Math.min(requests!.y, size.height))
    }
    await dealer.setViewportSize(DESKTOP)
  })

  it('asks for a top-up with a receipt, and gets the money once when the operator confirms', async () => {
    const before = await balance()
    await button(dealer, 'Request top-up').click()
    const form = dealer.getByRole('dialog')
    await form.getByRole('textbox', { name: /Amount/ }).fill('250.00')
    await form.getByRole('textbox', { name: 'Payment reference' }).fill('INV-77')
    const buffer = Buffer.from('%PDF-1.7\nreceipt')
    await form.locator('input[type=file]').setInputFiles({ name: 'receipt.pdf', mimeType: 'application/pdf', buffer })
    await form.getByRole('button', { name: 'Request top-up' }).dblclick()
    await form.waitFor({ state: 'hidden' })
    await dealer.locator('[data-status=REQUESTED]').waitFor()
    expect(await balance()).toBe(before)

    await navigate(testbed, operator, '/')
    await operator.locator('[data-attention=topUpRequests]').click()
    await operator.locator('[data-open-requests]', { hasText: '1' }).waitFor()
    const row = operator.locator('tbody tr').first()
    await row.getByText('INV-77').waitFor()
    const [download] = await Promise.all([
      operator.waitForEvent('download'),
      row.getByRole('link', { name: 'Download receipt' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('receipt.pdf')
    expect(readFileSync(await download.path())).toEqual(buffer)
    await row.getByRole('button', { name: 'Confirm payment' }).click()
    await operator.getByRole('dialog').getByRole('button', { name: 'Credit USD 250.00' }).dblclick()
    await operator.getByText('Credited.').first().waitFor()
    expect(await balance()).toBe(before + 2_500_000)
    await operator.locator('[data-open-requests]').waitFor({ state: 'hidden' })
    await navigate(testbed, dealer, `/tenants/${tenantId}/wallet`)
    await dealer.locator(`[data-balance="${before + 2_500_000}"]`).waitFor()
    await navigate(testbed, dealer, '/top-up-requests')
    await dealer.locator('[data-status=PAID]').waitFor()
  })

  it('sees why a top-up request was declined', async () => {
    await button(dealer, 'Request top-up').click()
    const form = dealer.getByRole('dialog')
    await form.getByRole('textbox', { name: /Amount/ }).fill('1.00')
    await form.getByRole('textbox', { name: 'Payment reference' }).fill('INV-78')
    await form.getByRole('button', { name: 'Request top-up' }).click()
    await form.waitFor({ state: 'hidden' })
    await navigate(testbed, operator, '/top-up-requests?status=REQUESTED')
    await button(operator, /^Decline: .*, INV-78$/).click()
    const dialog = operator.getByRole('dialog')
    await field(operator, 'Reason').fill('no payment has arrived')
    await dialog.getByRole('button', { name: 'Decline' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await dealer.getByText(/no payment has arrived/).waitFor({ timeout: 60_000 })
    expect(testbed.browserErrors).toEqual([])
  })

  it('checks every entry of its books in the browser, and sees which one was changed', async () => {
    await navigate(testbed, dealer, `/tenants/${tenantId}/books`)
    await button(dealer, 'Check all entries').click()
    await dealer.getByText(/^All \d+ entries checked: nothing was changed$/).waitFor()
    await dealer.getByText(/This browser now keeps the checkpoint/).waitFor()
    const list = { name: 'mine.csv', mimeType: 'text/csv', buffer: Buffer.from('transactionId,amount\nT-1,4.50\n') }
    await dealer.locator('input[type=file]').setInputFiles(list)
    await button(dealer, 'Check all entries').click()
    await dealer.getByText('Line 2 of your list, T-1, is not in the ledger.').waitFor()
    await dealer.getByText('The books are genuine, but your list of orders differs').waitFor()
    await dealer.route('**/books/file*', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: (await response.text()).replace('INV-77', 'INV-79') })
    })
    await dealer.reload()
    await dealer.getByText(/^It continues the checkpoint of/).waitFor()
    await button(dealer, 'Check all entries').click()
    await dealer.getByText(/^Entry \d+ was changed after it was hashed\.$/).waitFor()
    await dealer.unroute('**/books/file*')
  })

  it('checks the downloaded file on the page that works offline', async () => {
    const [download] = await Promise.all([
      dealer.waitForEvent('download'),
      dealer.getByRole('link', { name: 'Download entries and proofs' }).click(),
    ])
    const content = readFileSync(await download.path(), 'utf8')
    const served = await fetch(`${testbed.access.consoleUrl}/verify-books.html`)
    const folder = mkdtempSync(join(tmpdir(), 'books-'))
    writeFileSync(join(folder, 'verify.html'), await served.text())
    const context = await testbed.browser.newContext({ offline: true })
    const pages = await Promise.all(
      [`file://${join(folder, 'verify.html')}`, served.url].map(async (url) => {
        const page = url.startsWith('file:') ? await context.newPage() : await testbed.browser.newPage()
        await page.goto(url)
        return page
      }),
    )
    for (const page of pages) {
      const choose = (text: string) =>
        page.locator('#file').setInputFiles({ name: 'books.jsonl', mimeType: '', buffer: Buffer.from(text) })
      await choose(content)
      await page.locator('output[data-verdict=EQUAL]').waitFor()
      await choose(content.replace('INV-77', 'INV-79'))
      await page.locator('output[data-verdict=DIFFERS]', { hasText: 'was changed after it was hashed' }).waitFor()
      await page.getByText('Compare with more').click()
      await page.locator('#key').fill(`${'A'.repeat(43)}=`)
      await page.locator('#key').press('Tab')
      await page.locator('output', { hasText: 'not signed by a key that follows' }).waitFor()
      await page.close()
    }
    rmSync(folder, { recursive: true })
    expect(testbed.browserErrors).toEqual([])
  })

  it('sees no pages for developers until its administrator connects a system', async () => {
    await navigate(testbed, operator, '/tenants')
    await button(operator, 'New dealer').first().click()
    await operator.getByRole('dialog').getByLabel('Name').fill('Corner Shop')
    await operator.getByRole('dialog').getByText('In the portal').click()
    await button(operator, 'Create dealer').click()
    // Nothing to copy: the invitation is next.
    await operator.getByRole('dialog', { name: 'Invite' }).getByRole('button', { name: 'Cancel' }).click()
    await heading(operator, 'Corner Shop').waitFor()
    const shop = /tenants\/[0-9a-f-]+/.exec(operator.url())?.[0] ?? ''
    const person = { email: 'owner@shop.test', role: 'DEALER_ADMIN', tenantId: shop.replace('tenants/', '') }
    const owner = await inviteAndSignIn({ testbed, page: operator }, person)
    const developers = owner.getByRole('link', { name: 'Developers', exact: true })
    await owner.getByText('Your first sale').waitFor()
    expect(await developers.count()).toBe(0)
    expect(await owner.getByText('Do your programs buy?').count()).toBe(0)
    await owner.keyboard.press('/')
    await owner.getByRole('dialog').getByRole('textbox').fill('API explorer')
    await owner.getByText(/^No results/).waitFor()
    await owner.keyboard.press('Escape')

    const choose = async (page: Page, title: string, choice: string) => {
      await navigate(testbed, page, `/${shop}/settings`)
      const card = page.locator('form', { hasText: title })
      await card.getByText(choice, { exact: true }).click()
      await card.getByRole('button', { name: 'Save' }).click()
    }
    await choose(owner, 'Connect your own system', 'By API')
    await developers.click()
    await heading(owner, 'API credentials').waitFor()
    await choose(operator, 'How this dealer sells', 'In the portal')
    await operator.getByText('Saved').first().waitFor()
    await owner.reload()
    await heading(owner, 'API credentials').waitFor()
    expect(await developers.count()).toBe(0)
    expect(testbed.browserErrors).toEqual([])
  })

  focusFlows(() => ({ testbed, operator, dealer, tenantId }))
})

const TRAVELLERS = Array.from(
  { length: 20 },
  (_, index) => `Traveller ${index + 1}\ttraveller-${index + 1}@people.test`,
)
const CLICKS_MAX = 5

/** A dealer hands twenty eSIMs over from a list that it pastes. */
describe.skipIf(!isBrowserAvailable())('a dealer with twenty travellers', () => {
  let smtp: SmtpReceiver
  let testbed: ConsoleTestbed
  let dealer: Page
  let clicks = 0
  const click = async (target: { click(): Promise<void> }) => {
    clicks++
    await target.click()
  }

  beforeAll(async () => {
    smtp = await startSmtpReceiver()
    testbed = await startTestbed({ env: { SMTP_URL: smtp.url, MAIL_FROM: 'esim@gateway.example' } })
    const operator = await testbed.open()
    await signInAsOperator(testbed, operator)
    const { tenants } = await api<{ tenants: { tenantId: string }[] }>(testbed, operator, '/tenants')
    const { tenantId } = tenants[0]!
    const person = { email: 'shop@dealer.test', role: 'DEALER_STAFF', tenantId }
    dealer = await inviteAndSignIn({ testbed, page: operator }, person)
    const order = { transactionId: 'twenty', packageInfoList: [{ packageCode: 'JP_1_7', count: 20 }], amount: 900_000 }
    await api(testbed, dealer, `/tenants/${tenantId}/orders`, order)
  }, 480_000)
  afterAll(async () => {
    await testbed?.stop()
    await smtp?.close()
  })

  it(`sends each its own eSIM in at most ${CLICKS_MAX} clicks, and a refused address again once it is corrected`, async () => {
    clicks = 0
    const delivered = async () => (await api<{ profiles: object[] }>(testbed, dealer, '/profiles')).profiles.length
    await expect.poll(delivered, { timeout: 120_000 }).toBe(20)
    await click(dealer.getByRole('link', { name: 'eSIMs', exact: true }).first())
    await dealer.locator('tr[data-row]').nth(19).waitFor()
    await click(dealer.getByRole('checkbox').first())
    await click(button(dealer, 'Send to travellers'))
    const list = dealer.getByRole('textbox', { name: 'Travellers' })
    await expect.poll(() => list.evaluate((field) => field === document.activeElement)).toBe(true)
    smtp.refusals = { rcpt: '550 no such mailbox' }
    await list.fill(`${TRAVELLERS[0]}\nno address\tnowhere`)
    await dealer.getByText('“nowhere” is not an e-mail address.').waitFor()
    await button(dealer, 'Send 1 e-mail').click()
    await dealer.locator('[data-pair="1"]').getByText('Not delivered').waitFor({ timeout: 60_000 })
    smtp.refusals = {}
    // A list that could not be read is not the one before it.
    await dealer.route('**/traveller-lists**', (route) => route.abort())
    await list.fill('Another, another@people.test')
    await dealer.locator('[data-pair]').first().waitFor({ state: 'detached' })
    expect(await dealer.locator('[role=dialog] [type=submit]').isDisabled()).toBe(true)
    await dealer.unroute('**/traveller-lists**')
    await list.fill(TRAVELLERS.join('\n'))
    await dealer.locator('[data-pair="20"]').waitFor()
    await expect.poll(() => announced(dealer)).toContain('20 lines read, faulty: 0.')
    await click(button(dealer, 'Send 20 e-mails'))
    await dealer.getByText('All e-mails are sent.').waitFor({ timeout: 120_000 })
    expect(clicks).toBeLessThanOrEqual(CLICKS_MAX)
    const mails = () => smtp.mails.filter(({ to }) => to.endsWith('@people.test'))
    await expect.poll(() => mails().length, { timeout: 60_000 }).toBe(20)
    expect(new Set(mails().map(({ to }) => to)).size).toBe(20)
    const links = mails().map(({ text }) => /https?:\S+/.exec(text)?.[0])
    expect(new Set(links).size).toBe(20)
    await button(dealer, 'Close').last().click()
    await expect.poll(() => dealer.getByText('Sent', { exact: true }).count(), { timeout: 60_000 }).toBeGreaterThan(19)
  })
})
