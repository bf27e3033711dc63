import { dealerPage, dealerSections, pages, welcomePage } from '@dealer-esim/console/page-list.ts'
import { createTestDatabase, type TestDatabase } from '@dealer-esim/gateway/test/harness/databases/database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import { type ConsoleTestbed, loadPage, startTestbed } from './console-testbed.ts'
import {
  axeSession,
  DESKTOP,
  PHONE,
  prepareTour,
  seriousViolations,
  TOUR_VARIABLES,
  type Tour,
  transitionsEnd,
  visit,
} from './console-tour.ts'
import { cutHeaders, listFaults, recordFaults } from './first-screen.ts'
import { untranslatedTextsOf } from './languages/pseudo-tour.ts'

/** Half a minute on two idle cores, minutes on a busy machine. */
const TOUR_MS = 600_000

/** Minutes with CONSOLE_PRESSES=1. The limit only ends a run that hangs. */
const PRESSING_MS = 1_200_000

/**
 * Runs with CONSOLE_PORT, so that it also tests the console on a separate port.
 * CONSOLE_PRESSES: 1 presses every button of every page where texts are looked for, by hand only: it takes minutes.
 */
describe.skipIf(!isBrowserAvailable())('every page of the console, on a separate port', () => {
  let testbed: ConsoleTestbed
  let database: TestDatabase
  let tour: Tour

  beforeAll(async () => {
    database = await createTestDatabase()
    testbed = await startTestbed({ databaseUrl: database.url, env: { CONSOLE_PORT: '0', ...TOUR_VARIABLES } })
    tour = await prepareTour(testbed)
  }, TOUR_MS)
  afterAll(async () => {
    tour?.close()
    await testbed?.stop()
    await database?.drop()
  })

  it(
    'has no serious accessibility violation in light or dark, cuts no header of a list, and is no wider than a phone',
    async () => {
      const faults: string[] = []
      for (const stop of tour.stops) {
        const { page, name } = stop
        await page.setViewportSize(DESKTOP)
        await visit(testbed, stop)
        faults.push(...(await cutHeaders(page)).map((fault) => `${name}: ${fault}`))
        const session = await axeSession(page)
        faults.push(...(await seriousViolations(session, 'light')).map((fault) => `${name}: ${fault}`))
        await page.emulateMedia({ colorScheme: 'dark' })
        await transitionsEnd(page)
        faults.push(...(await seriousViolations(session, 'dark')).map((fault) => `${name} in dark: ${fault}`))
        await page.emulateMedia({ colorScheme: 'light' })
        await page.setViewportSize(PHONE)
        await transitionsEnd(page)
        const width = (await page.evaluate('document.documentElement.scrollWidth')) as number
        if (width > PHONE.width) faults.push(`${name}: ${width} wide`)
      }
      expect(faults).toEqual([])
      expect(testbed.browserErrors).toEqual([])
    },
    TOUR_MS,
  )

  it(
    'has room for ten rows on a desk and six on a phone where it is a list, and cuts no column',
    async () => {
      const faults: string[] = []
      for (const stop of tour.stops.filter(({ name }) => LISTS.has(name))) {
        await visit(testbed, stop)
        faults.push(...(await listFaults(stop.page)).map((fault) => `${stop.name} ${fault}`))
      }
      expect(faults).toEqual([])
    },
    TOUR_MS,
  )

  it(
    'shows its state and its main action on the first screen where it is a record, on a desk and on a phone',
    async () => {
      const faults: string[] = []
      for (const stop of tour.stops.filter(({ name }) => RECORDS.has(name))) {
        await visit(testbed, stop)
        faults.push(...(await recordFaults(stop.page)).map((fault) => `${stop.name} ${fault}`))
      }
      expect(faults).toEqual([])
    },
    TOUR_MS,
  )

  it('is among the pages that the tour visits', () => {
    const sections = dealerSections.map(({ path }) => dealerPage.path + path)
    const paths = [...sections, ...[welcomePage, ...pages].map(({ path }) => path)]
    const at = (address: string) => paths.find((path) => patternOf(path).test(address))
    const toured = new Set(tour.stops.map((stop) => at(stop.path.replace(/[?#].*/, '').replace(/^\/test(?=\/)/, ''))))
    expect(paths.filter((path) => !toured.has(path))).toEqual([])
  })

  it(
    'says why its data cannot be read, and offers to try again',
    async () => {
      const silent: string[] = []
      const data = /\/console\/api\/(?!session)/
      const json = { code: 'UNAVAILABLE', message: 'The database cannot be reached.' }
      for (const stop of tour.stops.filter(({ name }) => READING.has(name))) {
        const { page, name, path } = stop
        await page.route(data, (route) => route.fulfill({ status: 503, json }))
        await loadPage(testbed, page, path)
        const shown = page.locator('[data-failure]').first()
        await shown.waitFor({ timeout: SHOWN_MS }).catch(() => silent.push(name))
        await page.unroute(data)
      }
      expect(silent).toEqual([])
    },
    TOUR_MS,
  )

  it(
    'takes every text from the strings file, by hand also in what its buttons open and say',
    async () => {
      const presses = process.env.CONSOLE_PRESSES === '1'
      expect(await untranslatedTextsOf(testbed, { stops: tour.stops, presses })).toEqual([])
    },
    PRESSING_MS,
  )

  it('is served only on the console’s own port', async () => {
    const { baseUrl, consoleUrl } = testbed.access
    expect(new URL(consoleUrl).port).not.toBe(new URL(baseUrl).port)
    for (const path of ['/console/', '/console/api/session', '/console/api/openapi.json'])
      expect([path, (await fetch(baseUrl + path)).status]).toEqual([path, 404])
    expect((await fetch(`${consoleUrl}/`)).status).toBe(200)
    expect((await fetch(`${new URL(consoleUrl).origin}/metrics`)).status).toBe(404)
  })
})

/** Products, which the demo does not have, are measured by wholesale.deployment.test.ts. */
const LISTS = new Set([
  ...['dealers', 'orders', 'esims', 'suppliers', 'audit', 'people', 'own-prices', 'catalogue', 'prices'],
  ...['price-groups', 'stock', 'stock-batches', 'adjustments', 'notices', 'webhooks', 'top-up-requests', 'sale-rules'],
])

const RECORDS = new Set([
  ...['order', 'order-under-review', 'esim', 'supplier', 'dealer', 'package', 'event', 'price-plan'],
])

/** Pages that read their data themselves, and one list, because all lists read it the same way. */
const READING = new Set([
  ...['dashboard', 'own-dashboard', 'dealer', 'orders', 'order', 'event', 'package', 'price-plan', 'price-group'],
  ...['sale-rule', 'supplier', 'sales', 'operator-settings'],
])

/** A failure is shown immediately, even on a busy machine. */
const SHOWN_MS = 60_000

/** A regular expression for a path of the router with its parameters. */
function patternOf(path: string): RegExp {
  return new RegExp(
    `^${path
      .replace(/(.)\/$/, '$1')
      .replace(/\$$/, '.*')
      .replaceAll(/\$\w+/g, '[^/]+')}$`,
  )
}
