import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { freePort } from '@dealer-esim/gateway/test/harness/processes/free-port.ts'
import { removeFolder } from '@dealer-esim/gateway/test/harness/temporary-folders.ts'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable, launchChromium } from './browser/chromium.ts'

const root = new URL('..', import.meta.url).pathname

/** `npm run dev` on a copy of the sources, which this test changes as a contributor does. */
describe.skipIf(!isBrowserAvailable())('npm run dev', () => {
  let copy: string
  let dev: ChildProcess
  let browser: Browser
  let output = ''

  beforeAll(async () => {
    // Within the checkout, so that third-party packages are found in its node_modules.
    copy = mkdtempSync(join(root, '.data-dev-'))
    const leftOut = new Set(['node_modules', 'dist', 'test'])
    cpSync(join(root, 'packages'), join(copy, 'packages'), {
      recursive: true,
      filter: (path) => !leftOut.has(basename(path)),
    })
    for (const file of ['scripts', 'tsconfig.json']) cpSync(join(root, file), join(copy, file), { recursive: true })
    mkdirSync(join(copy, 'node_modules/@dealer-esim'), { recursive: true })
    for (const name of readdirSync(join(root, 'packages'))) {
      symlinkSync(join('../../packages', name), join(copy, 'node_modules/@dealer-esim', name))
    }
    symlinkSync(join(root, 'node_modules/tsx'), join(copy, 'node_modules/tsx'))
    const [port, metricsPort, consolePort] = await Promise.all([freePort(), freePort(), freePort()])
    dev = spawn(process.execPath, ['scripts/dev.mjs'], {
      cwd: copy,
      env: {
        ...process.env,
        ...{ DATA_DIR: join(copy, '.data'), PORT: String(port), METRICS_PORT: String(metricsPort) },
        CONSOLE_DEV_PORT: String(consolePort),
      },
    })
    for (const stream of [dev.stdout!, dev.stderr!]) stream.on('data', (chunk) => (output += chunk))
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    if (dev?.exitCode === null && dev.kill('SIGINT')) await once(dev, 'exit')
    removeFolder(copy)
  })

  it('opens the console signed in, and shows changed code without a reload or a gateway restart', async () => {
    const link = () => /Develop at +(\S+)/.exec(output)?.[1]
    await expect.poll(link, { timeout: 100_000 }).toBeDefined()
    const page = await (await browser.newContext()).newPage()
    await page.goto(link()!)
    const heading = page.getByRole('heading', { level: 1 })
    await heading.waitFor({ timeout: 100_000 })

    await page.evaluate(() => Object.assign(window, { isSamePage: true }))
    edit('packages/console/src/parts/page.tsx', (code) => code.replace('order={1}', 'order={1} data-changed="yes"'))
    await page.locator('h1[data-changed=yes]').waitFor({ timeout: 100_000 })
    expect(await page.evaluate(() => 'isSamePage' in window)).toBe(true)

    const starts = () => output.split('"msg":"ready"').length - 1
    const before = starts()
    edit('packages/gateway/src/http/console/people/me.ts', (code) => `${code}\n// changed\n`)
    await expect.poll(starts).toBeGreaterThan(before)
    await page.reload()
    await heading.waitFor()
  }, 400_000)

  it('stops its gateway and its database on Ctrl-C', async () => {
    const exited = new Promise((resolve) => dev.once('exit', resolve))
    dev.kill('SIGINT')
    expect(await exited).toBe(0)
  })

  function edit(file: string, change: (code: string) => string): void {
    const path = join(copy, file)
    const code = readFileSync(path, 'utf8')
    const changed = change(code)
    if (changed === code) throw new Error(`${file} has no place to change`)
    writeFileSync(path, changed)
  }
})
