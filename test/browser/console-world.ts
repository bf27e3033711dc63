import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DealerEsim } from '@dealer-esim/sdk'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { startGateway, stopGateways } from '../../packages/gateway/test/harness/gateway-process.ts'
import { launchChromium } from './chromium.ts'

export const PASSWORD = 'correct horse battery staple'
export const OPERATOR = 'admin@localhost'

interface LocalAccess {
  baseUrl: string
  appKey: string
  appSecret: string
  consoleUrl: string
  consoleUser: string
  consolePassword: string
}

/** A local gateway in a process of its own, and a browser in front of its console. */
export interface ConsoleWorld {
  access: LocalAccess
  browser: Browser
  /** What browsers complained of: scripts that failed, and whatever the policy forbade. */
  complaints: string[]
  /** A page in a window of its own, with no cookies. */
  open(path?: string, options?: BrowserContextOptions): Promise<Page>
  client(credentials: { appKey: string; appSecret: string }): DealerEsim
  stop(): Promise<void>
}

export async function openWorld(databaseUrl?: string): Promise<ConsoleWorld> {
  const root = new URL('../..', import.meta.url).pathname
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), 'console'], { stdio: 'pipe' })
  const gateway = await startGateway(databaseUrl === undefined ? {} : { databaseUrl })
  const access = JSON.parse(readFileSync(join(gateway.dataDir, 'local.json'), 'utf8')) as LocalAccess
  const browser = await launchChromium()
  const complaints: string[] = []
  return {
    access,
    browser,
    complaints,
    async open(path = '/', options = {}) {
      const context = await browser.newContext({ locale: 'en-US', ...options })
      const page = await context.newPage()
      page.on('pageerror', (error) => complaints.push(String(error)))
      page.on('console', (message) => {
        if (/Content Security Policy|violates/i.test(message.text())) complaints.push(message.text())
      })
      await page.goto(access.consoleUrl + path)
      return page
    },
    client: (credentials) => new DealerEsim({ baseUrl: access.baseUrl, retries: 0, ...credentials }),
    async stop() {
      await browser.close()
      await stopGateways()
    },
  }
}

export const field = (page: Page, name: string) => page.getByRole('textbox', { name })
export const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
export const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 })

export async function enter(page: Page, email: string, password: string): Promise<void> {
  await field(page, 'E-mail address').fill(email)
  await field(page, 'Password').fill(password)
  await button(page, 'Sign in').click()
}

/** Signs the first operator in; at the very first time that takes an own password. */
export async function enterAsOperator(world: ConsoleWorld, page: Page): Promise<void> {
  if (!firstPasswordSpent.has(world)) {
    firstPasswordSpent.add(world)
    await enter(page, OPERATOR, world.access.consolePassword)
    await field(page, 'Present password').fill(world.access.consolePassword)
    await field(page, 'New password').fill(PASSWORD)
    await button(page, 'Set password').click()
  } else await enter(page, OPERATOR, PASSWORD)
  await page.getByRole('navigation', { name: 'Main navigation' }).waitFor({ state: 'attached' })
}

const firstPasswordSpent = new WeakSet<ConsoleWorld>()

/** The value of a Copyable, by its name. */
export const copyable = (page: Page, name: string) => page.locator(`[data-value="${name}"]`)

/** Goes to a page of the console without losing what the tab holds in memory. */
export async function go(world: ConsoleWorld, page: Page, path: string): Promise<void> {
  await page.goto(world.access.consoleUrl + path)
}
