import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { CDPSession, Page } from 'playwright-core'
import { createDemo, type Demo } from './console-demo.ts'
import {
  api,
  button,
  type ConsoleTestbed,
  chooseMore,
  field,
  inviteAndSignIn,
  loadPage,
  navigate,
  PASSWORD,
  signInAsOperator,
} from './console-testbed.ts'

/** A page of the console as one person sees it. Its screenshots are named after it. */
export interface Stop {
  name: string
  path: string
  /** The browser page of the person. */
  page: Page
  /** Brings the page into the state to check. */
  act?(page: Page): Promise<void>
}

export interface Tour extends Demo {
  stops: Stop[]
}

/** Gateway variables for the tour, which lists another cell that cannot be read. */
export const TOUR_VARIABLES = { CELLS_FILE: new URL('cells.json', import.meta.url).pathname }

/** Creates the demo data and lists a stop for every page. */
export async function prepareTour(testbed: ConsoleTestbed): Promise<Tour> {
  const demo = await createDemo(testbed)
  // Drops what was cached while the demo data was created.
  for (const page of [demo.operator, demo.dealer]) await loadPage(testbed, page, '/')
  const stranger = await testbed.open()
  const viewer = await viewAsDealer(testbed, demo)
  const tester = await inTestMode(testbed, demo)
  const stops = [
    ...operatorStops(testbed, demo),
    ...dealerStops(demo, viewer),
    ...testStops(demo, tester),
    ...signedOutStops(demo, stranger),
  ]
  return { ...demo, stops }
}

/** A page signed in as an operator who views the console as the dealer. */
async function viewAsDealer(testbed: ConsoleTestbed, { tenantId }: Demo): Promise<Page> {
  const page = await testbed.open()
  await signInAsOperator(testbed, page)
  await api(testbed, page, `/tenants/${tenantId}/view`, {})
  await loadPage(testbed, page, '/')
  return page
}

/** A page signed in as the dealer's administrator, in test mode. */
async function inTestMode(testbed: ConsoleTestbed, { operator, tenantId }: Demo): Promise<Page> {
  const person = { email: 'tester@dealer.test', role: 'DEALER_ADMIN', tenantId }
  const page = await inviteAndSignIn({ testbed, page: operator }, person)
  await api(testbed, page, `/tenants/${tenantId}/twin`, { password: PASSWORD })
  await loadPage(testbed, page, '/test/')
  return page
}

function testStops({ tenantId }: Demo, page: Page): Stop[] {
  return [
    { name: 'test-home', path: '/test/', page },
    { name: 'test-mails', path: '/test/test-mails', page },
    { name: 'test-brands', path: `/test/tenants/${tenantId}/brands`, page },
  ]
}

function confirmPayment(at: Page): Promise<void> {
  return button(at, /^Confirm payment:/)
    .first()
    .click()
}

