import type { Page } from 'playwright-core'
import { DESKTOP, PHONE, transitionsEnd } from './console-tour.ts'

const SIZES = [
  { width: 1280, height: 720, rows: 10 },
  { width: 1440, height: 900, rows: 10 },
  { ...PHONE, rows: 6 },
]

/**
 * What is wrong with the list of a page: too little room for rows before anybody scrolls, or something that is cut. Leaves the page on a
 * desktop.
 */
export function listFaults(page: Page): Promise<string[]> {
  return faultsAtEachSize(page, async ({ rows }) => {
    const list = await page.locator('main .list').first().evaluate(measureList)
    return [...(list.rows < rows ? [`${list.rows} rows`] : []), ...list.cut.map((column) => `${column} is cut`)]
  })
}

/** The headers of a page's lists that are cut. On a phone lists have none. */
export function cutHeaders(page: Page): Promise<string[]> {
  return page
    .locator('main .list th')
    .evaluateAll((headers) =>
      headers.filter((one) => one.scrollWidth > one.clientWidth).map((one) => `${one.textContent} is cut`),
    )
}

/** What is wrong with the page of a record: its state or its main action is not in view before anybody scrolls, or it has no rail. */
export function recordFaults(page: Page): Promise<string[]> {
  return faultsAtEachSize(page, () => page.evaluate(measureRecord))
}

async function faultsAtEachSize(
  page: Page,
  faultsAt: (size: (typeof SIZES)[number]) => Promise<string[]>,
): Promise<string[]> {
  const faults: string[] = []
  for (const size of SIZES) {
    await page.setViewportSize(size)
    await transitionsEnd(page)
    faults.push(...(await faultsAt(size)).map((fault) => `at ${size.width}: ${fault}`))
  }
  await page.setViewportSize(DESKTOP)
  return faults
}

/**
 * How many rows fit below the top of the list, and what is cut: headers, times, figures, or the list as a whole. Names may be, with an
 * ellipsis.
 */
function measureList(list: Element): { rows: number; cut: string[] } {
  const isCut = (part: Element) => part.scrollWidth > part.clientWidth
  const rows = [...list.querySelectorAll('[data-row]')].map((row) => row.getBoundingClientRect())
  const foot = document.querySelector('.mantine-AppShell-footer')?.getBoundingClientRect().height ?? 0
  const room = innerHeight - foot - (rows[0]?.top ?? innerHeight) - scrollY
  const cells = list.querySelectorAll('th, td:has(time), td[style*="text-align: right"]')
  const cut = [list, ...list.querySelectorAll('table')].some(isCut) ? ['the list'] : []
  for (const cell of cells) if (isCut(cell)) cut.push(cell.getAttribute('data-label') ?? cell.textContent ?? '')
  for (const name of list.querySelectorAll('td:not([data-wraps]) :is(.package-name, .dealer-name)')) {
    const cell = name.closest('td')
    if (cell && name.getBoundingClientRect().right > cell.getBoundingClientRect().right)
      cut.push('a name without an ellipsis')
  }
  return { rows: Math.floor(room / Math.max(...rows.map(({ height }) => height))), cut: [...new Set(cut)] }
}

function measureRecord(): string[] {
  scrollTo(0, 0)
  const foot = document.querySelector('.mantine-AppShell-footer')?.getBoundingClientRect().height ?? 0
  const isInView = (part: Element) => {
    const { bottom, height } = part.getBoundingClientRect()
    return height > 0 && bottom <= innerHeight - foot
  }
  const shown = (selector: string) => [...document.querySelectorAll(`main ${selector}`)].filter(isInView)
  return [
    ...(shown('.state-text > p').some(({ textContent }) => textContent) ? [] : ['no state']),
    ...(shown(':is(.state-actions, .save-bar, .ticket) :is(a, button)').length > 0 ? [] : ['no action']),
    ...(document.querySelector('main .record > .record-rail') ? [] : ['no rail']),
  ]
}
