import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../packages/gateway/test/harness/database.ts'
import { browserIsThere } from './chromium.ts'
import { prepareTour, type Tour, transitionsEnd, visit } from './console-tour.ts'
import { type ConsoleWorld, openWorld } from './console-world.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const DESKTOP = { width: 1280, height: 860 }
const PHONE = { width: 390, height: 844 }

interface Fault {
  id: string
  impact: string
  nodes: { html: string; any: { message: string }[] }[]
}

/** Also the console on a port of its own: this gateway serves it nowhere else. */
describe.skipIf(!browserIsThere())('every page of the console, on a port of its own', () => {
  let world: ConsoleWorld
  let database: TestDatabase
  let tour: Tour
  let session: CDPSession

  beforeAll(async () => {
    database = await createTestDatabase()
    world = await openWorld({ databaseUrl: database.url, env: { CONSOLE_PORT: '0' } })
    tour = await prepareTour(world)
    // Through the debugger's door: the page's own policy lets no script in.
    session = await tour.page.context().newCDPSession(tour.page)
    await session.send('Runtime.evaluate', { expression: axe })
  })
  afterAll(async () => {
    tour?.close()
    await world?.stop()
    await database?.drop()
  })

  it('has no serious accessibility fault in light or dark, and is no wider than a phone', async () => {
    const faults: string[] = []
    const { page } = tour
    for (const stop of tour.stops) {
      await visit(world, page, stop)
      faults.push(...(await serious(session, 'light')).map((fault) => `${stop.name}: ${fault}`))
      await page.emulateMedia({ colorScheme: 'dark' })
      await transitionsEnd(page)
      faults.push(...(await serious(session, 'dark')).map((fault) => `${stop.name} in dark: ${fault}`))
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize(PHONE)
      await transitionsEnd(page)
      const width = (await page.evaluate('document.documentElement.scrollWidth')) as number
      if (width > PHONE.width) faults.push(`${stop.name}: ${width} wide`)
      await page.setViewportSize(DESKTOP)
    }
    expect(faults).toEqual([])
  })

  it('has none at the door either', async () => {
    const door = await world.open()
    await door.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await faultsAt(door)).toEqual([])
    expect(world.complaints).toEqual([])
    await door.context().close()
  })

  it('stands on that port only', async () => {
    const { baseUrl, consoleUrl } = world.access
    expect(new URL(consoleUrl).port).not.toBe(new URL(baseUrl).port)
    for (const path of ['/console/', '/console/api/session', '/console/api/openapi.json'])
      expect([path, (await fetch(baseUrl + path)).status]).toEqual([path, 404])
    expect((await fetch(`${consoleUrl}/`)).status).toBe(200)
    expect((await fetch(`${new URL(consoleUrl).origin}/metrics`)).status).toBe(404)
  })
})

async function faultsAt(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  await session.send('Runtime.evaluate', { expression: axe })
  return serious(session, 'light')
}

/** Dark changes colours only: there the one rule about them is enough. */
async function serious(session: CDPSession, scheme: 'light' | 'dark'): Promise<string[]> {
  const options = { resultTypes: ['violations'], ...(scheme === 'dark' && { runOnly: ['color-contrast'] }) }
  const { result } = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, ${JSON.stringify(options)}).then((all) => JSON.stringify(all.violations))`,
    awaitPromise: true,
    returnByValue: true,
  })
  return (JSON.parse(String(result.value)) as Fault[])
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map((node) => `${id}: ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`),
    )
}