function operatorStops(testbed: ConsoleTestbed, demo: Demo): Stop[] {
  const { operator: page, tenantId, orderNo, reviewedOrderNo, profileId, notifyId } = demo
  const tenant = `/tenants/${tenantId}`
  const stop = (name: string, path: string, act?: Stop['act']): Stop => ({ name, path, page, ...(act && { act }) })
  return [
    stop('dashboard', '/'),
    stop('finder', '/', (at) => at.keyboard.press('/')),
    stop('dealers', '/tenants'),
    stop('setup-second-factor', '/', (at) => at.locator('[data-setup=secondFactor]').getByRole('button').click()),
    stop('new-dealer', '/tenants', (at) => button(at, 'New dealer').click()),
    stop('dealer', tenant),
    stop('credentials', `${tenant}/credentials`),
    stop('settings', `${tenant}/settings`),
    stop('wallet', `${tenant}/wallet`),
    stop('dealer-prices', `${tenant}/prices`),
    stop('dealer-people', `${tenant}/people`),
    stop('dealer-notices', `${tenant}/notices`),
    stop('dealer-brands', `${tenant}/brands`),
    stop('cells', '/cells'),
    stop('sales', '/sales'),
    stop('sales-map', '/sales?by=country'),
    stop('balances', '/sales?by=balances'),
    stop('orders', '/orders'),
    stop('order', `${tenant}/orders/${orderNo}`),
    stop('order-under-review', `${tenant}/orders/${reviewedOrderNo}`),
    stop('esims', '/profiles'),
    stop('esim', `${tenant}/profiles/${profileId}`, (at) => chooseMore(at, 'Show codes and QR')),
    stop('catalogue', '/catalogue'),
    stop('add-package', '/add-package'),
    stop('package', '/packages/JP_1_7'),
    stop('package-prices', '/packages/JP_1_7/prices', (at) => clickFirst(at, /^Why\? /)),
    stop('catalogue-import', '/catalogue/import', importWithFault),
    stop('prices', '/catalogue/prices'),
    stop('price-groups', '/catalogue/prices/groups'),
    stop('price-plan', '/catalogue/prices/plans/GOLD'),
    stop('price-rule', '/catalogue/prices/plans/GOLD', previewRule),
    stop('price-group', '/catalogue/prices/groups/PARTNERS'),
    stop('remove-rule', '/catalogue/prices/plans/GOLD', previewRemoval),
    stop('stock', '/stock'),
    stop('stock-import', '/stock', (at) => button(at, 'Import codes').click()),
    stop('stock-batches', '/stock/batches'),
    stop('batch-expiry', '/stock/batches', changeExpiry),
    stop('stock-codes', '/stock/codes?iccid=89001234'),
    stop('products', '/products'),
    stop('sale-rules', '/sale-rules'),
    stop('add-sale-rule', '/add-sale-rule'),
    stop('sale-rule', '/sale-rules/EUROPE'),
    stop('rule-preview', '/sale-rules-preview'),
    stop('suppliers', '/suppliers'),
    stop('supplier', '/suppliers/sandbox'),
    stop('supplier-reports', '/supplier-reports'),
    stop('esim-suspend', `${tenant}/profiles/${profileId}`, revoke),
    stop('add-supplier', '/add-supplier', (at) => chooseType(at, 'eSIM Access')),
    stop('webhooks', `/webhooks?tenantId=${tenantId}`),
    stop('endpoint-choice', '/webhooks/endpoint'),
    stop('endpoint', `/webhooks/endpoint?tenantId=${tenantId}`),
    stop('event', `${tenant}/events/${notifyId}`),
    stop('explorer', `/explorer?tenantId=${tenantId}`, (at) => explore(testbed, at)),
    stop('debugger', `/debugger?tenantId=${tenantId}`, (at) => debug(testbed, at)),
    stop('notices', '/notices'),
    stop('adjustments', '/adjustments'),
    stop('top-up-requests', '/top-up-requests'),
    stop('confirm-payment', '/top-up-requests', confirmPayment),
    stop('payment-settings', '/payment-settings'),
    stop('operator-settings', '/settings'),
    stop('audit', '/audit'),
    stop('audit-entry', '/audit', (at) => at.locator('[data-row] button').first().click()),
    ...['brand', 'people', 'recovery', 'account', 'design'].map((name) => stop(name, `/${name}`)),
    stop('not-found', '/nowhere'),
  ]
}

/** Pages that a dealer's own people see differently. */
function dealerStops({ dealer: page, tenantId, profileId }: Demo, viewer: Page): Stop[] {
  const own = `/tenants/${tenantId}`
  return [
    { name: 'own-dashboard', path: '/', page },
    { name: 'own-wallet', path: `${own}/wallet`, page },
    { name: 'own-books', path: `${own}/books`, page, act: (at) => button(at, 'Check all entries').click() },
    { name: 'own-prices', path: `${own}/prices`, page },
    { name: 'buy', path: '/buy', page },
    { name: 'buy-chosen', path: '/buy', page, act: choosePackage },
    { name: 'own-top-up-requests', path: '/top-up-requests', page },
    { name: 'own-esim', path: `${own}/profiles/${profileId}`, page },
    { name: 'own-settings', path: `${own}/settings`, page },
    { name: 'dealer-view', path: '/', page: viewer },
  ]
}

async function choosePackage(at: Page): Promise<void> {
  await at.locator('[data-place]').first().click()
  await at.locator('[data-offer]').first().click()
}

function signedOutStops({ token }: Demo, page: Page): Stop[] {
  return [
    { name: 'sign-in', path: '/', page },
    { name: 'forgotten-password', path: '/', page, act: (at) => button(at, 'Forgot password?').click() },
    { name: 'sign-in-ways', path: '/', page, act: offerEveryWay },
    {
      ...{ name: 'forgotten-password-mail', path: '/', page },
      act: (at) => button(at, 'Forgot password?').click(),
    },
    { name: 'signed-in', path: '/signed-in?error=access_denied&state=x', page },
    { name: 'welcome', path: `/welcome#${token}`, page },
  ]
}

