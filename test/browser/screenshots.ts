import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from '@dealer-esim/gateway/test/harness/shop.ts'
import type { Page } from 'playwright-core'
import { chromiumPath } from './chromium.ts'
import { loadPage, signInAsOperator, startTestbed } from './console-testbed.ts'
import { prepareTour, type Stop, TOUR_VARIABLES, transitionsEnd, visit } from './console-tour.ts'

/*
 * npm run screenshots [-- names]: takes screenshots of all console pages, or of the named ones, light and dark, at desktop
 * and phone width, into .screenshots/. With --docs also those of the documentation, into docs/images/. With --states
 * instead each page while it loads, when its data cannot be read, and on a gateway without data.
 */

const WIDTHS = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } } as const
const SCHEMES = ['light', 'dark'] as const
/** The pictures of console pages that the documentation shows; the traveller’s page is there too. */
const IN_DOCS = ['dashboard-light', 'dashboard-dark', 'order-light', 'explorer-dark']
  .map((name) => `${name}-desktop.png`)
  .concat('wallet-light-phone.png')

/** The share of the demo's one day that the charts show for each day. */
const SHARES = [0.35, 0.4, 0.62, 0.55, 0.2, 0.28, 0.47, 0.5, 0.7, 0.66, 0.3, 0.34, 0.8, 1]

const DAY_MS = 86_400_000

/** The operator's pages that are empty before anything has been sold. */
const EMPTY_PATHS = [
  ...['/', '/tenants', '/orders', '/profiles', '/sales', '/catalogue/prices', '/catalogue/prices/groups', '/stock'],
  ...['/stock/batches', '/products', '/sale-rules', '/webhooks', '/explorer', '/adjustments', '/top-up-requests'],
  ...['/notices', '/audit', '/sales?by=balances'],
]

const UNAVAILABLE = 'The database cannot be reached. Try again in a moment.'

const root = new URL('../..', import.meta.url).pathname
const folder = join(root, '.screenshots')
const docs = join(root, 'docs/images')
const options = process.argv.slice(2)
const names = options.filter((option) => !option.startsWith('--'))
const forDocs = options.includes('--docs')
const forStates = options.includes('--states')

if (!chromiumPath())
  throw new Error('No Chromium was found: install one (apt-get install chromium) or set CHROMIUM_PATH.')
mkdirSync(folder, { recursive: true })

const testbed = await startTestbed({ env: TOUR_VARIABLES })
try {
  if (forStates) await takeEmptyPages()
  console.log('Creating demo data …')
  const { stops, close } = await prepareTour(testbed)
  if (!forStates) for (const page of new Set(stops.map((stop) => stop.page))) await fillDashboardDays(page)
  const wanted = stops.filter(({ name }) => names.length === 0 || names.includes(name))
  for (const [index, stop] of wanted.entries()) {
    await (forStates ? takeStates(stop) : takeScreenshots(stop))
    console.log(`${String(index + 1).padStart(2)} of ${wanted.length}  ${stop.name}`)
  }
  if (forDocs || names.includes('traveller')) await takeTravellerPage()
  close()
  console.log(`${wanted.length} pages: pictures in ${folder}${forDocs ? `, the documentation's in ${docs}` : ''}`)
} finally {
  await testbed.stop()
}

/** The demo data is minutes old. To fill the charts, every day shows a share of the only day. */
async function fillDashboardDays(page: Page): Promise<void> {
  await page.route('**/api/dashboard?*', async (route) => {
    const answer = (await (await route.fetch()).json()) as Record<string, unknown> & { days: string[] }
    const today = answer.days.at(-1)
    const forEveryDay = (rows: unknown) =>
      (rows as { day: string }[]).flatMap((row) =>
        row.day === today
          ? answer.days.map((day, index) => ({ ...scaleRow(row, SHARES[index % SHARES.length]!), day }))
          : [],
      )
    const { orders, sales, webhooks } = answer
    await route.fulfill({
      json: { ...answer, orders: forEveryDay(orders), sales: forEveryDay(sales), webhooks: forEveryDay(webhooks) },
    })
  })
  await page.route('**/api/sales?by=day*', async (route) => {
    const answer = (await (await route.fetch()).json()) as { from: string; to: string; rows: { key: string }[] }
    const days = Array.from({ length: (Date.parse(answer.to) - Date.parse(answer.from)) / DAY_MS + 1 }, (_, index) =>
      new Date(Date.parse(answer.from) + index * DAY_MS).toISOString().slice(0, 10),
    )
    const rows = answer.rows
      .filter(({ key }) => key === days.at(-1))
      .flatMap((row) => days.map((key, index) => ({ ...scaleRow(row, SHARES[index % SHARES.length]!), key })))
    await route.fulfill({ json: { ...answer, rows } })
  })
  await page.reload()
}

/** Scales the numbers of a row. Amounts, in 1/10 000, are rounded to whole cents. */
function scaleRow(row: object, share: number): object {
  const scaled = (name: string, value: number) =>
    name === 'amount' ? Math.round((value * share) / 100) * 100 : Math.round(value * share)
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === 'number' ? scaled(name, value) : value,
  ])
  return Object.fromEntries(entries)
}

