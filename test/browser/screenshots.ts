import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromiumPath } from './chromium.ts'
import { prepareTour, visit } from './console-tour.ts'
import { openWorld } from './console-world.ts'

/*
 * npm run screenshots: every page of the console, light and dark, at desktop and phone width, into .screenshots/.
 * With --docs also those that the documentation shows, into docs/images/.
 */

const WIDTHS = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } } as const
const IN_DOCS = ['dashboard-light-desktop', 'order-light-desktop', 'explorer-dark-desktop', 'wallet-light-phone']

const root = new URL('../..', import.meta.url).pathname
const folder = join(root, '.screenshots')
const docs = process.argv.includes('--docs') ? join(root, 'docs/images') : undefined

if (!chromiumPath())
  throw new Error('No Chromium was found: install one (apt-get install chromium) or set CHROMIUM_PATH.')
mkdirSync(folder, { recursive: true })
if (docs) mkdirSync(docs, { recursive: true })

const world = await openWorld()
const { page, stops, close } = await prepareTour(world)
for (const [device, size] of Object.entries(WIDTHS)) {
  await page.setViewportSize(size)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const stop of stops) {
      await visit(world, page, stop)
      const name = `${stop.name}-${colorScheme}-${device}`
      await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
      if (docs && IN_DOCS.includes(name)) await page.screenshot({ path: join(docs, `${name}.png`) })
    }
  }
}
close()
await world.stop()
console.log(`${stops.length * 4} pictures in ${folder}`)