/** The sign-in as on a gateway with a mail server, passkeys and a provider. */
async function offerEveryWay(page: Page): Promise<void> {
  const json = { mail: true, passkeyHost: new URL(page.url()).hostname, provider: 'Example Login' }
  await page.route('**/api/sign-in-options', (route) => route.fulfill({ json }))
  await page.reload()
  await page.getByRole('button', { name: /Example Login/ }).waitFor()
}

/** Opens a stop and waits until nothing loads or moves. Throws if the page shows an error. */
export async function visit(testbed: ConsoleTestbed, { name, path, page, act }: Stop): Promise<void> {
  // The token of a link is read when the page loads.
  if (path.includes('#')) await loadPage(testbed, page, path)
  else await navigate(testbed, page, path)
  await loadingEnds(page)
  if (act) {
    await act(page)
    await loadingEnds(page)
  }
  const failures = await page.locator('[data-failure]:not([data-sample] *)').allInnerTexts()
  if (failures.length > 0) throw new Error(`${name}: ${failures.join(' ')}\n${testbed.logText().slice(-4_000)}`)
}

/**
 * Waits for loaders and transitions, which spoil screenshots and contrast checks. A test that something is not shown calls it
 * first: until then, it may only not have been loaded yet.
 */
export async function loadingEnds(page: Page): Promise<void> {
  await page.evaluate(NOTHING_LOADS)
  await transitionsEnd(page)
}

/** Long enough after a change that loads nothing, such as the window size or the colour scheme. */
export async function transitionsEnd(page: Page): Promise<void> {
  await page.evaluate(TRANSITIONS_END)
}

// Nothing loads for a moment between a page's code and its data, so the page must stay unchanged for a while.
const NOTHING_LOADS = `new Promise((resolve) => {
  let since = performance.now()
  new MutationObserver(() => (since = performance.now())).observe(document.body, { subtree: true, childList: true })
  const look = () => {
    const loading = [...document.querySelectorAll('[aria-busy=true], [role=status][aria-label], [data-loading]')]
    if (loading.some((one) => !one.closest('[data-sample]'))) since = performance.now()
    if (performance.now() - since > 60) resolve()
    else setTimeout(look, 20)
  }
  look()
})`

// Transitions start with the frame after the change.
// A transition in a closed <details> never ends, because the browser does not render what it hides.
const TRANSITIONS_END = `new Promise(requestAnimationFrame)
  .then(() => new Promise(requestAnimationFrame))
  .then(() => Promise.all(document.getAnimations()
    .filter(({ effect }) => effect?.getComputedTiming().iterations !== Infinity && effect?.target?.checkVisibility())
    .map((animation) => animation.finished.catch(() => {}))))
  .then(() => {})`

async function revoke(page: Page): Promise<void> {
  await button(page, 'More').click()
  await page.getByRole('menuitem', { name: 'Revoke' }).click()
}

async function changeExpiry(page: Page): Promise<void> {
  await clickFirst(page, /^Actions: /)
  await page.getByRole('menuitem', { name: 'Change expiry' }).click()
}

async function clickFirst(page: Page, name: RegExp): Promise<void> {
  await button(page, name).first().click()
}

/** Previews a percentage for packages of Japan. */
async function previewRule(page: Page): Promise<void> {
  await button(page, 'Set rule').first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('combobox', { name: 'Packages' }).selectOption('A supplier')
  await dialog.getByRole('combobox', { name: 'Supplier' }).click()
  await page.getByRole('option', { name: 'sandbox' }).click()
  await field(page, 'Percentage').fill('-45')
  await button(page, 'Preview the effect').click()
  await page.locator('[data-preview]').waitFor()
}

async function previewRemoval(page: Page): Promise<void> {
  await button(page, /^Remove rule: /)
    .first()
    .click()
  await button(page, 'Preview the effect').click()
  await page.locator('[data-preview]').waitFor()
}

async function explore(testbed: ConsoleTestbed, page: Page): Promise<void> {
  await enterSecret(testbed, page)
  await button(page, 'Sign and send').click()
  await page.locator('[data-answer]').waitFor()
  await page.locator('button[data-loading]').waitFor({ state: 'detached' })
}

