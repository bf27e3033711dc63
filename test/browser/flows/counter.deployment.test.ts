import { randomUUID } from 'node:crypto'
import { type SmtpReceiver, startSmtpReceiver } from '@dealer-esim/gateway/test/harness/servers/smtp-receiver.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from '../chromium.ts'
import {
  api,
  button,
  type ConsoleTestbed,
  chooseFilter,
  heading,
  inviteAndSignIn,
  loadPage,
  PASSWORD,
  signInAsOperator,
  startTestbed,
} from '../console-testbed.ts'
import { announced, Hands, isFocusKept, overlappingTexts, primaryButtons } from './hands.ts'

const CONTACT = { name: 'Harbour eSIM', email: 'help@harbour.test', phone: '+49 30 5550', hours: 'Mon–Sat 9–18' }

/** A shop sells at its counter: as few clicks, fields and keys as can be, and nobody is left without an answer. */
describe.skipIf(!isBrowserAvailable())('a shop at its counter', () => {
  let testbed: ConsoleTestbed
  let smtp: SmtpReceiver
  let operator: Page
  let shop: Page
  let tenantId: string

  const put = async (path: string, data: object) => {
    const url = `${testbed.access.consoleUrl}/api${path}`
    const answer = await operator.request.put(url, { headers: { origin: new URL(url).origin }, data })
    expect([path, answer.status(), await answer.text()]).toEqual([path, 200, expect.anything()])
  }
  const createDealer = async (clientName: string, amount: number) => {
    const created = { clientName, currencyCode: 'USD' }
    const dealer = await api<{ tenantId: string }>(testbed, operator, '/tenants', created)
    const payment = { amount, reference: 'bank 1' }
    if (amount > 0) await api(testbed, operator, `/tenants/${dealer.tenantId}/wallet/top-ups`, payment)
    return dealer.tenantId
  }
  const delivered = (page: Page) => page.getByText('1 of 1 eSIM delivered').waitFor({ timeout: 60_000 })
  const ticket = (page: Page) => page.locator('.ticket')

  beforeAll(async () => {
    smtp = await startSmtpReceiver()
    testbed = await startTestbed({ env: { SMTP_URL: smtp.url, MAIL_FROM: 'esim@gateway.example' } })
    operator = await testbed.open()
    await signInAsOperator(testbed, operator)
    tenantId = await createDealer('Lotus Travel', 5_000_000)
  }, 240_000)
  afterAll(async () => {
    await testbed?.stop()
    await smtp?.close()
  })

  it('without money or payment details asks the operator, which sees who asks', async () => {
    const emptyId = await createDealer('Nothing Yet', 0)
    const page = await inviteAndSignIn({ testbed, page: operator }, dealerPerson('empty@shop.test', emptyId))
    await page.getByText('The operator has not entered payment details. Ask how to pay.').waitFor()
    await button(page, 'Ask the operator').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The operator receives it. The answer comes to empty@shop.test.').waitFor()
    expect(await dialog.getByRole('textbox', { name: 'Question' }).inputValue()).toContain('pay into our wallet')
    await dialog.getByRole('button', { name: 'Send' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await loadPage(testbed, operator, '/notices')
    await operator.getByText('Nothing Yet asks: How can we pay into our wallet?').waitFor()
    const { name, email: supportEmail, phone: supportPhone, hours: supportHours } = CONTACT
    await put('/operator-brand', { name, supportEmail, supportPhone, supportHours })
    const details = { bankDetails: 'IBAN GB00 1234', paymentUrl: null, secondPersonAbove: null, password: PASSWORD }
    await put('/payment-settings/USD', details)
    await loadPage(testbed, page, '/')
    await page.getByText('IBAN GB00 1234').waitFor()
    await page.getByRole('link', { name: CONTACT.email }).waitFor()
    await loadPage(testbed, page, `/tenants/${emptyId}/wallet`)
    for (const name of [CONTACT.email, CONTACT.phone]) await page.getByRole('link', { name }).waitFor()
    await page.context().close()
  })

  it('comes from its invitation to the first eSIM that it hands over with 6 clicks and 2 fields', async () => {
    const invited = { name: 'Ada', password: PASSWORD, ...dealerPerson('ada@shop.test', tenantId) }
    const { link } = await api<{ link: string }>(testbed, operator, '/people', invited)
    shop = await testbed.open()
    await shop.goto(link)
    const hands = new Hands(shop)
    await hands.fill(shop.getByLabel('New password'), PASSWORD)
    await hands.click(button(shop, 'Set password'))
    await shop.getByText('Harbour eSIM keeps your prepaid money').waitFor()
    await shop.getByText('USD 500.00 to spend.').waitFor()
    await hands.click(shop.getByRole('main').getByRole('link', { name: 'Buy eSIMs' }))
    await hands.click(shop.locator('[data-place=JP]'))
    await hands.click(shop.locator('[data-offer=JP_1_7]'))
    await hands.click(button(shop, 'Buy 1 eSIM for USD 4.50'))
    await delivered(shop)
    await sendTo(hands, shop, 'first@traveller.test')
    expect(hands.count()).toEqual({ clicks: 6, fields: 2, presses: 0 })
  })

  it('buys and hands over with at most 6 clicks and 2 fields', async () => {
    await loadPage(testbed, shop, '/')
    const hands = new Hands(shop)
    await hands.click(shop.getByRole('main').getByRole('link', { name: 'Buy eSIMs' }).first())
    // The places of the latest orders come first, and say so.
    await shop.locator('.tile').first().getByRole('img', { name: 'Bought lately' }).waitFor()
    await hands.click(shop.locator('.tile').first())
    await hands.click(shop.locator('[data-offer=JP_1_7]'))
    await hands.click(button(shop, 'Buy 1 eSIM for USD 4.50'))
    await delivered(shop)
    await sendTo(hands, shop, 'second@traveller.test')
    const { clicks, fields } = hands.count()
    expect([clicks <= 6, fields <= 2]).toEqual([true, true])
  })

  it('buys and hands over with the keyboard alone, in at most 20 presses', async () => {
    await shop.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await loadPage(testbed, shop, '/')
    await heading(shop, 'Home').waitFor()
    const hands = new Hands(shop)
    await hands.press('g', 'b')
    await shop.getByRole('searchbox').waitFor()
    await expect.poll(() => hands.focusedName()).toBe('Country or region, such as Korea 1 GB')
    await hands.press(...'jp 1gb', 'Enter')
    await expect.poll(() => hands.focusedName()).toMatch(/^Japan · 1 GB · 7 days, USD 4.50/)
    await hands.press('Enter')
    await expect.poll(() => announced(shop)).toContain('Total USD 4.50')
    await hands.pressUntil('Tab', 'Go to the button that buys')
    await hands.press('Enter')
    await expect.poll(() => hands.focusedName()).toBe('Buy 1 eSIM for USD 4.50')
    await hands.press('Enter')
    await delivered(shop)
    await ticket(shop).getByRole('textbox', { name: 'Link for the traveller' }).waitFor()
    await hands.pressUntil('Tab', 'Copy link')
    await hands.press('Enter')
    await expect.poll(() => announced(shop)).toContain('The link was copied.')
    expect(await shop.evaluate<string>('navigator.clipboard.readText()')).toMatch(/\/share\//)
    expect(hands.count().presses).toBeLessThanOrEqual(20)
  })

  it('moves between prices with the arrow keys, which Tab passes in one press', async () => {
    await loadPage(testbed, shop, '/buy?place=JP')
    const hands = new Hands(shop)
    await shop.locator('[data-offer=JP_1_7]').focus()
    await hands.press('ArrowRight')
    const right = await hands.focusedName()
    expect(right).toMatch(/^Japan/)
    await hands.press('ArrowDown', 'ArrowUp', 'ArrowLeft')
    expect(await hands.focusedName()).toMatch(/^Japan/)
    await hands.press('Tab')
    expect(await shop.evaluate(`document.activeElement.closest('.prices') === null`)).toBe(true)
  })

  it('goes on with Enter from the traveller’s name, buys only with the button, and drops no name', async () => {
    await loadPage(testbed, shop, '/buy?place=JP')
    await shop.locator('[data-offer=JP_1_7]').click()
    const hands = new Hands(shop)
    await hands.fill(shop.getByRole('textbox', { name: 'Name of the traveller' }), 'Mei Tanaka')
    await hands.press('Enter')
    await expect.poll(() => shop.evaluate('document.activeElement.name')).toBe('email')
    await hands.press('Enter')
    await expect.poll(() => hands.focusedName()).toBe('Buy 1 eSIM for USD 4.50')
    await hands.press('Enter')
    await expect.poll(() => shop.evaluate('document.activeElement.name')).toBe('email')
    expect(await shop.evaluate('document.activeElement.validity.valueMissing')).toBe(true)
    expect(new URL(shop.url()).pathname).toMatch(/\/buy$/)
    // Several eSIMs are for several travellers.
    await shop.getByRole('button', { name: 'One more' }).click()
    await shop.getByRole('textbox', { name: 'Name of the traveller' }).waitFor({ state: 'detached' })
  })

  it('hears price, delivery and sending from a screen reader, and never loses the focus', async () => {
    await loadPage(testbed, shop, '/buy')
    const kept = () => isFocusKept(shop)
    await shop.locator('[data-place=JP]').click()
    await shop.locator('[data-offer=JP_1_7]').click()
    await expect.poll(() => announced(shop)).toMatch(/Japan · 1 GB · 7 days\. Total USD 4\.50, balance after it USD/)
    expect(await kept()).toBe(true)
    await button(shop, 'Buy 1 eSIM for USD 4.50').click()
    await delivered(shop)
    await expect
      .poll(() => announced(shop))
      .toMatch(/1 of 1 eSIM delivered\. Delivered [\d.]+ sec after your click\. USD 4\.50 paid/)
    expect(await kept()).toBe(true)
    // One button is the primary one: what is left to do.
    await expect.poll(() => primaryButtons(shop)).toEqual(['Send'])
    smtp.refusals = { rcpt: '550 no such mailbox' }
    await ticket(shop).getByRole('textbox', { name: /mail/i }).fill('nobody@traveller.test')
    await button(shop, 'Send').click()
    const refused = 'Not delivered: the address was refused · nobody@traveller.test'
    await expect.poll(() => announced(shop), { timeout: 60_000 }).toContain(refused)
    expect(await announced(shop)).not.toContain('is on its way')
    await expect.poll(() => primaryButtons(shop)).toEqual(['Send'])
    smtp.refusals = {}
    await sendTo(new Hands(shop), shop, 'third@traveller.test')
    await expect.poll(() => announced(shop)).toContain('third@traveller.test')
    // The button is disabled while it sends.
    await expect.poll(kept).toBe(true)
    await expect.poll(() => primaryButtons(shop)).toEqual(['Next customer'])
    const link = /https?:\S+/.exec(smtp.mails.at(-1)!.text)![0]
    await testbed.open().then((page) => page.goto(link).then(() => page.context().close()))
    await ticket(shop)
      .getByText(/^Opened by the traveller/)
      .waitFor({ timeout: 60_000 })
    await button(shop, 'Next customer').click()
    await shop.getByRole('searchbox').waitFor()
    await expect.poll(kept).toBe(true)
  })

  it('reads that an earlier press counts, whose answer was lost, and sends the eSIM to the corrected address', async () => {
    await loadPage(testbed, shop, '/buy?place=JP')
    await shop.locator('[data-offer=JP_1_7]').click()
    const address = shop.getByRole('textbox', { name: 'E-mail address of the traveller' })
    await address.fill('mej@traveller.test')
    // The order is placed, but neither its answer nor the list of orders arrives.
    const lost = { times: 1 }
    await shop.route('**/tenants/*/orders', (route) => route.fetch().then(() => route.abort()), lost)
    await shop.route('**/api/orders**', (route) => route.abort())
    await shop.locator('[data-buy]').click()
    await shop.getByText('It is not known whether this was bought.').waitFor()
    await address.fill('mei@traveller.test')
    await shop.unroute('**/api/orders**')
    await shop.locator('[data-buy]').click()
    const said = shop.locator('[data-earlier-press]')
    await said.getByText('The eSIM goes to mej@traveller.test').waitFor()
    await said.getByText('It was not sent to mei@traveller.test').waitFor()
    await delivered(shop)
    const form = ticket(shop).getByRole('form', { name: 'Send by e-mail' })
    expect(await form.getByRole('textbox', { name: /mail/i }).inputValue()).toBe('mei@traveller.test')
    await form.getByRole('button', { name: 'Send' }).click()
    const addresses = () => smtp.mails.map(({ to }) => to)
    await expect
      .poll(addresses, { timeout: 60_000 })
      .toEqual(expect.arrayContaining(['mej@traveller.test', 'mei@traveller.test']))
  })

  it('finds an eSIM by its traveller’s address, which no URL has', async () => {
    const urls: string[] = []
    shop.on('request', (request) => urls.push(request.url()))
    shop.on('framenavigated', (frame) => urls.push(frame.url()))
    await loadPage(testbed, shop, '/profiles')
    await shop.locator('tr[data-row]').nth(1).waitFor()
    const search = shop.getByRole('main').getByRole('searchbox')
    const rows = () => shop.locator('tr[data-row]').count()
    // People pause before the @. A reload or another filter at that moment keeps what they typed.
    await search.fill('first')
    await shop.getByText('Enter the full ICCID').waitFor()
    await chooseFilter(shop, 'eSIM status', { label: 'Not used yet' })
    await shop.reload()
    await expect.poll(() => search.inputValue()).toBe('first')
    await button(shop, 'List options').click()
    await shop.getByRole('menuitem', { name: 'Save this view' }).click()
    const view = shop.getByRole('dialog')
    await view.getByRole('textbox', { name: 'Name' }).fill('One traveller')
    await view.getByRole('button', { name: 'Save' }).click()
    await view.getByText('A view cannot hold an e-mail address.').waitFor()
    await shop.keyboard.press('Escape')
    await search.fill('first@traveller.test')
    await expect.poll(rows).toBe(1)
    await shop.reload()
    await expect.poll(() => search.inputValue()).toBe('first@traveller.test')
    await expect.poll(rows).toBe(1)
    const download = shop.waitForEvent('download')
    await button(shop, 'List options').click()
    await shop.getByRole('menuitem', { name: 'Export CSV' }).click()
    expect((await download).suggestedFilename()).toBe('profiles.csv')
    await shop.keyboard.press('/')
    await shop.getByRole('textbox', { name: 'Search' }).fill('first@traveller.test')
    await shop.getByRole('dialog').getByText('Japan').first().waitFor()
    expect([shop.url(), ...urls].filter((url) => /traveller(%40|\.test|@)|first/.test(url))).toEqual([])
    await shop.keyboard.press('Escape')
  })

  it('chooses among its brands where it sends a link, and with one brand is not asked', async () => {
    const setBrand = (brand: string, name: string) =>
      put(`/tenants/${tenantId}/brands/${brand}`, { name, replyTo: `care@${brand}.test` })
    const choice = shop.getByRole('combobox', { name: 'Under the brand' })
    const address = shop.getByRole('textbox', { name: 'E-mail address of the traveller' })
    const choosePackage = async () => {
      await loadPage(testbed, shop, '/buy?place=JP')
      await shop.locator('[data-offer=JP_1_7]').click()
      await address.waitFor()
    }
    const repliesTo = (email: string) =>
      expect.poll(() => smtp.mails.find(({ to }) => to === email)?.replyTo, { timeout: 60_000 })
    await setBrand('lotus', 'Lotus Travel')
    await choosePackage()
    expect(await choice.count()).toBe(0)
    await setBrand('outlet', 'Lotus Outlet')
    await choosePackage()
    await choice.selectOption({ label: 'Lotus Outlet' })
    await address.fill('fourth@traveller.test')
    await shop.locator('[data-buy]').click()
    await repliesTo('fourth@traveller.test').toBe('care@outlet.test')
    await delivered(shop)
    // Sent again, under the default brand.
    await ticket(shop).getByRole('combobox', { name: 'Under the brand' }).waitFor()
    await sendTo(new Hands(shop), shop, 'fifth@traveller.test')
    await repliesTo('fifth@traveller.test').toBe('care@lotus.test')
  })

  it('sends links to several travellers under the brand that it chooses for all of them', async () => {
    const transactionId = `several-${randomUUID()}`
    const order = { transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 3 }], amount: 135_000 }
    await api(testbed, shop, `/tenants/${tenantId}/orders`, order)
    const { orders } = await api<{ orders: { orderNo: string }[] }>(testbed, shop, `/orders?q=${transactionId}`)
    await loadPage(testbed, shop, `/tenants/${tenantId}/orders/${orders[0]!.orderNo}`)
    await button(shop, 'Send to travellers').click({ timeout: 60_000 })
    const choice = shop.getByRole('combobox', { name: 'Under the brand' })
    await choice.selectOption({ label: 'Lotus Outlet' })
    const list = shop.getByRole('textbox', { name: 'Travellers' })
    const brandOf = (email: string) =>
      expect.poll(() => smtp.mails.find(({ to }) => to === email)?.replyTo, { timeout: 60_000 })
    let goOn = () => {}
    const held = new Promise<void>((resolve) => (goOn = resolve))
    await shop.route('**/share-link/mail', (route) => held.then(() => route.continue()))
    await list.fill('Mei, sixth@traveller.test\nKen, seventh@traveller.test')
    await button(shop, 'Send 2 e-mails').click()
    await expect.poll(() => choice.isDisabled()).toBe(true)
    goOn()
    for (const email of ['sixth@traveller.test', 'seventh@traveller.test'])
      await brandOf(email).toBe('care@outlet.test')
    await shop.getByText('All e-mails are sent.').waitFor({ timeout: 60_000 })
    await choice.selectOption({ label: 'Lotus Travel' })
    await list.fill('Ana, eighth@traveller.test')
    await button(shop, 'Send 1 e-mail').click()
    await brandOf('eighth@traveller.test').toBe('care@lotus.test')
    await shop.unroute('**/share-link/mail')
  })

  it('reaches its everyday pages from the foot of a phone', async () => {
    await shop.setViewportSize({ width: 390, height: 844 })
    await loadPage(testbed, shop, '/')
    const tabs = shop.getByRole('navigation', { name: 'Everyday pages' })
    await tabs.waitFor() // the page has loaded before the console shows who is signed in
    expect(await tabs.getByRole('link').allInnerTexts()).toEqual(['Home', 'Orders', 'Buy', 'eSIMs', 'Wallet'])
    await tabs.getByRole('link', { name: 'Buy' }).click()
    await shop.locator('[data-place=JP]').click()
    await shop.locator('[data-offer=JP_1_7]').click()
    // The bar of the purchase does not lie under the tabs.
    await button(shop, 'Review and buy').click()
    expect(await shop.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await tabs.getByRole('link', { name: 'eSIMs' }).click()
    const sent = shop.locator('tr[data-row]', { hasText: 'first@traveller.test' })
    await sent.waitFor()
    expect(await sent.innerText()).toMatch(/#\d+ · first@traveller\.test/)
    expect(await sent.evaluate(overlappingTexts)).toEqual([])
    await shop.setViewportSize({ width: 1280, height: 720 })
    await tabs.waitFor({ state: 'hidden' })
  })

  it('asks the operator about an order without an answer, and reads whom it asks and until when', async () => {
    const order = { transactionId: 'trouble', packageInfoList: [{ packageCode: 'SANDBOX_UNKNOWN', count: 1 }] }
    const { price } = await offerOf('SANDBOX_UNKNOWN')
    await api(testbed, shop, `/tenants/${tenantId}/orders`, { ...order, amount: price })
    const { orders } = await api<{ orders: { orderNo: string }[] }>(testbed, shop, '/orders?q=trouble')
    const path = `/tenants/${tenantId}/orders/${orders[0]!.orderNo}`
    await loadPage(testbed, shop, path)
    const state = shop.locator('[data-waiting]')
    await state.getByText(/The supplier has not answered since/).waitFor({ timeout: 60_000 })
    await state.getByText(/at the latest reviewed by|checking this order/).waitFor()
    await state.getByText('Harbour eSIM answers your questions:').waitFor()
    for (const name of [CONTACT.email, CONTACT.phone]) await state.getByRole('link', { name }).waitFor()
    expect(await state.innerText()).not.toMatch(/sandbox/i)
    await state.getByRole('button', { name: 'Ask the operator' }).click()
    const dialog = shop.getByRole('dialog')
    await dialog.getByText(/^#\d+ · .+ · USD/).waitFor()
    await dialog.getByText('Harbour eSIM receives it. The answer comes to ada@shop.test.').waitFor()
    await dialog.getByRole('textbox', { name: 'Question' }).fill('The customer is waiting.')
    await dialog.getByRole('button', { name: 'Send' }).click()
    await shop.getByText('Harbour eSIM has received your question.').waitFor()
    // The page of a purchase says since when it waits, and that nobody has to.
    await loadPage(testbed, shop, '/buy?order=trouble')
    const waits = /0 of 1 eSIM delivered.+has been preparing it since .+\d.+ You can serve the next customer/
    await shop.getByRole('status').filter({ hasText: waits }).waitFor()
    await loadPage(testbed, operator, '/notices')
    await operator.getByText(/Lotus Travel asks about order #\d+: The customer is waiting\./).waitFor()
    await loadPage(testbed, operator, path)
    await operator.getByText('The customer is waiting.').waitFor()
    expect(testbed.browserErrors).toEqual([])
  })

  const dealerPerson = (email: string, of: string) => ({ email, role: 'DEALER_ADMIN', tenantId: of })

  async function offerOf(packageCode: string): Promise<{ price: number }> {
    const path = `/tenants/${tenantId}/buyable-packages?keyword=${packageCode}`
    return (await api<{ packages: { price: number }[] }>(testbed, shop, path)).packages[0]!
  }

  async function sendTo(hands: Hands, page: Page, email: string): Promise<void> {
    const form = ticket(page).getByRole('form', { name: 'Send by e-mail' })
    await hands.fill(form.getByRole('textbox', { name: /mail/i }), email)
    await hands.click(form.getByRole('button', { name: 'Send' }))
    await expect.poll(() => smtp.mails.map(({ to }) => to), { timeout: 60_000 }).toContain(email)
  }
})
