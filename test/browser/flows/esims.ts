import type { Profile } from '@dealer-esim/sdk'
import type { Locator, Page } from 'playwright-core'
import { expect, it, vi } from 'vitest'
import { api, button, chooseMore, copyable, inviteAndSignIn, navigate, type SharedState } from '../console-testbed.ts'
import { loadingEnds } from '../console-tour.ts'

const USED = 'used-in-browser'
const CANCELLED = 'cancelled-in-browser'
const FRESH = 'fresh-in-browser'

/** The page of an eSIM, as seen by its dealer's people and by the operator. */
export function esimFlows(shared: SharedState): void {
  let dealerPage: Page
  let used: Profile
  let unused: Profile[]

  async function open(page: Page, { esimTranNo, iccid }: Profile): Promise<void> {
    await navigate(shared.testbed, page, `/tenants/${shared.dealer.tenantId}/profiles/${esimTranNo}`)
    await copyable(page, 'ICCID').getByText(iccid).waitFor({ state: 'attached' })
  }

  const client = () => shared.testbed.client(shared.dealer)
  const findProfile = async ({ esimTranNo }: Profile) => (await client().profiles({ esimTranNo })).profileList[0]!
  const usageBar = (page: Page) => page.getByRole('progressbar', { name: 'Data used' })
  const usagePercent = async (page: Page) => Number(await usageBar(page).getAttribute('aria-valuenow'))
  /** The sandbox is asked every few seconds. A page that is opened before would have to be refreshed first. */
  const isInUse = (esim: Profile) =>
    expect.poll(async () => (await findProfile(esim)).esimStatus, { timeout: 60_000 }).toBe('IN_USE')
  /** The newest action in the list. */
  const newestAction = (page: Page) => page.getByRole('table', { name: 'Actions' }).locator('[data-row]').first()

  async function act(page: Page, name: string, reason: string): Promise<void> {
    await button(page, 'More').click()
    await page.getByRole('menuitem', { name, exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Reason' }).fill(reason)
    await dialog
      .getByRole('button', { name: new RegExp(`^${name}`) })
      .last()
      .click()
    await Promise.race([dialog.waitFor({ state: 'hidden' }), throwRefusal(dialog)])
  }

  /** The names of the actions under More, after what every eSIM has there. */
  async function offered(page: Page): Promise<string[]> {
    await button(page, 'More').click()
    await page.getByRole('menuitem').first().waitFor()
    const names = await page.getByRole('menuitem').allInnerTexts()
    await page.keyboard.press('Escape')
    expect(names.splice(0, 2)).toEqual(['Show codes and QR', 'Renew share link'])
    return names
  }

  /** Fails with the refusal that the dialog shows, because a retry of the test would find the dialog open. */
  async function throwRefusal(dialog: Locator): Promise<void> {
    const text = await dialog.getByRole('alert').innerText()
    throw new Error(`refused: ${text}`)
  }

  it('for a partial ICCID, the search asks for the full one, which finds the eSIM', async () => {
    const { testbed, page } = shared
    const { profiles } = await api<{ profiles: { iccid: string; profileId: string }[] }>(testbed, page, '/profiles')
    const { iccid, profileId } = profiles[0]!
    await navigate(testbed, page, '/profiles')
    const search = page.getByRole('searchbox', { name: 'ICCID' })
    await search.fill(iccid.slice(0, 6))
    await page.getByText('Enter the full ICCID: 18 to 20 digits.').waitFor()
    expect(await page.getByRole('main').getByRole('alert').count()).toBe(0)
    await search.fill(`${iccid.slice(0, 4)} ${iccid.slice(4)}`)
    await page.locator(`[data-row="${profileId}"]`).waitFor()
    await expect.poll(() => page.locator('[data-row]').count(), { timeout: 20_000 }).toBe(1)
  })

  it('an eSIM in use shows its usage as a growing bar, both to the dealer and to the operator', async () => {
    const { dealer, page } = shared
    const person = { email: 'esims@dealer.test', role: 'DEALER_STAFF', tenantId: dealer.tenantId }
    dealerPage = await inviteAndSignIn(shared, person)
    await client().order({ transactionId: USED, packageInfoList: [{ packageCode: 'SANDBOX_USAGE', count: 1 }] })
    const feeLine = { packageCode: 'SANDBOX_CANCEL_FEE', count: 2 }
    await client().order({ transactionId: CANCELLED, packageInfoList: [feeLine] })
    for (const transactionId of [USED, CANCELLED]) await client().waitForOrder({ transactionId })
    used = (await client().profiles({ transactionId: USED })).profileList[0]!
    await isInUse(used)
    unused = (await client().profiles({ transactionId: CANCELLED })).profileList
    for (const each of [dealerPage, page]) {
      await open(each, used)
      await usageBar(each).waitFor({ timeout: 60_000 })
      await each.getByText(/ \/ 1 GB$/).waitFor()
      expect(await each.getByRole('heading', { name: 'Actions', exact: true }).count()).toBe(0)
    }
    const before = await usagePercent(dealerPage)
    await expect.poll(() => usagePercent(dealerPage), { timeout: 60_000 }).toBeGreaterThan(before)
  })

  it('a dealer’s person suspends and resumes an eSIM, which the dealer and the operator both see', async () => {
    // For the next test: it goes into use in the meantime.
    await client().order({ transactionId: FRESH, packageInfoList: [{ packageCode: 'SANDBOX_USAGE', count: 1 }] })
    await act(dealerPage, 'Suspend', 'the phone is lost')
    const isSuspended = () => dealerPage.getByText('Suspended', { exact: true })
    await isSuspended().waitFor({ timeout: 60_000 })
    await newestAction(dealerPage).getByText('Completed').waitFor()
    expect(await findProfile(used)).toMatchObject({ suspended: true })
    await open(shared.page, used)
    await newestAction(shared.page).getByText('Dealer').waitFor()
    await shared.page.getByText('Suspended', { exact: true }).waitFor()
    expect(await offered(shared.page)).toEqual(['Resume', 'Revoke'])

    expect(await offered(dealerPage)).not.toContain('Suspend')
    await act(dealerPage, 'Resume', 'the phone was found')
    await isSuspended().waitFor({ state: 'hidden', timeout: 60_000 })
    await newestAction(dealerPage).getByText('Resume').waitFor()
    expect(await findProfile(used)).toMatchObject({ suspended: false })
  })

  it('the operator suspends and resumes an eSIM with a reason, which the dealer sees', async () => {
    const { page } = shared
    // A different eSIM, because the first one will soon have used up its data.
    await client().waitForOrder({ transactionId: FRESH })
    const esim = (await client().profiles({ transactionId: FRESH })).profileList[0]!
    await isInUse(esim)
    for (const each of [dealerPage, page]) await open(each, esim)
    await page.locator('[data-status=IN_USE]').waitFor()
    await act(page, 'Suspend', 'asked by the dealer')
    await page.getByText('Done: the supplier has confirmed it.').first().waitFor()
    await page.getByText('Suspended', { exact: true }).waitFor()
    expect(await findProfile(esim)).toMatchObject({ suspended: true })
    await newestAction(dealerPage).getByText('Operator').waitFor({ timeout: 60_000 })
    await act(page, 'Resume', 'asked by the dealer')
    await page.getByText('Suspended', { exact: true }).waitFor({ state: 'hidden' })
    expect(await findProfile(esim)).toMatchObject({ suspended: false })
  })

  it('the operator resolves an unanswered action with the supplier’s answer', async () => {
    const { page } = shared
    const unanswered = { packageCode: 'SANDBOX_ACTION_UNKNOWN', count: 1 }
    await client().order({ transactionId: 'unanswered-in-browser', packageInfoList: [unanswered] })
    await client().waitForOrder({ transactionId: 'unanswered-in-browser' })
    const esim = (await client().profiles({ transactionId: 'unanswered-in-browser' })).profileList[0]!
    await open(page, esim)
    await act(page, 'Revoke', 'reported stolen')
    await page.getByText('The supplier gave no clear answer.').first().waitFor()
    await newestAction(page).getByRole('button', { name: 'Resolve' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox', { name: 'Supplier’s answer' }).selectOption('Done')
    await dialog.getByRole('textbox', { name: 'Evidence' }).fill('Mail of the supplier, ticket 12')
    // The supplier may be queried again at this moment; the dialog then says so and stays open.
    await vi.waitFor(async () => {
      if (await dialog.isVisible()) await dialog.getByRole('button', { name: 'Resolve' }).click()
      await dialog.waitFor({ state: 'hidden', timeout: 3_000 })
    }, 30_000)
    await page.locator('[data-status=REVOKED]').waitFor()
    await newestAction(page).getByText('Completed').waitFor()
    await button(page, 'Resolve').waitFor({ state: 'detached' })
  })

  it('a dealer’s person tops up an eSIM at the price on the button, and sees the top-up delivered', async () => {
    const { testbed, page } = shared
    const { balance } = await client().balance()
    await open(dealerPage, used)
    await button(dealerPage, 'Top up').click()
    const dialog = dealerPage.getByRole('dialog')
    await dialog.getByRole('combobox', { name: 'Package' }).selectOption('SANDBOX_TOPUP')
    const { packageList } = await client().packages({ type: 'TOPUP', packageCode: 'SANDBOX_TOPUP' })
    const [price = 0] = packageList.flatMap((one) => ('price' in one ? [one.price] : []))
    const submit = dialog.getByRole('button', { name: /^Top up for/ })
    await expect.poll(() => submit.innerText()).toContain((price / 10_000).toFixed(2))
    await submit.click()
    await dialog.waitFor({ state: 'hidden' })
    expect((await client().balance()).balance).toBe(balance - price)
    await dealerPage.getByText(/ \/ 2 GB$/).waitFor({ timeout: 60_000 })

    const { orderList } = await client().orders({ orderType: 'TOPUP' })
    const [topUp] = orderList.filter(({ esimTranNo }) => esimTranNo === used.esimTranNo)
    for (const each of [dealerPage, page]) {
      await navigate(testbed, each, `/tenants/${shared.dealer.tenantId}/orders/${topUp!.orderNo}`)
      await each.locator('[data-status=DELIVERED]').first().waitFor()
      await each.locator(`a[href$="/profiles/${used.esimTranNo}"]`).waitFor()
    }
  })

  it('a dealer’s person revokes an eSIM in use without a refund', async () => {
    const { balance } = await client().balance()
    await open(dealerPage, used)
    await act(dealerPage, 'Revoke', 'reported stolen')
    await dealerPage.locator('[data-status=REVOKED]').waitFor({ timeout: 60_000 })
    await newestAction(dealerPage).getByText('Completed').waitFor()
    expect((await client().balance()).balance).toBe(balance)
    expect(await offered(dealerPage)).toEqual([])
    await button(dealerPage, 'Top up').waitFor({ state: 'detached' })
  })

  it('a dealer’s person cancels an unused eSIM for its package’s fee, and the rest is refunded', async () => {
    const [first] = unused as [Profile, Profile]
    const { balance } = await client().balance()
    await open(dealerPage, first)
    await loadingEnds(dealerPage)
    expect(await usageBar(dealerPage).count()).toBe(0)
    await act(dealerPage, 'Cancel eSIM', 'the trip was called off')
    await newestAction(dealerPage).getByText('Completed').waitFor({ timeout: 60_000 })
    await dealerPage.locator('[data-status=CANCEL]').waitFor()
    const { refundAmount, feeAmount } = await expectRefund(first, balance)
    expect(feeAmount).toBeGreaterThan(0)
    for (const amount of [refundAmount, feeAmount]) {
      await newestAction(dealerPage)
        .getByText((amount / 10_000).toFixed(2))
        .first()
        .waitFor()
    }
    expect(await offered(dealerPage)).toEqual([])
    await button(dealerPage, 'Top up').waitFor({ state: 'detached' })
  })

  it('the operator cancels an unused eSIM without a fee', async () => {
    const { page } = shared
    const [, second] = unused as [Profile, Profile]
    const { balance } = await client().balance()
    await open(page, second)
    await act(page, 'Cancel and refund', 'a complaint')
    await page.locator('[data-status=CANCEL]').waitFor({ timeout: 60_000 })
    await newestAction(page).getByText('Operator').waitFor()
    expect(await expectRefund(second, balance)).toMatchObject({ feeAmount: 0 })
  })

  /** @returns what was refunded for the eSIM since the balance was read */
  async function expectRefund({ esimTranNo }: Profile, before: number) {
    const { entryList } = await client().statement({ kind: 'REFUND' })
    const entries = entryList.filter((entry) => entry.esimTranNo === esimTranNo)
    expect(entries).toHaveLength(1)
    const { balance } = await client().balance()
    expect(balance).toBe(before + entries[0]!.amount)
    const { packageInfoList } = await client().query({ transactionId: CANCELLED })
    return { refundAmount: entries[0]!.amount, feeAmount: packageInfoList[0]!.price - entries[0]!.amount }
  }

  it('the QR code on the page matches the eSIM’s QR link', async () => {
    await client().order({ transactionId: 'qr-in-browser', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
    await client().waitForOrder({ transactionId: 'qr-in-browser' })
    const profile = (await client().profiles({ transactionId: 'qr-in-browser' })).profileList[0]!
    shared.secrets.push(profile.ac)
    for (const each of [dealerPage, shared.page]) {
      await open(each, profile)
      await chooseMore(each, 'Show codes and QR')
      const picture = each.getByRole('img', { name: 'QR code that installs this eSIM' })
      await expect.poll(() => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBeGreaterThan(0)
      const source = decodeURIComponent((await picture.getAttribute('src')) ?? '')
      expect(source.replace('data:image/svg+xml,', '')).toBe(await (await fetch(`${profile.qrCodeUrl}.svg`)).text())
      expect(await copyable(each, 'Activation code').innerText()).toBe(profile.ac)
    }
    await dealerPage.context().close()
  })
}