/** Debugs a request with a wrong signature. */
async function debug(testbed: ConsoleTestbed, page: Page): Promise<void> {
  await enterSecret(testbed, page)
  const headers = [
    `RT-AccessCode: ${testbed.access.appKey}`,
    'RT-RequestID: 7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11',
    `RT-Timestamp: ${Date.now()}`,
    `X-Signature: ${'a'.repeat(64)}`,
  ]
  await field(page, 'Headers, one per line').fill(headers.join('\n'))
  await field(page, 'Body, exactly as sent').fill('{}')
  await button(page, 'Find the problem').click()
  await page.locator('[data-verdict]').waitFor()
}

/** Enters the AppSecret unless the console still has it from an earlier stop. */
async function enterSecret(testbed: ConsoleTestbed, page: Page): Promise<void> {
  const secret = page.getByRole('textbox', { name: 'AppSecret' })
  if ((await secret.count()) === 0) return
  await secret.fill(testbed.access.appSecret)
  await button(page, 'Save').click()
}

/** Previews a file of two packages, one with an invalid duration unit. */
async function importWithFault(page: Page): Promise<void> {
  const csv = await page.request.get(`${new URL(page.url()).origin}/console/api/packages.csv?locationCode=AT`)
  const [head = '', first = '', second = ''] = (await csv.text()).split(/\r?\n/)
  const text = [head, first.replace('Austria', 'Österreich'), second.replace(',DAY,', ',CENTURY,')].join('\n')
  const file = { name: 'packages.csv', mimeType: 'text/csv', buffer: Buffer.from(text) }
  await page.locator('input[type=file]').setInputFiles(file)
  await button(page, 'Preview changes').click()
  await page.locator('[data-sum]').first().waitFor()
}

async function chooseType(at: Page, name: string): Promise<void> {
  await at.getByRole('combobox', { name: 'Type' }).click()
  await at.getByRole('option', { name }).click()
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  impact: string
  nodes: { html: string; any: { message: string }[] }[]
}

const axeSessions = new WeakMap<Page, CDPSession>()

/** Injects axe through the debugger protocol, because the page's policy allows no script. Loading a page removes it. */
export async function axeSession(page: Page): Promise<CDPSession> {
  const session = axeSessions.get(page) ?? (await page.context().newCDPSession(page))
  axeSessions.set(page, session)
  if ((await page.evaluate('typeof axe')) === 'undefined') await session.send('Runtime.evaluate', { expression: axe })
  return session
}

export const DESKTOP = { width: 1280, height: 860 }
export const PHONE = { width: 390, height: 844 }

/**
 * Lists serious accessibility violations on a desktop and a phone, in light and dark. Leaves the page light and on a desktop.
 * @param prepare brings the page into the state to check, each time
 */
export async function violationsIn(page: Page, prepare?: () => Promise<void>): Promise<string[]> {
  const found: string[] = []
  for (const [name, viewport] of [
    ['phone', PHONE],
    ['desktop', DESKTOP],
  ] as const) {
    await page.setViewportSize(viewport)
    for (const scheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme: scheme })
      await prepare?.()
      await transitionsEnd(page)
      const faults = await seriousViolations(await axeSession(page), scheme)
      found.push(...faults.map((fault) => `${name} ${scheme}: ${fault}`))
    }
  }
  return found
}

// Rows of a list are alike, so only the first three are checked, which halves the time.
const AXE_CONTEXT = { exclude: ['[data-row] ~ [data-row] ~ [data-row] ~ [data-row]'] }

/** The dark scheme changes only colours, so only the contrast rule runs there. */
export async function seriousViolations(session: CDPSession, scheme: 'light' | 'dark'): Promise<string[]> {
  const options = {
    resultTypes: ['violations'],
    preload: false,
    ...(scheme === 'dark' && { runOnly: ['color-contrast'] }),
  }
  const { result } = await session.send('Runtime.evaluate', {
    expression: `axe.run(${JSON.stringify(AXE_CONTEXT)}, ${JSON.stringify(options)}).then((all) => JSON.stringify(all.violations))`,
    awaitPromise: true,
    returnByValue: true,
  })
  return (JSON.parse(String(result.value)) as Violation[])
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map((node) => `${id}: ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`),
    )
}
