import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminJson } from '@dealer-esim/gateway/test/harness/processes/admin-process.ts'
import {
  SHARED_MASTER_KEY,
  startGateway,
  stopGateways,
} from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { launchChromium } from './chromium.ts'

export const PASSWORD = 'correct horse battery staple'
export const OPERATOR = 'admin@localhost'
/** A busy machine takes long to draw a page. A failing test waits no longer than this. */
const WAIT_MAX_MS = 60_000

interface LocalAccess {
  baseUrl: string
  appKey: string
  appSecret: string
  consoleUrl: string
  consoleUser: string
  consolePassword: string
}

/** A local gateway in its own process, and a browser for its console. */
export interface ConsoleTestbed {
  access: LocalAccess
  browser: Browser
  /** The gateway's log so far, as text, without the output for the person who starts it. */
  logText(): string
  /** Script errors and policy violations in the browser. */
  browserErrors: string[]
  /** Opens a page in a new browser context, without cookies. */
  open(path?: string, options?: BrowserContextOptions): Promise<Page>
  client(credentials: { appKey: string; appSecret: string }): DealerEsim
  /** Runs an admin command. */
  admin(...args: string[]): Promise<unknown>
  stop(): Promise<void>
}

/**
 * Pages reload what changes elsewhere, up to once a minute; in tests ten times as often, because tests wait for it. This
 * does not apply to the session, which is queried every five minutes.
 */
const REFRESH_SOON = `(() => {
  const start = window.setInterval
  window.setInterval = (run, ms, ...rest) => start(run, ms >= 10_000 && ms <= 60_000 ? ms / 10 : ms, ...rest)
})()`

export async function startTestbed(
  options: { databaseUrl?: string; env?: Record<string, string>; isTrial?: boolean } = {},
) {
  const root = new URL('../..', import.meta.url).pathname
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), 'console'], { stdio: 'pipe' })
  const gateway = await startGateway(options)
  const access = JSON.parse(readFileSync(join(gateway.dataDir, 'local.json'), 'utf8')) as LocalAccess
  const browser = await launchChromium()
  const browserErrors: string[] = []
  const testbed: ConsoleTestbed = {
    access,
    browser,
    browserErrors,
    logText: () =>
      gateway.stderr +
      gateway.logs
        .filter(({ msg }) => msg)
        .map((line) => JSON.stringify(line))
        .join('\n'),
    async open(path = '/', options = {}) {
      const context = await browser.newContext({ locale: 'en-US', ...options })
      context.setDefaultTimeout(WAIT_MAX_MS)
      await context.addInitScript(REFRESH_SOON)
      const page = await context.newPage()
      page.on('pageerror', (error) => browserErrors.push(String(error)))
      page.on('console', (message) => {
        if (/Content Security Policy|violates/i.test(message.text())) browserErrors.push(message.text())
      })
      await page.goto(access.consoleUrl + path)
      return page
    },
    client: (credentials) => new DealerEsim({ baseUrl: access.baseUrl, retries: 0, ...credentials }),
    admin: (...args) =>
      adminJson(args, {
        DATA_DIR: gateway.dataDir,
        ...(options.databaseUrl && { DATABASE_URL: options.databaseUrl, MASTER_KEY: SHARED_MASTER_KEY }),
      }),
    async stop() {
      await browser.close()
      await stopGateways()
    },
  }
  return testbed
}

/** State that the flows of one test file share. They run in order. */
export interface SharedState {
  testbed: ConsoleTestbed
  /** A page signed in as the first operator. */
  page: Page
  /** Created by the credential flows, used by later flows. */
  dealer: { tenantId: string; appKey: string; appSecret: string }
  /** Texts that must not be in the log at the end. */
  secrets: string[]
}

export const field = (page: Page, name: string) => page.getByRole('textbox', { name })
export const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
/** Chooses an entry of the menu *More* of a record. */
export async function chooseMore(page: Page, name: string): Promise<void> {
  await button(page, 'More').click()
  await page.getByRole('menuitem', { name, exact: true }).click()
}

export const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 })

