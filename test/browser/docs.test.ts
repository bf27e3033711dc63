import { readFileSync } from 'node:fs'
import { addDocsRoutes, type DocsDeps } from '@dealer-esim/gateway/http/public/docs/docs-routes.ts'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isBrowserAvailable, launchChromium } from './chromium.ts'

/** First visits of the API reference whose median is printed: no test judges a time. The aim is two seconds. */
const READERS = 3
/** Compressed. A bundle that grows makes every first visit slower. */
const REFERENCE_SCRIPTS_BYTES = { min: 500_000, max: 1_050_000 }

/** Opens the first closed group of operations as soon as it is there. Resolves to the time since the navigation when it is open. */
const FIRST_CONTROL_ANSWERS = `new Promise((resolve) => {
  const look = () => {
    const group = document.querySelector('#reference button[aria-expanded=false]')
    if (group === null) return requestAnimationFrame(look)
    group.click()
    const wait = () => {
      if (!group.isConnected) return look()
      if (group.getAttribute('aria-expanded') === 'false') return requestAnimationFrame(wait)
      resolve(performance.now())
    }
    wait()
  }
  look()
})`

/** The documentation in a real browser: its requests, its policy and its layout. */
describe.skipIf(!isBrowserAvailable())('the documentation in a browser', () => {
  let app: FastifyInstance
  let browser: Browser
  let baseUrl: string
  /** The addresses of scripts that the server was asked for. */
  const scripts: string[] = []

  beforeAll(async () => {
    app = Fastify()
    const deps: DocsDeps = {
      links: { publicUrl: '' },
      audience: 'all',
      brand: async () => undefined,
      isOperators: async () => false,
      clock: systemClock,
      callerOf: () => '',
    }
    await app.register(async (scope) => addDocsRoutes(scope, deps), { prefix: '/behind/a/proxy' })
    app.addHook('onRequest', async ({ url }) => void (/\.js\b/.test(url) && scripts.push(url)))
    baseUrl = `${await app.listen({ host: '127.0.0.1', port: 0 })}/behind/a/proxy`
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })

  async function open(address: string, colorScheme: 'light' | 'dark' = 'light') {
    const page = await browser.newPage({ colorScheme })
    const requests: string[] = []
    const browserErrors: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && browserErrors.push(message.text()))
    page.on('pageerror', (error) => browserErrors.push(String(error)))
    await page.goto(`${baseUrl}${address}`, { waitUntil: 'load' })
    return { page, requests, browserErrors }
  }

  const foreign = (requests: string[]) =>
    requests.filter((url) => !url.startsWith(`${baseUrl}/docs`) && !url.startsWith('data:') && !url.startsWith('blob:'))

  test('a page works behind a path prefix in light and dark, without loading anything from other origins', async () => {
    const backgrounds: string[] = []
    for (const scheme of ['light', 'dark'] as const) {
      const { page, requests, browserErrors } = await open('/docs/signing', scheme)
      expect(await page.title()).toBe('Signing · Dealer eSIM')
      backgrounds.push(await background(page))
      expect([foreign(requests), browserErrors]).toEqual([[], []])
      await page.close()
    }
    expect(new Set(backgrounds).size).toBe(2)
  })

  test('every entry in the table of contents links to its page', async () => {
    const { page } = await open('/docs/')
    const hrefs = await page.locator('nav a').evaluateAll((all) => all.map((each) => (each as HTMLAnchorElement).href))
    expect(hrefs.length).toBeGreaterThan(8)
    for (const href of hrefs) expect((await page.request.get(href)).status(), href).toBe(200)
    await page.close()
  })

  test('shows nothing wider than a phone’s screen', async () => {
    const page = await browser.newPage({ viewport: { width: 360, height: 740 } })
    for (const address of ['', 'quick-start', 'codes', 'limits', 'samples/', 'search?q=order', 'zh-Hans/webhooks']) {
      await page.goto(`${baseUrl}/docs/${address}`)
      expect(await page.evaluate(() => document.documentElement.scrollWidth), address).toBeLessThanOrEqual(360)
    }
    await page.close()
  })

  test('a phone shows the first line of code, whole options, readable diagrams and the switch between the parts', async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
    await page.goto(`${baseUrl}/docs/quick-start`)
    expect(await page.locator('header').getByRole('link', { name: 'Operators' }).isVisible()).toBe(true)
    const option = page.locator('main code').getByText('--json', { exact: true }).first()
    expect(await option.evaluate((element) => element.getClientRects().length)).toBe(1)
    const drawn = await page.locator(`main img[src$='.svg']`).first().boundingBox()
    expect(drawn!.width).toBeGreaterThan(700)
    await page.goto(`${baseUrl}/docs/signing`)
    const block = page.locator('.code', { hasText: 'curl -sS' })
    await block.scrollIntoViewIfNeeded()
    expect(await block.locator('pre').getAttribute('class')).toContain('more-right')
    const copied = await block.getByRole('button').boundingBox()
    const frame = await block.locator('pre').boundingBox()
    const padding = await block
      .locator('pre')
      .evaluate((element) => Number.parseFloat(getComputedStyle(element).paddingTop))
    expect(copied!.y + copied!.height).toBeLessThanOrEqual(frame!.y + padding)
    await page.close()
  })

  test('the search answers while the reader types, and is used by keyboard alone', async () => {
    const { page, requests, browserErrors } = await open('/docs/samples/')
    await page.keyboard.press('/')
    await page.keyboard.type('signature does not match')
    const first = page.locator('.hits a').first()
    await first.waitFor()
    expect(await first.textContent()).toBe('Signing')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/behind\/a\/proxy\/docs\/signing#/)
    expect([foreign(requests), browserErrors]).toEqual([[], []])
    await page.close()
  })

  test('the search works without a script', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, locale: 'zh-CN' })
    const page = await context.newPage()
    await page.goto(`${baseUrl}/docs/`)
    expect(page.url()).toBe(`${baseUrl}/docs/zh-Hans/`)
    await page.locator('input[name=q]').fill('签名不对')
    await page.keyboard.press('Enter')
    await page.locator('.results a').first().click()
    expect(page.url()).toContain(`${baseUrl}/docs/zh-Hans/signing`)
    // What is chosen holds for the next first page, whatever the browser prefers.
    await page.getByRole('link', { name: 'English' }).click()
    expect(page.url()).toBe(`${baseUrl}/docs/signing`)
    await page.goto(`${baseUrl}/docs/`)
    expect(page.url()).toBe(`${baseUrl}/docs/`)
    await context.close()
  })

  test('a code block is copied with one press, and samples in several languages are tabs with a remembered choice', async () => {
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    const page = await context.newPage()
    await page.goto(`${baseUrl}/docs/webhooks#verify-it`)
    const tabs = page.getByRole('tab')
    expect(await tabs.allTextContents()).toEqual(['TypeScript', 'Python', 'PHP'])
    expect(await page.locator('figure:visible').count()).toBe(1)
    await page.getByRole('tab', { name: 'Python' }).click()
    await page.reload()
    const shown = page.locator('figure:visible')
    expect(await shown.getAttribute('data-language')).toBe('Python')
    await shown.hover()
    await shown.getByRole('button').click()
    await shown.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await shown.locator('code').textContent())
    await context.close()
    const plain = await browser.newContext({ javaScriptEnabled: false })
    const without = await plain.newPage()
    await without.goto(`${baseUrl}/docs/webhooks`)
    expect(await without.locator('figure:visible').count()).toBe(3)
    await plain.close()
  })

  test('the API reference shows every operation, without loading anything from other origins', async () => {
    const { page, requests, browserErrors } = await open('/docs/reference')
    // On a busy machine this has taken over 30 s.
    const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as { paths: object }
    for (const path of Object.keys(paths)) {
      await page.getByText(path).first().waitFor({ state: 'attached', timeout: 180_000 })
    }
    await page.waitForLoadState('networkidle')
    // Shows an example request, and no field for a secret.
    await page
      .getByText(Object.keys(paths).find((path) => path.endsWith('esim/order'))!)
      .first()
      .click()
    await page.getByText('"packageCode": "JP_1_7",').first().waitFor({ state: 'attached' })
    expect(await page.locator('.scalar-reference-intro-auth').isVisible()).toBe(false)
    expect(foreign(requests)).toEqual([])
    expect(browserErrors).toEqual([])
    await page.close()
  }, 240_000)

  test('a first visit of the API reference loads two scripts until its first control answers, a second none', async () => {
    const answeredMs: number[] = []
    for (let reader = 0; reader < READERS; reader++) {
      const context = await browser.newContext()
      const first = await visitReference(context)
      expect(first.scripts).toEqual([
        expect.stringContaining('reference-bundle.js'),
        expect.stringContaining('reference-start.js'),
      ])
      expect(first.scriptBytes).toBeGreaterThan(REFERENCE_SCRIPTS_BYTES.min)
      expect(first.scriptBytes).toBeLessThan(REFERENCE_SCRIPTS_BYTES.max)
      if (reader === 0) expect((await visitReference(context)).scripts).toEqual([])
      answeredMs.push(Math.round(first.answeredMs))
      await context.close()
    }
    const median = answeredMs.toSorted((left, right) => left - right)[Math.floor(READERS / 2)]
    console.log(`API reference: its first control answers after ${answeredMs.join(', ')} ms, median ${median} ms`)
  }, 240_000)

  /** Opens the API reference in a new tab, until its first control answers. */
  async function visitReference(context: BrowserContext) {
    const page = await context.newPage()
    const network = await context.newCDPSession(page)
    const ofScripts = new Set<string>()
    let scriptBytes = 0
    network.on('Network.requestWillBeSent', ({ requestId, type }) => type === 'Script' && ofScripts.add(requestId))
    network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (ofScripts.has(requestId)) scriptBytes += encodedDataLength
    })
    await network.send('Network.enable')
    const before = scripts.length
    await page.goto(`${baseUrl}/docs/reference`, { waitUntil: 'commit' })
    const answeredMs = (await page.evaluate(FIRST_CONTROL_ANSWERS)) as number
    await page.close()
    return { scripts: scripts.slice(before), scriptBytes, answeredMs }
  }
})

function background(page: Page): Promise<string> {
  return page.evaluate(() => getComputedStyle(document.body).backgroundColor)
}
