import { accessSync, constants, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** The installed Chromium: CHROMIUM_PATH, or one on PATH. The tests cannot download browsers. */
export function chromiumPath(): string | undefined {
  if (process.env.CHROMIUM_PATH) return process.env.CHROMIUM_PATH
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isExecutable)
}

/**
 * True if browser tests can run. Without a browser they are skipped with a warning, or fail with REQUIRE_BROWSER=1.
 */
export function isBrowserAvailable(): boolean {
  if (chromiumPath()) return true
  const advice = 'No Chromium was found: install one (apt-get install chromium) or set CHROMIUM_PATH.'
  if (process.env.REQUIRE_BROWSER === '1') throw new Error(advice)
  console.warn(`\n${'!'.repeat(100)}\nTHE BROWSER TESTS ARE SKIPPED. ${advice}\n${'!'.repeat(100)}\n`)
  return false
}

/** True if the letters of all our languages can be drawn, which must be so where a browser must be. */
export function hasFonts(): boolean {
  return process.env.REQUIRE_BROWSER === '1' || isReadable('/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc')
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath()!,
    ...(process.env.HEADED === '1' && { headless: false, slowMo: 300 }),
    args: [
      // HEADED=1: see what a flow does (contributing/debugging.md).
      ...(process.env.HEADED === '1' ? [] : ['--headless']),
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** The elements that are wider than the screen; none if nothing can be scrolled to the side. */
export function overflowOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    const isWide = (element: Element) => {
      const { left, right } = element.getBoundingClientRect()
      return left < -0.5 || right > clientWidth + 0.5
    }
    const wide = [...document.querySelectorAll('body *')].filter(isWide)
    return [`${scrollWidth} > ${clientWidth}`, ...wide.map((element) => element.outerHTML.slice(0, 100))]
  })
}

/** Reads a QR code as it is drawn. The picture is decoded in a page without a policy. */
export async function decodeQr(locator: Locator): Promise<string | undefined> {
  const png = (await locator.screenshot()).toString('base64')
  const blank = await locator.page().context().browser()!.newPage()
  await blank.evaluate(readFileSync(createRequire(import.meta.url).resolve('jsqr'), 'utf8'))
  const text = await blank.evaluate(async (data) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob())
    const context = new OffscreenCanvas(picture.width, picture.height).getContext('2d')!
    context.drawImage(picture, 0, 0)
    const pixels = context.getImageData(0, 0, picture.width, picture.height)
    const { jsQR } = globalThis as unknown as { jsQR: typeof import('jsqr')['default'] }
    return jsQR(pixels.data, picture.width, picture.height)?.data
  }, png)
  await blank.close()
  return text
}

const isExecutable = (path: string) => isAccessible(path, constants.X_OK)
const isReadable = (path: string) => isAccessible(path, constants.R_OK)

function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
