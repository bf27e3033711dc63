import { makeIccid } from '@dealer-esim/contract'
import { expect, it } from 'vitest'
import { api, button, chooseMore, copyable, field, navigate, type SharedState } from '../console-testbed.ts'
import { loadingEnds } from '../console-tour.ts'

const NUMBER = /^#\d+$/

/** Opens an order in the list. Only the first cell of a row is a link, so the number comes first. */
async function openInList({ testbed, page }: SharedState, transactionId: string): Promise<void> {
  const { orders } = await api<{ orders: { orderNo: string }[] }>(testbed, page, `/orders?q=${transactionId}`)
  await page.locator(`[data-row="${orders[0]!.orderNo}"]`).getByRole('link', { name: NUMBER }).click()
}

export function orderFlows(shared: SharedState): void {
  function place(transactionId: string, packageCode: string, count = 1) {
    return shared.testbed.client(shared.dealer).order({ transactionId, packageInfoList: [{ packageCode, count }] })
  }

  async function open(transactionId: string): Promise<void> {
    const { testbed, page } = shared
    await navigate(testbed, page, `/orders?q=${transactionId}`)
    await openInList(shared, transactionId)
    await page.locator('[data-number]').waitFor()
    await copyable(page, 'transactionId').getByText(transactionId).waitFor({ state: 'attached' })
  }

  it('an order’s timeline runs from the request to the eSIM', async () => {
    const { testbed, page } = shared
    // For reviewFlows: it takes the sandbox a while to put this order under review.
    await place('unanswered', 'SANDBOX_UNKNOWN', 2)
    await place('to-top-up', 'SANDBOX_OK')
    const client = testbed.client(shared.dealer)
    await client.waitForOrder({ transactionId: 'to-top-up' })
    const { esimTranNo } = (await client.profiles({ transactionId: 'to-top-up' })).profileList[0]!
    await client.topup({ transactionId: 'late-top-up', esimTranNo, packageCode: 'SANDBOX_TOPUP_UNKNOWN' })
    await place('followed', 'SANDBOX_OK', 2)
    await open('followed')
    await page.locator('[data-step="STATUS"]').getByText('Order delivered').waitFor()
    const steps = page.locator('[data-step]')
    const kinds = () => steps.evaluateAll((all) => all.map((one) => one.getAttribute('data-step')))
    await expect.poll(async () => new Set(await kinds())).toEqual(new Set(['REQUEST', 'STATUS', 'DEBIT', 'ATTEMPT']))
    await button(page, /^Show events and their deliveries/).click()
    await expect.poll(kinds).toContain('EVENT')
    await expect.poll(async () => (await kinds()).at(-1)).toBe('REQUEST') // newest first
    expect(await steps.first().locator('time').innerText()).toMatch(/\d:\d\d:\d\d/)
    await expect.poll(async () => (await kinds()).length - (await steps.locator('svg').count())).toBe(0)
    await page.getByRole('table', { name: 'eSIMs delivered' }).getByRole('link').first().click()
    await button(page, 'More').waitFor()
    expect(await page.content()).not.toContain('LPA:1$')
    await chooseMore(page, 'Show codes and QR')
    await page.getByRole('img', { name: 'QR code that installs this eSIM' }).waitFor()
    const code = await copyable(page, 'Activation code').innerText()
    expect(code).toMatch(/^LPA:1\$/)
    shared.secrets.push(code)
    await navigate(testbed, page, '/audit?action=profile.view_codes')
    await page.locator('[data-row]').getByText('eSIM codes viewed').waitFor()
  })

  it('an unused eSIM is cancelled at its supplier with a reason, and refunded', async () => {
    const { testbed, page, dealer } = shared
    const { balance } = await testbed.client(dealer).balance()
    await open('followed')
    await page.getByRole('table', { name: 'eSIMs delivered' }).getByRole('link').first().click()
    await button(page, 'More').click()
    await page.getByRole('menuitem', { name: 'Cancel and refund' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('the traveller stays at home')
    await dialog.getByRole('button', { name: /^Cancel and refund USD \d/ }).click()
    await page.locator('[data-status=CANCEL]').waitFor()
    expect((await testbed.client(dealer).balance()).balance).toBeGreaterThan(balance)
    await page.getByRole('link', { name: NUMBER }).click()
    await page.locator('[data-step="DECISION"]').getByText('the traveller stays at home').waitFor()
    await page.locator('[data-step="REFUND"]').waitFor()
  })

  it('an order that waits for a paused supplier can be cancelled with a reason', async () => {
    const { testbed, page, dealer } = shared
    await navigate(testbed, page, '/suppliers')
    await page.locator('[data-row=sandbox]').getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('dialog').getByText('No node buys from this supplier').waitFor()
    expect(await page.locator('[data-state=paused]').count()).toBe(0)
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
    await page.locator('[data-state=paused]').waitFor()
    await page.getByText('Paused. Its orders go to the next supplier').waitFor()
    const { balance } = await testbed.client(dealer).balance()
    await place('no-longer-wanted', 'SANDBOX_OK')
    await open('no-longer-wanted')
    await button(page, 'More').click()
    await page.getByRole('menuitem', { name: /^Cancel and refund USD/ }).click()
    const dialog = page.getByRole('dialog')
    await field(page, 'Reason').fill('ordered by mistake')
    await dialog.getByRole('button', { name: /^Cancel and refund USD \d/ }).click()
    await page.locator('[data-step="STATUS"]').getByText('Order cancelled').waitFor()
    expect((await testbed.client(dealer).balance()).balance).toBe(balance)
    await page.locator('[data-step="DECISION"]').getByText('ordered by mistake').waitFor()
    await navigate(testbed, page, '/suppliers')
    await page.locator('[data-row=sandbox]').getByRole('button', { name: 'Resume' }).click()
    await page.locator('[data-state=working]').first().waitFor()
    await page.getByText('Resumed. Orders are sent to this supplier again.').waitFor()
  })

  it('a failed supplier test shows its message in a dialog that stays until it is closed', async () => {
    const { page } = shared
    const message = 'answered 401: the certificate has expired'
    await page.route('**/api/suppliers/sandbox/test', (route) =>
      route.fulfill({ json: { works: false, words: message } }),
    )
    const row = page.locator('[data-row=sandbox]')
    await row.getByRole('button', { name: 'Test' }).click()
    const dialog = page.getByRole('dialog', { name: 'sandbox is not working' })
    await dialog.getByRole('alert').getByText(message).waitFor()
    await dialog.getByRole('button', { name: 'Edit settings' }).waitFor()
    await page.unroute('**/api/suppliers/sandbox/test')
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await row.getByRole('button', { name: 'Test' }).click()
    await page.getByText('sandbox is working.').waitFor()
    await row.locator('[data-state=working]').waitFor()
  })
}

/** Runs last: by now the sandbox's unanswered order is under review. */
export function reviewFlows(shared: SharedState): void {
  it('recording the supplier’s answer refunds one eSIM in an order under review', async () => {
    const { testbed, page, dealer } = shared
    await navigate(testbed, page, '/')
    await page.locator('[data-attention=underReview]').click()
    await openInList(shared, 'unanswered')
    const { balance } = await testbed.client(dealer).balance()
    await button(page, 'Resolve').click()
    const dialog = page.getByRole('dialog')
    const key = (await copyable(page, 'Supplier reference · eSIM 2').textContent()) ?? ''
    expect(new URL(page.url()).pathname).toContain(key.replace(/-2$/, ''))
    expect(await dialog.getByRole('radio', { checked: true }).count()).toBe(0)
    await dialog.getByRole('radio', { name: /Not delivered/ }).click()
    await dialog.getByRole('textbox', { name: 'Evidence' }).fill('Ticket 77: nothing was issued')
    await dialog.getByRole('button', { name: 'Resolve' }).click()
    await dialog.getByText('Select the eSIMs that the supplier’s answer is about.').waitFor()
    await dialog.getByRole('checkbox', { name: /^2:/ }).click()
    await dialog.getByRole('button', { name: /^Refund 1 eSIM: USD \d/ }).click()
    await page.locator('[data-step="DECISION"]').getByText('Ticket 77').waitFor()
    await expect.poll(() => page.locator('[data-step="REFUND"]').count()).toBe(1)
    expect((await testbed.client(dealer).balance()).balance).toBeGreaterThan(balance)
  })

  it('an eSIM can be entered by its ICCID and activation code, and refused input stays in the fields', async () => {
    const { page } = shared
    await button(page, 'Resolve').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('radio', { name: /enter the eSIMs/ }).click()
    await dialog.getByRole('textbox', { name: 'ICCID' }).fill('8999')
    await dialog.getByRole('textbox', { name: 'Activation code' }).fill('LPA:1$smdp.example.com$LATE-1')
    await dialog.getByRole('textbox', { name: 'Evidence' }).fill('Ticket 78: by telephone')
    const sent = page.waitForRequest(/\/settle$/)
    await dialog.getByRole('button', { name: 'Deliver 1 eSIM' }).click()
    expect((await sent).postDataJSON()).toMatchObject({
      itemNos: [1],
      csv: 'itemNo,iccid,ac\n"1","8999","LPA:1$smdp.example.com$LATE-1"',
    })
    await dialog.getByRole('alert').getByText('iccid').waitFor()
    expect(await dialog.getByRole('textbox', { name: 'ICCID' }).inputValue()).toBe('8999')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'hidden' })
  })

  it('the remaining eSIM is delivered from the supplier’s file', async () => {
    const { page } = shared
    await button(page, 'Resolve').click()
    const dialog = page.getByRole('dialog')
    await expect.poll(() => dialog.getByRole('checkbox', { name: /^1:/ }).isChecked()).toBe(true)
    await dialog.getByRole('radio', { name: /enter the eSIMs/ }).click()
    await dialog.getByRole('switch', { name: 'Use a CSV file instead' }).click()
    const csv = `iccid,ac\n${makeIccid('89999', 777_777n)},LPA:1$smdp.example.com$LATE-1\n`
    const file = { name: 'esims.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) }
    await page.locator('input[type=file]').setInputFiles(file)
    await expect.poll(() => dialog.getByRole('textbox', { name: 'eSIMs as CSV' }).inputValue()).toBe(csv)
    await dialog.getByRole('textbox', { name: 'Evidence' }).fill('Ticket 78: the eSIMs are in this file')
    await dialog.getByRole('button', { name: 'Deliver 1 eSIM' }).click()
    await page.locator('[data-step="STATUS"]').getByText('Order partially delivered').waitFor()
  })

  it('a top-up under review is recorded as delivered, and its page does not expect eSIMs', async () => {
    const { testbed, page, dealer } = shared
    const { balance } = await testbed.client(dealer).balance()
    await navigate(testbed, page, '/orders?q=late-top-up')
    await openInList(shared, 'late-top-up')
    await page.locator('[data-step="ATTEMPT"]').getByText('Top-up ordered from sandbox').first().waitFor()
    await loadingEnds(page)
    expect(await page.getByText('No eSIMs delivered yet').count()).toBe(0)
    await button(page, 'Resolve').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('radio', { name: /the eSIM was topped up/ }).click()
    expect(await dialog.getByRole('radio', { name: /enter the eSIMs/ }).count()).toBe(0)
    await dialog.getByRole('textbox', { name: 'Evidence' }).fill('Ticket 79: the data was added')
    await dialog.getByRole('button', { name: 'Record the top-up' }).click()
    await page.locator('[data-step="STATUS"]').getByText('Order delivered').waitFor()
    expect((await testbed.client(dealer).balance()).balance).toBe(balance)
  })
}
