import { expect, it } from 'vitest'
import { api, button, enterPassword, field, heading, loadPage, navigate, type SharedState } from '../console-testbed.ts'

export function supplierFlows(shared: SharedState): void {
  const SECRET = 'secret-of-the-upstream'

  it('a supplier is added, tested, edited and paused in the browser, and its secret is never shown again', async () => {
    const { testbed, page } = shared
    shared.secrets.push(SECRET)
    await navigate(testbed, page, '/suppliers')
    await page.getByRole('link', { name: 'Add supplier' }).click()
    await page.getByRole('combobox', { name: 'Type' }).click()
    await page.getByRole('option', { name: 'Dealer eSIM Gateway' }).click()
    await field(page, 'Name').fill('upstream')
    await field(page, 'Address').fill('http://127.0.0.1:9')
    await field(page, 'AppKey').fill('short')
    await page.getByRole('textbox', { name: 'AppSecret', exact: true }).fill(SECRET)
    await enterPassword(page)
    await button(page, 'Add supplier').click()
    // The error is shown at its field, and the password is not requested again.
    await page.getByRole('alert').getByText('Correct the marked fields.').waitFor()
    await page.getByText('It must be 8 to 64 letters').waitFor()
    expect(await field(page, 'Your password').count()).toBe(0)
    await field(page, 'AppKey').fill('ak_0123456789')
    await button(page, 'Add supplier').click()
    await heading(page, 'upstream').waitFor()
    // Adding it also tested it: nothing answers at this address. The state is the same after a reload.
    await page.getByText('Added. Its test failed: correct the settings.').waitFor()
    await page.locator('[data-state=failing]').getByText('Failing since').waitFor()
    await page.reload()
    await page.locator('[data-reason]').getByText('127.0.0.1').waitFor()
    await navigate(testbed, page, '/')
    await page.locator('[data-attention=failingSuppliers]').click()
    await page.locator('[data-row=upstream]').locator('[data-state=failing]').waitFor()
    await button(page, 'Test: upstream').click()
    await page.getByRole('dialog', { name: 'upstream is not working' }).getByRole('alert').waitFor()
    await button(page, 'Edit settings').click()
    await heading(page, 'upstream').waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('config.url')
    expect(await page.getByRole('textbox', { name: 'AppSecret', exact: true }).inputValue()).toBe('')
    await page.getByText('Set, and not shown').waitFor()
    await field(page, 'Address').fill('http://127.0.0.2:9')
    await save()
    await page.getByText('Enter it again: secrets are not sent to a different address.').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('textbox', { name: 'AppSecret', exact: true }).fill(SECRET)
    await save()
    await page.getByText('Saved. The test failed: ').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await field(page, 'Address').inputValue()).toBe('http://127.0.0.2:9')
    expect(await page.getByRole('textbox', { name: 'AppSecret', exact: true }).inputValue()).toBe('')

    await button(page, 'More').click()
    await page.getByRole('menuitem', { name: 'Pause' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
    await page.locator('[data-state=paused]').waitFor()
    await page.getByText('Paused. Its orders go to the next supplier').waitFor()
  })

  it('a supplier is shown as resumed before the gateway answers, as paused if it refuses, and Undo pauses it again', async () => {
    const { testbed, page } = shared
    // Also before a second attempt. Loading the page ends the message about the pause, which offers to undo it, too.
    await api(testbed, page, '/suppliers/upstream/pause', {})
    await loadPage(testbed, page, '/suppliers')
    const row = page.locator('[data-row=upstream]')
    const paused = row.locator('[data-state=paused]')
    const resume = row.getByRole('button', { name: 'Resume' })
    const isPaused = async () => {
      const { suppliers } = await api<{ suppliers: { supplier: string; paused: boolean }[] }>(
        testbed,
        page,
        '/suppliers',
      )
      return suppliers.find(({ supplier }) => supplier === 'upstream')?.paused
    }
    await paused.waitFor()
    let answer = () => {}
    const answers = new Promise<void>((resolve) => {
      answer = resolve
    })
    const refusal = { status: 409, json: { code: 'NOT_POSSIBLE', message: 'Not before noon.' } }
    await page.route('**/api/suppliers/upstream/resume', (route) => answers.then(() => route.fulfill(refusal)))
    // The list is read again now and then, which would show the old state.
    await page.route('**/api/suppliers', (route) => answers.then(() => route.continue()).catch(() => {}))
    await resume.click()
    await paused.waitFor({ state: 'detached' })
    answer()
    await page.getByText('Not before noon.').waitFor()
    await paused.waitFor()
    await page.unroute('**/api/suppliers/upstream/resume')
    await page.unroute('**/api/suppliers')
    await resume.click()
    await button(page, 'Undo').click()
    await expect.poll(isPaused).toBe(true)
    await paused.waitFor()
    await expect.poll(() => button(page, 'Undo').count()).toBe(0)
  })

  async function save(): Promise<void> {
    const { page } = shared
    await button(page, 'Save').click()
    const dialog = page.getByRole('dialog')
    await enterPassword(dialog)
    await dialog.getByRole('button', { name: 'Save' }).click()
  }
}
