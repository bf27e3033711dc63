import { expect, it } from 'vitest'
import { button, chooseMore, heading, inviteAndSignIn, navigate, type SharedState } from '../console-testbed.ts'
import { loadingEnds } from '../console-tour.ts'

export function priceFlows(shared: SharedState): void {
  it('a plan assigned to a dealer changes its price list and package/list alike', async () => {
    const { testbed, page, dealer } = shared
    const dialog = page.getByRole('dialog')
    const { packageList: before } = await testbed.client(dealer).packages({ pageSize: 1 })
    await navigate(testbed, page, '/catalogue/prices')
    await button(page, 'New plan').click()
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('HALF')
    await dialog.getByRole('button', { name: 'New plan' }).click()
    await heading(page, 'HALF').waitFor()
    await button(page, 'Set rule').click()
    await dialog.getByRole('textbox', { name: 'Percentage', exact: true }).fill('-50')
    await dialog.getByRole('button', { name: 'Set rule' }).click()
    await page.getByRole('cell', { name: '−50% on the list price', exact: true }).waitFor()

    await navigate(testbed, page, `/tenants/${dealer.tenantId}/prices`)
    await button(page, 'Change plan').click()
    await dialog.getByRole('combobox', { name: 'Price plan' }).selectOption('HALF')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'HALF' }).waitFor()
    const { packageCode = '' } = before[0] ?? {}
    const { packageList } = await testbed.client(dealer).packages({ packageCode })
    const halves = before.map((item) => ('price' in item ? Math.ceil(item.price / 2) : undefined))
    expect(packageList.map((item) => 'price' in item && item.price)).toEqual(halves)

    const theirPage = await inviteAndSignIn(shared, {
      email: 'buyer@prices.test',
      role: 'DEALER_STAFF',
      tenantId: dealer.tenantId,
    })
    await navigate(testbed, theirPage, `/tenants/${dealer.tenantId}/prices?keyword=${packageCode}`)
    await theirPage.locator(`[data-row="${packageCode}"]`).waitFor()
    await loadingEnds(theirPage)
    expect(await theirPage.locator('main').textContent()).not.toMatch(/plan|HALF|group|List price/i)
    await theirPage.context().close()

    await navigate(testbed, page, '/catalogue/prices/plans/HALF')
    await chooseMore(page, 'Delete')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('alert').getByText('1 tenant is on HALF').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })

  it('a plan can add a percentage to the cost, and round the price', async () => {
    const { testbed, page } = shared
    const dialog = page.getByRole('dialog')
    await navigate(testbed, page, '/catalogue/prices')
    await button(page, 'New plan').click()
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('COST-PLUS')
    await dialog.getByRole('button', { name: 'New plan' }).click()
    await heading(page, 'COST-PLUS').waitFor()
    await button(page, 'Set rule').click()
    await dialog.getByRole('textbox', { name: 'Percentage', exact: true }).fill('20')
    await dialog.getByRole('combobox', { name: 'Percentage of' }).selectOption('The cost')
    await dialog.getByRole('textbox', { name: 'Round to' }).fill('.99')
    await dialog.getByRole('button', { name: 'Set rule' }).click()
    await page.getByRole('cell', { name: '20% on the cost, rounded to .99', exact: true }).waitFor()
  })

  it('a dealer is added to a group and removed again, and the group links to its plan and dealers', async () => {
    const { testbed, page, dealer } = shared
    const dialog = page.getByRole('dialog')
    const main = page.getByRole('main')
    await navigate(testbed, page, '/catalogue/prices/groups')
    await button(page, 'New group').click()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('A.B:C')
    await dialog.getByRole('button', { name: 'New group' }).click()
    await heading(page, 'A.B:C').waitFor()
    await main.getByText('No dealers in this group yet.').waitFor()
    await button(page, 'Change').click()
    await dialog.getByRole('combobox', { name: 'Price plan' }).selectOption('HALF')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await button(page, 'Add dealer').click()
    await dialog.getByRole('combobox', { name: 'Dealer' }).fill('Flow')
    await page.getByRole('option', { name: /^Flow/ }).click()
    await dialog.getByRole('button', { name: 'Add dealer' }).click()
    await main.getByRole('link', { name: /^Flow/ }).click()
    await page.waitForURL(`**/tenants/${dealer.tenantId}/prices`)
    await main.getByRole('link', { name: 'A.B:C' }).click()
    await button(page, /^Remove Flow .* from the group$/).click()
    await main.getByText('No dealers in this group yet.').waitFor()
    await main.getByRole('link', { name: 'HALF' }).click()
    await heading(page, 'HALF').waitFor()
    await main.getByRole('link', { name: /^Flow/ }).waitFor()
    expect(await button(page, /^Remove Flow .* from the group/).count()).toBe(0)
    for (const [list, name] of [
      ['/catalogue/prices', 'HALF'],
      ['/catalogue/prices/groups', 'A.B:C'],
    ] as const) {
      await navigate(testbed, page, list)
      await main.getByRole('link', { name }).click()
      await heading(page, name).waitFor()
    }
  })
}
