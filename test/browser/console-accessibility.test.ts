import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../packages/gateway/test/harness/database.ts'
import { browserIsThere } from './chromium.ts'
import { prepareTour, type Stop, visit } from './console-tour.ts'
import { type ConsoleWorld, openWorld } from './console-world.ts'

/** To be mended: the explorer's button before the secret is unlocked. */
const KNOWN = ['explorer: color-contrast: <span class="m_811560b9 mantine-Button-label">Sign and send']

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Fault {
  id: string
  impact: string
  nodes: { html: string; failureSummary: string }[]
}

describe.skipIf(!browserIsThere())('every page of the console', () => {
  let world: ConsoleWorld
  let database: TestDatabase
  let tour: { page: Page; stops: Stop[]; close(): void }

  beforeAll(async () => {
    database = await createTestDatabase()
    world = await openWorld(database.url)
    tour = await prepareTour(world)
  })
  afterAll(async () => {
    tour?.close()
    await world?.stop()
    await database?.drop()
  })

  it.each(['light', 'dark'] as const)('has no serious accessibility fault in %s', async (colorScheme) => {
    const faults: string[] = []
    await tour.page.emulateMedia({ colorScheme })
    for (const stop of tour.stops) {
      await visit(world, tour.page, stop)
      faults.push(...(await serious(tour.page)).map((fault) => `${stop.name}: ${fault}`))
    }
    expect(faults.filter((fault) => !KNOWN.some((known) => fault.startsWith(known)))).toEqual([])
  })

  it('has none at the door either', async () => {
    const door = await world.open()
    await door.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await serious(door)).toEqual([])
    await door.context().close()
  })

  it('is no wider than a phone', async () => {
    await tour.page.setViewportSize({ width: 390, height: 844 })
    const wide: string[] = []
    for (const stop of tour.stops) {
      await visit(world, tour.page, stop)
      const width = (await tour.page.evaluate('document.documentElement.scrollWidth')) as number
      if (width > 390) wide.push(`${stop.name}: ${width}`)
    }
    expect(wide).toEqual([])
  })

  it('loads at most 250 kB of compressed script before the first page', async () => {
    const page = await world.open()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const { gzipSync } = await import('node:zlib')
    const urls = (await page.evaluate(
      `performance.getEntriesByType('resource').map((one) => one.name).filter((name) => name.endsWith('.js'))`,
    )) as string[]
    let bytes = 0
    for (const url of new Set(urls)) bytes += gzipSync(await (await page.request.get(url)).body()).length
    console.log(`first load: ${urls.length} scripts, ${(bytes / 1000).toFixed(1)} kB compressed`)
    expect(bytes).toBeLessThan(250_000)
    expect(world.complaints).toEqual([])
    await page.context().close()
  })
})

async function serious(page: Page): Promise<string[]> {
  // Through the debugger's door: the page's own policy lets no script in.
  const session = await page.context().newCDPSession(page)
  await session.send('Runtime.evaluate', { expression: axe })
  const { result } = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, { resultTypes: ['violations'] }).then((all) => JSON.stringify(all.violations))`,
    awaitPromise: true,
    returnByValue: true,
  })
  await session.detach()
  const faults = JSON.parse(String(result.value)) as Fault[]
  return faults
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.slice(0, 3).map((node) => `${id}: ${node.html.slice(0, 160)}`))
}
