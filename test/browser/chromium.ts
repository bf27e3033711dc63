import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

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

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
