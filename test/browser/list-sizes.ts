import type { Page } from 'playwright-core'
import { DESKTOP, PHONE, transitionsEnd } from './console-tour.ts'

const LIST_SIZES = [
  { width: 1280, height: 720, rows: 10 },
  { width: 1440, height: 900, rows: 10 },
  { ...PHONE, rows: 6 },
]

/**
 * What is wrong with the list of a page: too little room for rows before anybody scrolls, or something that is cut. Leaves the page on a
 * desktop.
 */
export async function listFaults(page: Page): Promise<string[]> {
  const faults: string[] = []
  for (const { rows, ...size } of LIST_SIZES) {
    await page.setViewportSize(size)
    await transitionsEnd(page)
    const list = await page.locator('main .list').first().evaluate(measureList)
    if (list.rows < rows) faults.push(`at ${size.width}: ${list.rows} rows`)
    faults.push(...list.cut.map((column) => `at ${size.width}: ${column} is cut`))
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
