import en from '@dealer-esim/console/strings/en.json'
import type { Page } from 'playwright-core'
import type { Layer, WithButtons } from './page-buttons.ts'
import type { PseudoLanguage } from './pseudo-language.ts'

/** A menu, its dialog, and what that dialog opens when it is done. */
const DEPTH_MAX = 4

/** Between the texts of a name: `Copy | AppKey`. */
const SEPARATOR = ' | '
/** Before the names of buttons in the header and the navigation, which are the same on all pages of a person. */
const FRAME = 'frame '

/** These close what is open, or lead to what other stops of the tour show. */
const SKIPPED = new Set([
  ...[en.common.close, en.common.cancel, en.lists.bulk.done, en.lists.usualColumns],
  ...[en.dealers.viewAs, en.testMode.end, en.account.signOut, FRAME + en.finder.label],
])

/** These do the same wherever they are, so they are pressed once. */
const SHARED = new Set([
  ...[en.common.copy, en.common.downloadText, en.common.clear, en.common.nextPage, en.common.dealer],
  ...[en.lists.options, en.lists.removeFilter.replace('{filter}', '').trim()],
])

interface Pressing {
  person: string
  place: string
  /** Shows the page as it was before. */
  restore(): Promise<void>
  /** What was pressed before, on this page or another: a dialog is examined only for the first page that opens it. */
  pressed: Set<string>
}

/** Presses every button of a page, and of the menus and dialogs that these open, each on the page as it was before. */
export async function pressButtons(
  pseudo: PseudoLanguage,
  { person, place, restore, pressed }: Pressing,
): Promise<void> {
  const { page } = pseudo
  const address = page.url()
  const first = await layerOf(pseudo)
  let shown = first
  const isAt = (title: string) => page.url() === address && shown.title === title
  async function reopen(path: string[]): Promise<void> {
    if (shown !== ANOTHER_PAGE) shown = await closeLayers(pseudo, first.title)
    if (!isAt(first.title)) {
      await restore()
      shown = await layerOf(pseudo)
    }
    for (const name of path) shown = await press(pseudo, name)
  }
  /** True for the first call with a button. */
  function isNew(title: string, name: string): boolean {
    const [kind = ''] = name.split(SEPARATOR)
    const where = name.startsWith(FRAME) ? person : title || place
    const key = SHARED.has(kind) ? kind : `${where}: ${name}`
    if (SKIPPED.has(kind) || pressed.has(key)) return false
    pressed.add(key)
    return true
  }
  async function pressIn(path: string[]): Promise<void> {
    const { title, buttons } = shown
    // Its entries lead to pages of the tour.
    if (title === `dialog ${en.finder.label}`) return
    for (const name of buttons.filter((name) => isNew(title, name))) {
      if (!isAt(title)) await reopen(path)
      shown = await press(pseudo, name)
      const isOpened = !['', title, first.title].includes(shown.title)
      if (isOpened && path.length + 1 < DEPTH_MAX) await pressIn([...path, name])
    }
  }
  await pressIn([])
  await closeLayers(pseudo, '')
}

async function closeLayers(pseudo: PseudoLanguage, title: string): Promise<Layer> {
  let shown = await layerOf(pseudo)
  for (let count = 0; count < DEPTH_MAX && shown.title !== title; count++) {
    await pseudo.page.keyboard.press('Escape')
    shown = await layerOf(pseudo)
  }
  return shown
}

/** Leaves what was typed on a page. */
export async function discard(pseudo: PseudoLanguage): Promise<void> {
  if ((await layerOf(pseudo)).title !== '') await press(pseudo, en.common.leave)
}

/** What is shown once nothing changes any more. */
export function layerOf(pseudo: PseudoLanguage): Promise<Layer> {
  return inPage(pseudo, (page) => page.evaluate(() => (globalThis as unknown as WithButtons).layer()))
}

/** Returns what is shown afterwards. */
function press(pseudo: PseudoLanguage, name: string): Promise<Layer> {
  return inPage(pseudo, (page) => page.evaluate((name) => (globalThis as unknown as WithButtons).press(name), name))
}

const ANOTHER_PAGE: Layer = { title: 'another page', buttons: [] }

/** A button may load another page, where what runs in this one ends. */
async function inPage({ page, collect }: PseudoLanguage, run: (page: Page) => Promise<Layer>): Promise<Layer> {
  try {
    const layer = await run(page)
    await collect()
    return layer
  } catch (error) {
    if (!/context was destroyed|navigation/i.test(String(error))) throw error
    await page.waitForLoadState()
    await page.locator('main, form').first().waitFor()
    return ANOTHER_PAGE
  }
}
