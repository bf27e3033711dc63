import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from '../chromium.ts'
import { type ConsoleTestbed, heading, loadPage, OPERATOR, PASSWORD, startTestbed } from '../console-testbed.ts'
import { prepareTour, type Stop, TOUR_VARIABLES, type Tour, transitionsEnd, visit } from '../console-tour.ts'

/** Two minutes on two idle cores. */
const TOUR_MS = 600_000
const SIZES = [
  { width: 1280, height: 720 },
  { width: 390, height: 844 },
]

/** The actions of its rows are cut in English, too. */
const LEFT_OUT = new Set(['stock-batches'])

describe.skipIf(!isBrowserAvailable())('the console in Chinese', () => {
  let testbed: ConsoleTestbed
  let tour: Tour

  beforeAll(async () => {
    testbed = await startTestbed({ env: TOUR_VARIABLES })
    tour = await prepareTour(testbed)
  }, TOUR_MS)
  afterAll(async () => {
    tour?.close()
    await testbed?.stop()
  })

  it(
    'fits every page on a desk and on a phone',
    async () => {
      const faults: string[] = []
      for (const [page, stops] of pathsByPage(tour.stops)) {
        const chinese = await openInChinese(page)
        await loadPage(testbed, chinese, '/')
        await chinese.locator('h1').first().waitFor()
        for (const stop of stops.filter(({ name }) => !LEFT_OUT.has(name))) {
          await visit(testbed, { ...stop, page: chinese })
          for (const size of SIZES) {
            await chinese.setViewportSize(size)
            await transitionsEnd(chinese)
            const parts = (await chinese.evaluate(TOO_WIDE)) as string[]
            faults.push(...parts.map((part) => `${stop.name} at ${size.width}: ${part}`))
          }
        }
        await chinese.close()
      }
      expect(faults).toEqual([])
      expect(testbed.browserErrors).toEqual([])
    },
    TOUR_MS,
  )

  it('is chosen on the sign-in page, becomes the person’s, and is theirs in another browser', async () => {
    const page = await testbed.open()
    await page.getByRole('button', { name: '简体中文' }).click()
    await heading(page, '登录').waitFor()
    expect(await page.evaluate('document.documentElement.lang')).toBe('zh-Hans')
    await signIn(page)
    await heading(page, '首页').waitFor()
    await expect.poll(() => languageOf(testbed, page)).toBe('zh-Hans')

    const elsewhere = await testbed.open()
    await signIn(elsewhere)
    await heading(elsewhere, '首页').waitFor()
    // Longer than the menu is open.
    await elsewhere.route('**/account/locale', async (route) => {
      await delay(1_000)
      await route.continue()
    })
    await elsewhere.getByRole('button', { name: '账号' }).click()
    await elsewhere.getByRole('menuitem', { name: 'English' }).click()
    await heading(elsewhere, 'Home').waitFor()
    await expect.poll(() => languageOf(testbed, elsewhere)).toBe('en')
  })

  it('loads the second language only where it is chosen', async () => {
    const loaded = async (language: string) => {
      const page = await testbed.browser.newPage({ locale: language })
      const files: string[] = []
      page.on('request', (request) => files.push(new URL(request.url()).pathname))
      await page.goto(testbed.access.consoleUrl)
      await page.locator('input[name=email]').waitFor()
      await page.close()
      return files.filter((file) => /\/zh-Hans-/.test(file)).length
    }
    expect([await loaded('en-US'), await loaded('zh-TW'), await loaded('zh-CN')]).toEqual([0, 0, 1])
  })
})

/** What is wider than its frame: the page, a button, a column's header, a badge, an entry of the navigation. */
const TOO_WIDE = `(() => {
  // Actions of a row are a pixel wide until the pointer or the focus is on it.
  const isCut = (part) => part.clientWidth > 8 && part.scrollWidth > part.clientWidth + 1
  const parts = [...document.querySelectorAll('main button, main .mantine-Button-label, th, .mantine-Badge-label, nav a')].filter(isCut)
  const page = isCut(document.documentElement) ? ['the page'] : []
  return [...page, ...parts.map((part) => part.textContent || part.getAttribute('aria-label'))]
})()`

/** Each address of a person once, without what is opened there: buttons are found by their English names. */
function pathsByPage(stops: Stop[]): Map<Page, Stop[]> {
  const found = new Map<Page, Stop[]>()
  for (const { name, path, page } of stops) {
    const known = found.get(page) ?? []
    if (!known.some((stop) => stop.path === path)) found.set(page, [...known, { name, path, page }])
  }
  return found
}

/** Another window of the same person, who has chosen nothing. */
async function openInChinese(page: Page): Promise<Page> {
  const context = page.context()
  await context.addInitScript(`localStorage.setItem('language', 'zh-Hans')`)
  return context.newPage()
}

/** In whatever language the page is. */
async function signIn(page: Page): Promise<void> {
  await page.locator('input[name=email]').fill(OPERATOR)
  await page.locator('input[name=password]').fill(PASSWORD)
  await page.locator('button[type=submit]').click()
}

async function languageOf({ access }: ConsoleTestbed, page: Page): Promise<unknown> {
  const answer = await page.request.get(`${access.consoleUrl}/api/session`)
  return ((await answer.json()) as { language: string | null }).language
}
