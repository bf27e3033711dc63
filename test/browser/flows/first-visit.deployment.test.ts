import { once } from 'node:events'
import { request } from 'node:http'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from '../chromium.ts'
import { type ConsoleTestbed, heading, signInAsOperator, startTestbed } from '../console-testbed.ts'

/** How much a first visit may transfer, including headers: half a second at 5 Mbit/s. */
const BYTES_MAX = 288_000
const REQUESTS_MAX = 25
const SIGN_IN_BYTES_MAX = 170_000
const SIGN_IN_REQUESTS_MAX = 12
/** Layout shift that people do not notice (web.dev/cls). */
const SHIFT_MAX = 0.1

type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>

describe.skipIf(!isBrowserAvailable())('a first visit', () => {
  let testbed: ConsoleTestbed
  let state: StorageState

  beforeAll(async () => {
    testbed = await startTestbed({ isTrial: true })
    const page = await testbed.open()
    await signInAsOperator(testbed, page)
    await placeOrders(testbed)
    state = await page.context().storageState()
    await page.context().close()
  })
  afterAll(() => testbed?.stop())

  it('by somebody who is not signed in loads the sign-in page without the console', async () => {
    const visit = await visitCold(testbed, '/', (page) => heading(page, 'Sign in').waitFor())
    expect(visit.requests.filter((url) => /\/(console|router|pages|dashboard)-/.test(url))).toEqual([])
    expect(visit.requests.length).toBeLessThanOrEqual(SIGN_IN_REQUESTS_MAX)
    expect(visit.bytes).toBeLessThanOrEqual(SIGN_IN_BYTES_MAX)
    expect(visit.shift).toBeLessThanOrEqual(SHIFT_MAX)
  })

  it.each([
    ['/', 'figure.bars'],
    ['/orders', '[data-row]'],
    ['/catalogue', '[data-row]'],
    ['/profiles', '[data-row]'],
  ])('to %s loads little, and nothing shifts once it is shown', async (path, part) => {
    const isLoaded = (page: Page) => page.locator(part).first().waitFor()
    const visit = await visitCold(testbed, path, isLoaded, state)
    console.log(`${path}: ${visit.requests.length} requests, ${visit.bytes} bytes, shift ${visit.shift.toFixed(3)}`)
    expect(visit.requests.length).toBeLessThanOrEqual(REQUESTS_MAX)
    expect(visit.bytes).toBeLessThanOrEqual(BYTES_MAX)
    expect(visit.shift).toBeLessThanOrEqual(SHIFT_MAX)
  })

  it('gets each file in an encoding that the client accepts, with a matching Vary header', async () => {
    const visit = await visitCold(testbed, '/', (page) => heading(page, 'Sign in').waitFor())
    const script = visit.requests.find((url) => /\/react-[\w-]+\.js$/.test(url)) ?? ''
    const sizes = new Map<string, number>()
    for (const [accepted, encoding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip', 'gzip'],
      ['identity', undefined],
    ] as const) {
      const { headers, bytes } = await fetchRaw(script, accepted)
      expect([accepted, headers['content-encoding'], headers.vary]).toEqual([accepted, encoding, 'Accept-Encoding'])
      expect(headers['content-type']).toMatch(/^(text|application)\/javascript/)
      expect(headers['cache-control']).toContain('immutable')
      sizes.set(accepted, bytes)
    }
    const [brotli = 0, gzip = 0, plain = 0] = [...sizes.values()]
    expect(brotli).toBeLessThan(gzip)
    expect(gzip * 2).toBeLessThan(plain)
  })

  it('to a list lets Back show the list again before the gateway answers', async () => {
    const context = await testbed.browser.newContext({ storageState: state })
    const page = await context.newPage()
    await page.goto(`${testbed.access.consoleUrl}/orders`)
    const row = page.locator('[data-row]').first()
    await row.getByRole('link').first().click()
    await page.locator('[data-number]').waitFor()
    await page.route('**/console/api/orders*', () => {}) // never answered
    await page.goBack()
    await row.waitFor()
    await context.close()
  })
})

interface Visit {
  requests: string[]
  /** The size of all answers as received, including their headers. */
  bytes: number
  shift: number
}

const OBSERVE_SHIFTS = `globalThis.layoutShift = 0
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.layoutShift += entry.value
}).observe({ type: 'layout-shift', buffered: true })`

/** Visits a page with an empty cache, until it is loaded and quiet. */
async function visitCold(
  testbed: ConsoleTestbed,
  path: string,
  isLoaded: (page: Page) => Promise<void>,
  storageState?: StorageState,
): Promise<Visit> {
  const context = await testbed.browser.newContext({
    viewport: { width: 1280, height: 720 },
    ...(storageState && { storageState }),
  })
  const page = await context.newPage()
  const network = await context.newCDPSession(page)
  const requests = new Map<string, string>()
  let bytes = 0
  network.on('Network.requestWillBeSent', ({ requestId, request }) => {
    if (request.url.startsWith('http')) requests.set(requestId, request.url)
  })
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (requests.has(requestId)) bytes += encodedDataLength
  })
  await network.send('Network.enable')
  await page.addInitScript(OBSERVE_SHIFTS)
  await page.goto(testbed.access.consoleUrl + path)
  await isLoaded(page)
  await page.waitForLoadState('networkidle')
  const shift = (await page.evaluate('globalThis.layoutShift')) as number
  await context.close()
  return { requests: [...requests.values()], bytes, shift }
}

async function fetchRaw(url: string, accepted: string) {
  const sent = request(url, { headers: { 'accept-encoding': accepted } }).end()
  const [answer] = await once(sent, 'response')
  let bytes = 0
  for await (const part of answer) bytes += part.length
  return { headers: answer.headers as Record<string, string | undefined>, bytes }
}

async function placeOrders({ client, access }: ConsoleTestbed): Promise<void> {
  const dealer = client(access)
  for (const packageCode of ['JP_1_7', 'FR_1_7', 'DE_1_7', 'US_1_7', 'TH_1_7', 'SANDBOX_UNKNOWN'])
    await dealer.order({ transactionId: `visit-${packageCode}`, packageInfoList: [{ packageCode, count: 1 }] })
  await dealer.waitForOrder({ transactionId: 'visit-TH_1_7' })
}
