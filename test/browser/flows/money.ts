import { expect, it } from 'vitest'
import { api, button, go, heading, newcomer, type Stage } from '../console-world.ts'

export function moneyFlows(stage: Stage): void {
  it('tops a wallet up, which account/balance says at once', async () => {
    const { world, page, dealer } = stage
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

  it('adjusts a balance only when a second person approves, with the reason on the statement', async () => {
    const { world, page, dealer } = stage
    await button(page, 'Propose adjustment').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: /Amount/ }).fill('-0.50')
    await dialog.getByRole('textbox', { name: 'Reference' }).fill('fee 1')
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('a fee that the bank kept')
    await dialog.getByRole('button', { name: 'Propose adjustment' }).click()
    await button(page, 'Withdraw').waitFor()
    expect(await button(page, 'Approve').count()).toBe(0)
    expect((await world.client(dealer).balance()).balance).toBe(12_505_000)
    await refusesToApproveOneself()

    const second = await newcomer(stage, { email: 'second@operator.test', role: 'OPERATOR_STAFF' })
    await second.locator('[data-attention=adjustments]').click()
    await button(second, 'Approve').click()
    const asked = second.getByRole('dialog')
    const dealerName = await heading(page, /./).innerText()
    for (const words of [dealerName, '-USD 0.50', 'fee 1', 'a fee that the bank kept'])
      await asked.getByText(words, { exact: true }).waitFor()
    expect((await world.client(dealer).balance()).balance).toBe(12_505_000)
    await asked.getByRole('button', { name: 'Approve -USD 0.50' }).click()
    await second.getByText('Approved and posted.').waitFor()
    expect((await world.client(dealer).balance()).balance).toBe(12_500_000)
    await go(world, second, `/tenants/${dealer.tenantId}/wallet`)
    await second.locator('[data-row="2"]').getByText('a fee that the bank kept').waitFor()
    await second.context().close()
  })

  async function refusesToApproveOneself(): Promise<void> {
    const { world, page, dealer } = stage
    const { adjustments } = await api<{ adjustments: { adjustmentId: string }[] }>(
      world,
      page,
      '/adjustments?open=true',
    )
    const path = `/tenants/${dealer.tenantId}/adjustments/${adjustments[0]?.adjustmentId}/approve`
    await expect(api(world, page, path, {})).rejects.toThrow('SECOND_PERSON_NEEDED')
  }
}
