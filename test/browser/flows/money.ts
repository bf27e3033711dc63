import { expect, it } from 'vitest'
import { api, button, field, heading, inviteAndSignIn, navigate, type SharedState } from '../console-testbed.ts'

const AMBIGUOUS = '"1,250" is not an amount: use the form 1250.00, without thousands separators.'

export function moneyFlows(shared: SharedState): void {
  it('a top-up appears in account/balance immediately', async () => {
    const { testbed, page, dealer } = shared
    await navigate(testbed, page, `/tenants/${dealer.tenantId}/wallet`)
    await button(page, 'Top up').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: /Amount/ }).fill('1250.50')
    await dialog.getByRole('textbox', { name: 'Payment reference' }).fill('bank 4711')
    await dialog.getByRole('button', { name: 'Top up' }).click()
    await dialog.getByRole('button', { name: 'Credit USD 1,250.50' }).click()
    await page.locator('[data-balance="12505000"]').waitFor()
    expect((await testbed.client(dealer).balance()).balance).toBe(12_505_000)
    await page.locator('[data-row="1"]').getByText('bank 4711').waitFor()
  })

  it('a dialog cannot be closed while its request is running', async () => {
    const { page } = shared
    const dialog = page.getByRole('dialog')
    let release = () => {}
    const closingTried = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/wallet/top-ups', (route) => closingTried.then(() => route.continue()))
    await button(page, 'Top up').first().click()
    await dialog.getByRole('textbox', { name: /Amount/ }).fill('1250.50')
    await dialog.getByRole('textbox', { name: 'Payment reference' }).fill('bank 4711')
    await dialog.getByRole('button', { name: 'Top up' }).click()
    await dialog.getByRole('button', { name: 'Credit USD 1,250.50' }).click()
    await expect.poll(() => dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true)
    expect(await dialog.getByRole('button', { name: 'Close' }).isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 5)
    expect(await dialog.count()).toBe(1)
    release()
    await page.getByText('This payment was already credited.').waitFor()
    await dialog.waitFor({ state: 'hidden' })
    await page.unroute('**/wallet/top-ups')
  })

  it('an adjustment needs a second person’s approval, and its reason is on the statement', async () => {
    const { testbed, page, dealer } = shared
    await button(page, 'Propose adjustment').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: /Amount/ }).fill('-0.50')
    await dialog.getByRole('textbox', { name: 'Reference' }).fill('fee 1')
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('a fee that the bank kept')
    await dialog.getByRole('button', { name: 'Propose adjustment' }).click()
    await button(page, /^Withdraw: .*, fee 1$/).waitFor()
    expect(await button(page, /^Approve:/).count()).toBe(0)
    expect((await testbed.client(dealer).balance()).balance).toBe(12_505_000)
    await refusesOwnApproval()

    const second = await inviteAndSignIn(shared, { email: 'second@operator.test', role: 'OPERATOR_STAFF' })
    await second.locator('[data-attention=adjustments]').click()
    await button(second, /^Approve: .*, fee 1$/).click()
    const confirmation = second.getByRole('dialog')
    const dealerName = await heading(page, /./).innerText()
    for (const text of [dealerName, '−USD 0.50', 'fee 1', 'a fee that the bank kept'])
      await confirmation.getByText(text, { exact: true }).waitFor()
    expect((await testbed.client(dealer).balance()).balance).toBe(12_505_000)
    await confirmation.getByRole('button', { name: 'Approve −USD 0.50' }).click()
    await second.getByText('Approved and posted.').waitFor()
    expect((await testbed.client(dealer).balance()).balance).toBe(12_500_000)
    await navigate(testbed, second, `/tenants/${dealer.tenantId}/wallet`)
    await second.locator('[data-row="2"]').getByText('a fee that the bank kept').waitFor()
    await second.context().close()
  })

  it('an ambiguous amount is rejected by every form', async () => {
    const { testbed, page, dealer } = shared
    const own = `/tenants/${dealer.tenantId}`
    const { balance } = await testbed.client(dealer).balance()
    await api(testbed, page, '/price-plans', { planName: 'COMMA' })
    await navigate(testbed, page, `${own}/wallet`)
    await expectRefused('Top up', { Amount: '1,250', 'Payment reference': 'comma 1' })
    await expectRefused('Propose adjustment', { Amount: ' 1,250', Reference: 'comma 2', Reason: 'a comma' })
    await navigate(testbed, page, `${own}/prices`)
    await expectRefused('Set own price', { Package: 'SANDBOX_OK', Price: '1,250' }, 'Save')
    await navigate(testbed, page, '/catalogue/prices/plans/COMMA')
    await expectRefused('Set rule', { Package: 'SANDBOX_OK', Price: '1,250' })

    await navigate(testbed, page, `${own}/settings`)
    const limits = ['Credit limit', 'Daily spend limit', 'Low-balance threshold']
    for (const label of limits) await field(page, label).fill('1,250')
    const form = page.locator('form').filter({ has: field(page, 'Credit limit') })
    await form.getByRole('button', { name: 'Save' }).click()
    await form
      .getByText(AMBIGUOUS)
      .nth(limits.length - 1)
      .waitFor()
    expect((await testbed.client(dealer).balance()).balance).toBe(balance)
  })

  /** Fills and submits a dialog, and expects the error about the amount's format. */
  async function expectRefused(title: string, fields: Record<string, string>, submit = title): Promise<void> {
    const dialog = shared.page.getByRole('dialog')
    await button(shared.page, title).first().click()
    const kind = dialog.getByRole('combobox', { name: 'Rule type' })
    await dialog.getByRole('textbox').first().waitFor()
    if ((await kind.count()) > 0) {
      await dialog.getByRole('combobox', { name: 'Packages' }).selectOption('One package')
      await kind.selectOption('Fixed price')
    }
    for (const [name, text] of Object.entries(fields)) {
      const label = new RegExp(`^${name}`)
      const input = dialog.getByRole('textbox', { name: label }).or(dialog.getByRole('combobox', { name: label }))
      await input.last().fill(text)
      if (name === 'Package') await shared.page.getByRole('option', { name: text }).first().click()
    }
    await dialog.getByRole('button', { name: submit }).click()
    await dialog.getByText(AMBIGUOUS).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'hidden' })
  }

  async function refusesOwnApproval(): Promise<void> {
    const { testbed, page, dealer } = shared
    const { adjustments } = await api<{ adjustments: { adjustmentId: string }[] }>(
      testbed,
      page,
      '/adjustments?open=true',
    )
    const path = `/tenants/${dealer.tenantId}/adjustments/${adjustments[0]?.adjustmentId}/approve`
    await expect(api(testbed, page, path, {})).rejects.toThrow('SECOND_PERSON_NEEDED')
  }
}