/** Takes all four screenshots in one visit. Only the window size and the colours change. */
async function takeScreenshots(stop: Stop): Promise<void> {
  const { page, name } = stop
  await setAppearance(page, 'desktop', 'light')
  await visit(testbed, stop)
  for (const device of Object.keys(WIDTHS) as (keyof typeof WIDTHS)[]) {
    for (const scheme of SCHEMES) {
      await setAppearance(page, device, scheme)
      const picture = `${name}-${scheme}-${device}.png`
      if (forDocs && IN_DOCS.includes(picture)) await page.screenshot({ path: join(docs, picture) })
      await fitWindow(page, device)
      await page.screenshot({ path: join(folder, picture) })
    }
  }
}

/** What a traveller sees behind the link to an eSIM. */
async function takeTravellerPage(): Promise<void> {
  const client = testbed.client(testbed.access)
  const { orderNo } = await client.order({
    transactionId: 'TRAVELLER-1',
    packageInfoList: [{ packageCode: 'JP_5_30', count: 1 }],
  })
  const { profileList } = await waitUntil(async () => {
    const order = await client.query({ orderNo })
    return order.orderStatus === 'DELIVERED' && order
  })
  const shareUrl = profileList[0]!.shareUrl!
  const page = await testbed.open()
  await page.goto(shareUrl)
  for (const scheme of SCHEMES) {
    await setAppearance(page, 'phone', scheme)
    const picture = `traveller-${scheme}-phone.png`
    await page.screenshot({ path: join(forDocs ? docs : folder, picture) })
  }
  await page.close()
}

/** The operator's pages before anything has been sold. */
async function takeEmptyPages(): Promise<void> {
  const page = await testbed.open()
  await signInAsOperator(testbed, page)
  for (const path of EMPTY_PATHS) {
    const name = `empty-${path === '/' ? 'dashboard' : path.slice(1).replaceAll(/[^a-z]+/g, '-')}`
    await setAppearance(page, 'desktop', 'light')
    await visit(testbed, { name, path, page })
    await takeTwo(page, name)
  }
  await page.close()
}

/** A page whose data does not arrive, and one whose data cannot be read. */
async function takeStates({ page, name, path, act }: Stop): Promise<void> {
  if (act || path.includes('#') || ['sign-in', 'not-found', 'signed-in'].includes(name)) return
  const data = /\/console\/api\/(?!session)/
  for (const state of ['loading', 'failed'] as const) {
    await setAppearance(page, 'desktop', 'light')
    await page.route(data, async (route) => {
      if (state === 'failed') await route.fulfill({ status: 503, json: { code: 'UNAVAILABLE', message: UNAVAILABLE } })
    })
    await loadPage(testbed, page, path)
    await page.getByRole('navigation', { name: 'Main navigation' }).waitFor({ state: 'attached' })
    await page.waitForTimeout(1_500)
    await takeTwo(page, `${state}-${name}`)
    await page.unroute(data)
  }
}

async function takeTwo(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(folder, `${name}-light-desktop.png`) })
  await setAppearance(page, 'phone', 'dark')
  await page.screenshot({ path: join(folder, `${name}-dark-phone.png`) })
}

/** Makes the window as high as the page. Otherwise fixed parts would be in the middle of a full-page screenshot. */
async function fitWindow(page: Page, device: keyof typeof WIDTHS): Promise<void> {
  if ((await page.getByRole('dialog').count()) > 0) return
  const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
  await page.setViewportSize({ width: WIDTHS[device].width, height: Math.max(height, WIDTHS[device].height) })
  await transitionsEnd(page)
}

async function setAppearance(
  page: Page,
  device: keyof typeof WIDTHS,
  colorScheme: (typeof SCHEMES)[number],
): Promise<void> {
  await page.setViewportSize(WIDTHS[device])
  await page.emulateMedia({ colorScheme })
  await transitionsEnd(page)
}
