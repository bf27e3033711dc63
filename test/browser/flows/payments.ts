import type { SmtpReceiver } from '@dealer-esim/gateway/test/harness/servers/smtp-receiver.ts'
import { issueDueStatements } from '@dealer-esim/gateway/wallet/statement/issue-loop.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import {
  api,
  button,
  type ConsoleTestbed,
  enterPassword,
  field,
  heading,
  inviteAndSignIn,
  loadPage,
  navigate,
  OPERATOR,
} from '../console-testbed.ts'
import { loadingEnds } from '../console-tour.ts'

interface PaymentState {
  testbed: ConsoleTestbed
  /** A page signed in as an operator administrator. */
  page: Page
  db: Db
  smtp: SmtpReceiver
}

const AMOUNT = 50_000_000
const PAYER = 'accounts@payer.test'
const LAST_MONTH = monthBefore(new Date())

function monthBefore(time: Date): string {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() - 1)).toISOString().slice(0, 7)
}

/** Payments that two people confirm, and the statement of a month, by the operator and a dealer. */
export function paymentFlows(shared: PaymentState): void {
  let dealer: Page
  let tenantId: string

  const balance = async () =>
    (await api<{ balance: number }>(shared.testbed, dealer, `/tenants/${tenantId}/wallet`)).balance
  const mailTo = (recipient: string, subject: string) =>
    shared.smtp.mails.find((mail) => mail.to === recipient && mail.subject === subject)

  beforeAll(async () => {
    const { testbed, page } = shared
    const input = { clientName: 'Payer Travel', currencyCode: 'USD' }
    tenantId = (await api<{ tenantId: string }>(testbed, page, '/tenants', input)).tenantId
    dealer = await inviteAndSignIn(shared, { email: PAYER, role: 'DEALER_ADMIN', tenantId })
  })

  it('a payment above the set amount is credited only when a second person confirms it', async () => {
    const { testbed, page } = shared
    await page.getByRole('link', { name: 'Payments and statements' }).click()
    const card = page.locator('[data-currency=USD]')
    await card.getByRole('textbox', { name: 'Second person required above (USD)' }).fill('1000.00')
    await card.getByRole('button', { name: 'Save' }).click()
    const password = page.getByRole('dialog')
    await enterPassword(password)
    await password.getByRole('button', { name: 'Save' }).click()
    await password.waitFor({ state: 'hidden' })

    await navigate(testbed, dealer, '/top-up-requests')
    await button(dealer, 'Request top-up').click()
    const form = dealer.getByRole('dialog')
    await form.getByRole('textbox', { name: /Amount/ }).fill('5000.00')
    await form.getByRole('textbox', { name: 'Payment reference' }).fill('INV-900')
    await form.getByRole('button', { name: 'Request top-up' }).click()
    await form.waitFor({ state: 'hidden' })
    const asked = () => mailTo('ops@operator.test', 'A dealer has reported a payment')
    await expect.poll(() => asked()?.text).toContain('5000.00 USD, reference INV-900')
    expect(asked()?.html).toContain('/top-up-requests"')

    await navigate(testbed, page, '/top-up-requests')
    await confirm(page)
    await page.getByText('Recorded. A second person must confirm it too.').waitFor()
    const row = (at: Page) => at.getByRole('row', { name: /INV-900/ })
    await row(page).getByText(`Confirmed by ${OPERATOR}; a second person must confirm it.`).waitFor()
    expect(await button(page, /^Confirm payment:/).count()).toBe(0)
    expect(await balance()).toBe(0)
    await row(dealer).locator('[data-status=REQUESTED]').waitFor()
    await loadingEnds(dealer)
    expect(await dealer.getByText('a second person must confirm it').count()).toBe(0)

    const second = await inviteAndSignIn(shared, { email: 'cashier@operator.test', role: 'OPERATOR_STAFF' })
    await second.locator('[data-attention=topUpRequests]').click()
    await row(second).getByText(`Confirmed by ${OPERATOR}; a second person must confirm it.`).waitFor()
    await confirm(second)
    await second.getByText('Credited.').first().waitFor()
    expect(await balance()).toBe(AMOUNT)
    await row(second).waitFor({ state: 'hidden' }) // The list shows the open requests.
    await row(page).locator('[data-status=PAID]').waitFor({ timeout: 60_000 })
    await row(dealer).locator('[data-status=PAID]').waitFor({ timeout: 60_000 })
    const credited = () => mailTo(PAYER, 'Your top-up was credited: Payer Travel')
    await expect.poll(() => credited()?.text).toContain('5000.00 USD, reference INV-900')
    await second.context().close()
  })

  /** Confirms the only open request. The dialog repeats the amount to be credited. */
  async function confirm(at: Page): Promise<void> {
    await button(at, 'Confirm payment: Payer Travel, INV-900').click()
    const dialog = at.getByRole('dialog')
    for (const text of ['Payer Travel', 'INV-900']) await dialog.getByText(text, { exact: true }).waitFor()
    await dialog.getByRole('button', { name: 'Credit USD 5,000.00' }).click()
    await dialog.waitFor({ state: 'hidden' })
  }

  it('a month’s statement opens as a printable page, and stays as it was issued', async () => {
    const { testbed, page, db } = shared
    await saveDetails('Operator & Sons Ltd')
    await api(testbed, page, `/tenants/${tenantId}/wallet/top-ups`, { amount: 12_345, reference: 'INV-901' })
    await moveToLastMonth()
    // The gateway checks once a minute, but not again on a day on which it has found none.
    await issueDueStatements({ db, ids: systemIds, log: silentLog, checkpointWaitMs: 0 })
    await loadPage(testbed, dealer, `/tenants/${tenantId}/wallet`)
    const month = dealer.getByRole('combobox', { name: /^Month in UTC/ })
    await month.waitFor()
    await loadingEnds(dealer)
    expect(await dealer.getByRole('link', { name: 'Open statement' }).count()).toBe(0)
    await month.selectOption(LAST_MONTH)
    const opened = dealer.getByRole('link', { name: 'Open statement' })
    const [statement] = await Promise.all([dealer.waitForEvent('popup'), opened.click()])
    await heading(statement, 'Account statement').waitFor()
    for (const text of ['Operator & Sons Ltd', '1 Main Street', 'Payer Travel', LAST_MONTH, '5001.23'])
      await statement.getByText(text).first().waitFor()
    await statement.getByText('It is not a tax invoice.').waitFor()
    await statement.getByRole('row', { name: 'Payments credited 2 5001.2345' }).waitFor()
    await statement.getByText(new RegExp(`^[0-9A-Z]{10}-${LAST_MONTH}$`)).waitFor()
    // The policy of the page allows only its own style.
    const align = `getComputedStyle(document.querySelector('td.amount')).textAlign`
    expect(await statement.evaluate(align)).toBe('right')
    expect(await statement.locator('script, img, link').count()).toBe(0)
    await statement.emulateMedia({ media: 'print' })
    const pdf = await statement.pdf({ format: 'A4', preferCSSPageSize: true })
    expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)).toHaveLength(1)
    await statement.emulateMedia({ media: 'screen' })

    const issued = await statement.content()
    await saveDetails('Renamed Operator Inc.')
    await api(testbed, page, `/tenants/${tenantId}/wallet/top-ups`, { amount: 10_000, reference: 'INV-902' })
    await statement.reload()
    expect(await statement.content()).toBe(issued)
    await loadPage(testbed, page, `/tenants/${tenantId}/wallet?month=${LAST_MONTH}`)
    const [ofOperator] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('link', { name: 'Open statement' }).click(),
    ])
    await heading(ofOperator, 'Account statement').waitFor()
    expect(await ofOperator.content()).toBe(issued)
    const kept = { text: 'select from issued_statements where tenant_id = $1 and month = $2' }
    expect(await db.query({ ...kept, values: [tenantId, LAST_MONTH] })).toHaveLength(1)
    await ofOperator.close()
    await dealer.context().close()
  })

  async function saveDetails(legalName: string): Promise<void> {
    const { testbed, page } = shared
    await navigate(testbed, page, '/payment-settings')
    await field(page, 'Legal name').fill(legalName)
    await field(page, 'Address').fill('1 Main Street\nLondon')
    await button(page, 'Save').first().click()
    await expect
      .poll(() => api<{ legalName: string | null }>(testbed, page, '/operator-details'))
      .toMatchObject({ legalName })
  }

  /**
   * Pretends that the account and its movements are a month old, because statements are issued only for months that are
   * over.
   */
  async function moveToLastMonth(): Promise<void> {
    const then = `${LAST_MONTH}-15T12:00:00Z`
    // In one transaction, because the gateway issues statements too.
    await shared.db.tx(async (tx) => {
      for (const text of [
        'update tenants set created_at = $2 where tenant_id = $1',
        'update transfers set created_at = $2 where tenant_id = $1',
        'update wallets set updated_at = $2 where tenant_id = $1',
      ])
        await tx.query({ text, values: [tenantId, then] })
    })
  }
}