export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await field(page, 'E-mail address').fill(email)
  await field(page, 'Password').fill(password)
  await button(page, 'Sign in').click()
}

/** Signs in the first operator. The first time, this includes choosing a password. */
export async function signInAsOperator(testbed: ConsoleTestbed, page: Page): Promise<void> {
  if (!hasChosenPassword.has(testbed)) {
    hasChosenPassword.add(testbed)
    await signIn(page, OPERATOR, testbed.access.consolePassword)
    await field(page, 'Current password').fill(testbed.access.consolePassword)
    await field(page, 'New password').fill(PASSWORD)
    await button(page, 'Set password').click()
  } else await signIn(page, OPERATOR, PASSWORD)
  await page.getByRole('navigation', { name: 'Main navigation' }).waitFor({ state: 'attached' })
}

const hasChosenPassword = new WeakSet<ConsoleTestbed>()

/** Confirms who the person is, in a form that asks for it. It asks only once in five minutes. */
export async function enterPassword(form: Page | Locator): Promise<void> {
  const password = form.getByRole('textbox', { name: 'Your password' })
  await password.or(form.getByText('Your identity is confirmed')).waitFor()
  if (await password.isVisible()) await password.fill(PASSWORD)
}

/** Opens the field of a list's filter: from its chip if it is set, otherwise from the menu of filters. */
async function openFilter(page: Page, name: string): Promise<void> {
  const chip = page.locator('.chip[data-filter]').getByRole('button', { name: new RegExp(`^${name}(:|$)`) })
  await chip.or(button(page, 'Add filter')).first().waitFor()
  if ((await chip.count()) > 0) return chip.click()
  await button(page, 'Add filter').click()
  await page.getByRole('menuitem', { name, exact: true }).click()
}

/** Sets a list filter that has several possible values. */
export async function chooseFilter(page: Page, name: string, value: string | { label: string }): Promise<void> {
  await openFilter(page, name)
  await page.getByRole('combobox', { name, exact: true }).selectOption(value)
  await page.getByRole('combobox', { name, exact: true }).waitFor({ state: 'detached' })
}

/** The value of a Copyable, by its label. */
export const copyable = (page: Page, name: string) => page.locator(`[data-value="${name}"]`)

/** Loads a page of the console completely, as a link from elsewhere does. */
export async function loadPage(testbed: ConsoleTestbed, page: Page, path: string): Promise<void> {
  await page.goto(testbed.access.consoleUrl + path)
}

/** Navigates within the console, as its own links do. */
export async function navigate(testbed: ConsoleTestbed, page: Page, path: string): Promise<void> {
  const address = new URL(testbed.access.consoleUrl + path)
  await page.evaluate(`history.pushState({}, '', ${JSON.stringify(address.pathname + address.search)})`)
}

/** Calls the console API with the session of a page. */
export async function api<Answer>(testbed: ConsoleTestbed, page: Page, path: string, body?: object): Promise<Answer> {
  const url = `${testbed.access.consoleUrl}/api${path}`
  const headers = { origin: new URL(url).origin }
  const answer = body ? await page.request.post(url, { headers, data: body }) : await page.request.get(url)
  if (!answer.ok()) throw new Error(`${path} answered ${answer.status()}: ${await answer.text()}`)
  return (await answer.json()) as Answer
}

/**
 * Invites a person, as the person signed in on `by`, and signs them in in a new browser context. A test that is tried again has
 * invited them before.
 */
export async function inviteAndSignIn(
  { testbed, page: by }: Pick<SharedState, 'testbed' | 'page'>,
  person: { email: string; role: string; tenantId?: string },
): Promise<Page> {
  const invitation = { name: 'New Comer', tenantId: null, password: PASSWORD, ...person }
  const page = await testbed.open()
  const { link } = await api<{ link: string }>(testbed, by, '/people', invitation).catch((error: Error) => {
    if (!error.message.includes('EMAIL_TAKEN')) throw error
    return { link: undefined }
  })
  if (link) await api(testbed, page, '/link/password', { token: new URL(link).hash.slice(1), password: PASSWORD })
  await signIn(page, person.email, PASSWORD)
  await heading(page, 'Home').waitFor()
  return page
}
