import { expect, it } from 'vitest'
import { button, go, heading, newcomer, type Stage } from '../console-world.ts'

export function priceFlows(stage: Stage): void {
  it('makes a plan, gives it to a dealer, whose price list and package/list then say the same', async () => {
    const { world, page, dealer } = stage
    const dialog = page.getByRole('dialog')
    const { packageList: before } = await world.client(dealer).packages({ pageSize: 1 })
    await go(world, page, '/catalogue/prices')
    await button(page, 'New plan').click()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('HALF')
    await dialog.getByRole('button', { name: 'New plan' }).click()
    await heading(page, 'HALF').waitFor()
    await button(page, 'Set rule').click()
    await dialog.getByRole('textbox', { name: 'Percent' }).fill('-50')
    await dialog.getByRole('button', { name: 'Set rule' }).click()
    await page.getByRole('cell', { name: '-50% on the list price', exact: true }).waitFor()

    await go(world, page, `/tenants/${dealer.tenantId}/prices`)
    await button(page, 'Change plan').click()
    await dialog.getByRole('combobox', { name: 'Price plan' }).selectOption('HALF')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'HALF' }).waitFor()
    const { packageCode = '' } = before[0] ?? {}
    const { packageList } = await world.client(dealer).packages({ packageCode })
    const halves = before.map((item) => ('price' in item ? Math.ceil(item.price / 2) : undefined))
    expect(packageList.map((item) => 'price' in item && item.price)).toEqual(halves)

    const theirs = await newcomer(stage, {
      email: 'buyer@prices.test',
      role: 'DEALER_STAFF',
      tenantId: dealer.tenantId,
    })
    await go(world, theirs, `/tenants/${dealer.tenantId}/prices?keyword=${packageCode}`)
    await theirs.locator(`[data-row="${packageCode}"]`).waitFor()
    expect(await theirs.locator('main').textContent()).not.toMatch(/plan|HALF|group|List price/i)
    await theirs.context().close()

    await go(world, page, '/catalogue/prices/plans/HALF')
    await button(page, 'Delete').click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('alert').getByText('1 tenant is on HALF').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })

  it('puts a dealer into a group, whose page leads to its plan and its dealers, and takes it out again', async () => {
    const { world, page, dealer } = stage
    const dialog = page.getByRole('dialog')
    const main = page.getByRole('main')
    await go(world, page, '/catalogue/prices/groups')
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
    expect(await button(page, /^Remove Flow/).count()).toBe(0)
    for (const [list, name] of [
      ['/catalogue/prices', 'HALF'],
      ['/catalogue/prices/groups', 'A.B:C'],
    ] as const) {
      await go(world, page, list)
      await main.getByRole('link', { name }).click()
      await heading(page, name).waitFor()
    }
  })
}
