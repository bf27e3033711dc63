import en from '@dealer-esim/console/strings/en.json'
import type { Page } from 'playwright-core'
import { type ConsoleTestbed, loadPage, navigate } from '../console-testbed.ts'
import { type Stop, type Tour, visit } from '../console-tour.ts'
import { addButtons } from './page-buttons.ts'
import { pretendingToChange } from './plausible-answers.ts'
import { discard, layerOf, pressButtons } from './press-buttons.ts'
import { API, type PseudoLanguage, usePseudoLanguage } from './pseudo-language.ts'

/**
 * Lists the texts without a translation at stops of the tour; with `presses` also in what their buttons open: menus, dialogs, and the
 * messages after a change. Each text is listed once, with the stop that first shows it.
 */
export async function untranslatedTextsOf(
  testbed: ConsoleTestbed,
  { stops, presses }: Pick<Tour, 'stops'> & { presses: boolean },
): Promise<string[]> {
  const pretend = await pretendingToChange(testbed.access.consoleUrl)
  const people = [...new Set(stops.map(({ page }) => page))]
  async function checkStop(pseudo: PseudoLanguage, stop: Stop, pressed: Set<string>): Promise<string[]> {
    const { page } = pseudo
    const restore = async () => {
      await page.unroute(API, pretend)
      await leave(testbed, pseudo, stop.path)
      await visit(testbed, { ...stop, page })
      await page.route(API, pretend)
    }
    await restore()
    const person = String(people.indexOf(stop.page))
    if (presses) await pressButtons(pseudo, { person, place: person + stop.path, restore, pressed })
    else await layerOf(pseudo)
    return pseudo.untranslatedTexts()
  }
  /** What the parts press does not depend on how fast they are, so each presses its own. */
  async function checkStops(part: Stop[]): Promise<[text: string, name: string][]> {
    const opened = new Map<Page, PseudoLanguage>()
    const pressed = new Set<string>()
    const faults: [string, string][] = []
    for (const stop of part) {
      const pseudo = opened.get(stop.page) ?? (await openPage(testbed, stop))
      opened.set(stop.page, pseudo)
      for (const text of await checkStop(pseudo, stop, pressed)) faults.push([text, stop.name])
    }
    for (const { page } of opened.values()) {
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await page.context().close()
    }
    return faults
  }
  // Two halves at the same time, because a page mostly waits.
  const half = Math.ceil(stops.length / 2)
  const faults = await Promise.all([checkStops(stops.slice(0, half)), checkStops(stops.slice(half))])
  return [...new Map(faults.flat().reverse())].reverse().map(([text, name]) => `${name}: ${text}`)
}

/** On the slowest machine. */
const SHOWN_MAX_MS = 120_000

/** Another page of the same person, in a window of its own: the browser slows what is behind another page of a window. */
async function openPage(testbed: ConsoleTestbed, stop: Stop): Promise<PseudoLanguage> {
  const storageState = await stop.page.context().storageState()
  const page = await (await testbed.browser.newContext({ locale: 'en-US', storageState })).newPage()
  page.setDefaultTimeout(SHOWN_MAX_MS)
  // What was typed may be lost.
  page.on('dialog', (dialog) => dialog.accept())
  await addButtons(page)
  const pseudo = await usePseudoLanguage(page)
  await loadPage(testbed, page, stop.path)
  return pseudo
}

/** A page that is left and opened again is as it was at first. The sign-in stays the same at every address, so it is loaded again. */
async function leave(testbed: ConsoleTestbed, pseudo: PseudoLanguage, path: string): Promise<void> {
  const { page } = pseudo
  const isSignedIn = (await page.getByRole('navigation', { name: en.navigation.label }).count()) > 0
  await (isSignedIn ? navigate : loadPage)(testbed, page, path.startsWith('/test/') ? '/test/nowhere' : '/nowhere')
  await discard(pseudo)
}
